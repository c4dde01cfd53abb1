//! The daemon's life: lock, sockets, ready line, the loop, a clean end.
//!
//! Called by the `daemon` command. Of several daemons that start at once one gets the lock, the others leave.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};
use thiserror::Error;
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{LocalSet, spawn_local};

use super::{Daemon, conn, control, second};
use crate::assumed;
use crate::dirs::{Authority, Dirs, DirsError};
use crate::effects::Ledger;
use crate::fault::Fault;
use crate::log::{Level, Log};
use crate::logo;
use crate::mail::Mailroom;
use crate::mcp::schema::{self, Tool};
use crate::namespace::{Book, NamespaceError};
use crate::record::file::Store;
use crate::record::registry::Registry;
use crate::resume::random;
use crate::setting::Setting;
use crate::state_db::StateDb;

/// The longest socket path the system takes (facts, section 1).
const LONGEST_SOCKET_PATH: usize = 103;

/// How often plumb looks for old records and idle connections (facts, section 4).
const REAPING: Duration = Duration::from_mins(5);

/// How long a daemon may take to come up or go down before another one gives up (facts, section 2).
const TAKEOVER_LIMIT: Duration = Duration::from_secs(10);

/// Why the daemon did not come up, or went down.
#[derive(Debug, Error)]
pub(crate) enum DaemonError {
    #[error(transparent)]
    Dirs(#[from] DirsError),
    #[error(
        "no service profile at {path}; run `plumb service install` first, or set PLUMB_ACCOUNT_AUTHORITY=false"
    )]
    NoProfile { path: PathBuf },
    #[error(
        "socket path {path} has {length} bytes, at most {LONGEST_SOCKET_PATH} are possible; shorten XDG_RUNTIME_DIR, XDG_CACHE_HOME or HOME"
    )]
    LongPath { path: PathBuf, length: usize },
    #[error("{what} {path}: {source}")]
    File {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("session_state.db: {0}")]
    StateDb(#[from] rusqlite::Error),
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error("daemon: {0}")]
    Io(#[from] io::Error),
}

/// Refuses what could never come up, before anything is made or spawned.
pub(crate) fn check(dirs: &Dirs) -> Result<(), DaemonError> {
    let profile = dirs.service_profile();
    if dirs.authority == Authority::Account && !profile.exists() {
        return Err(DaemonError::NoProfile { path: profile });
    }
    let path = dirs.control();
    let length = path.as_os_str().len();
    if length > LONGEST_SOCKET_PATH {
        return Err(DaemonError::LongPath {
            path: dirs.socket(),
            length: dirs.socket().as_os_str().len(),
        });
    }
    Ok(())
}

/// Opens a lock file and locks it, or says that another process holds it.
pub(crate) fn lock(path: &Path, how: FlockArg) -> io::Result<Option<Flock<File>>> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    match Flock::lock(file, how) {
        Ok(lock) => Ok(Some(lock)),
        Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, errno)) => Err(errno.into()),
    }
}

/// Runs the daemon until it is told to end.
pub(crate) fn run(setting: Setting) -> Result<(), DaemonError> {
    let dirs = Dirs::resolve(&setting)?;
    if second::is_wanted(&setting) {
        return Ok(second::run(&dirs)?);
    }
    check(&dirs)?;
    let Some(_lock) = become_the_daemon(&dirs)? else {
        logo::notice("INFO daemon: another daemon is running — leaving")?;
        return Ok(());
    };
    // A process-group leader cannot become a session leader; whoever started us as one has done enough.
    nix::unistd::setsid().ok();
    std::env::set_current_dir("/")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, live(setting, &dirs))
}

/// Takes the daemon's lock, or finds that another daemon answers. One that holds the lock and does not answer is
/// on its way up or down; which of the two, its socket or its lock will tell.
fn become_the_daemon(dirs: &Dirs) -> io::Result<Option<Flock<File>>> {
    let deadline = Instant::now() + TAKEOVER_LIMIT;
    loop {
        if let Some(lock) = lock(&dirs.daemon_lock(), FlockArg::LockExclusiveNonblock)? {
            return Ok(Some(lock));
        }
        if UnixStream::connect(dirs.control()).is_ok() || Instant::now() > deadline {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

async fn live(setting: Setting, dirs: &Dirs) -> Result<(), DaemonError> {
    for folder in [&dirs.data, &dirs.state, &dirs.cache] {
        let made = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder);
        made.map_err(|source| DaemonError::File {
            what: "make folder",
            path: folder.clone(),
            source,
        })?;
    }
    let daemon = open(setting, dirs)?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let sessions = bind(&dirs.socket())?;
    let controls = bind(&dirs.control())?;
    write_private(&dirs.version_file(), daemon.generation().version())?;
    write_private(&dirs.pidfile(), &std::process::id().to_string())?;
    let _second = daemon
        .has_fault(Fault::TwoDaemons)
        .then(|| second::spawn(&daemon.setting))
        .transpose()?;
    ready(&daemon, dirs)?;
    let orphan_check = daemon
        .setting
        .clock
        .scaled(assumed::ORPHAN_GRACE / 50)
        .max(Duration::from_millis(10));
    let mut namespaces = tokio::time::interval(orphan_check.min(Duration::from_secs(1)));
    let mut reaping = tokio::time::interval(REAPING);
    loop {
        tokio::select! {
            accepted = sessions.accept() => {
                if let Ok((stream, _)) = accepted {
                    spawn_local(conn::serve(Rc::clone(&daemon), stream));
                }
            }
            accepted = controls.accept() => {
                if let Ok((stream, _)) = accepted {
                    spawn_local(control::serve(Rc::clone(&daemon), stream));
                }
            }
            _ = namespaces.tick() => {
                if let Err(error) = daemon.tick_namespaces() {
                    daemon.log.line(Level::Error, "daemon: namespace book", &[("err", &error.to_string())]);
                }
            }
            _ = reaping.tick() => {
                daemon.records.drop_old();
                daemon.conns().iter().filter(|conn| conn.is_idle()).for_each(|conn| conn.cut());
            }
            _ = terminate.recv(), if !daemon.has_fault(Fault::TermIgnored) => break,
            _ = interrupt.recv() => break,
        }
    }
    for conn in daemon.conns() {
        daemon.records.end(&conn.record());
    }
    daemon.log.line(Level::Info, "daemon: stopped", &[]);
    for path in [
        dirs.socket(),
        dirs.control(),
        dirs.pidfile(),
        dirs.version_file(),
    ] {
        // What is gone already needs no removal, and the daemon ends either way.
        drop(fs::remove_file(path));
    }
    Ok(())
}

fn open(setting: Setting, dirs: &Dirs) -> Result<Rc<Daemon>, DaemonError> {
    let faults = &setting.faults;
    let log = Rc::new(Log::open(&dirs.log(), faults)?);
    let store = Store::open(dirs, faults)?;
    Ok(Rc::new(Daemon {
        records: Registry::open(store, Rc::clone(&log))?,
        log,
        state_db: StateDb::open(&dirs.data)?,
        book: RefCell::new(Book::open(&dirs.data, setting.clock, faults)?),
        mail: Mailroom::new(setting.clock, faults),
        ledger: Ledger::open(&dirs.effects())?,
        conns: RefCell::new(BTreeMap::new()),
        next_conn: Cell::new(0),
        tools: tools(&setting),
        instance: format!("{:016x}", u64::from_be_bytes(random())),
        setting,
    }))
}

/// Binds a socket in place of a stale one; the lock says that nobody lives behind it.
fn bind(path: &Path) -> Result<UnixListener, DaemonError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(DaemonError::File {
                what: "remove stale socket",
                path: path.to_owned(),
                source,
            });
        }
        _ => {}
    }
    UnixListener::bind(path).map_err(|source| DaemonError::File {
        what: "bind",
        path: path.to_owned(),
        source,
    })
}

/// Writes a file that only we can read, whole.
pub(super) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(path)?;
    io::Write::write_all(&mut file, text.as_bytes())
}

/// Logs that the daemon is up, and says so on stderr: whoever spawned it waits for that line.
fn ready(daemon: &Daemon, dirs: &Dirs) -> Result<(), DaemonError> {
    let (socket, log) = (dirs.socket(), dirs.log());
    let (socket, log, pid) = (
        socket.to_string_lossy(),
        log.to_string_lossy(),
        std::process::id().to_string(),
    );
    let fields = [("socket", &*socket), ("pid", &*pid), ("log", &*log)];
    daemon.log.line(Level::Info, "daemon: ready", &fields);
    Ok(logo::notice(&format!(
        "INFO daemon: ready socket={socket} pid={pid}"
    ))?)
}

/// The tools of the generation, without what a fault has it not know.
fn tools(setting: &Setting) -> Vec<Tool> {
    let mut tools = schema::all(setting.generation);
    if setting.faults.has(Fault::MailUnknown) {
        for tool in tools.iter_mut().filter(|tool| tool.name == "session_start") {
            tool.forget("mail");
        }
    }
    tools
}
