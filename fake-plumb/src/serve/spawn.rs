//! Reaching the daemon: connect, or start one under the spawn lock and wait until it says that it is up.
//!
//! Called by serve and restart. Of several callers one starts it; the others find it there.

use std::io::{self, BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::fcntl::FlockArg;
use thiserror::Error;

use crate::daemon::listen::{self, DaemonError};
use crate::dirs::Dirs;
use crate::logo;
use crate::setting::{AS_VARIABLE, Setting};

/// How long plumb waits for a daemon (facts, section 1: 10.1 s).
pub(super) const LIMIT: Duration = Duration::from_millis(10_100);

/// Why there is no daemon to talk to.
#[derive(Debug, Error)]
pub(crate) enum SpawnError {
    #[error("{0}")]
    CannotStart(#[from] DaemonError),
    #[error("daemon did not come up: {seen}")]
    NotUp { seen: String },
    #[error("no listener at {path} {LIMIT:?} after the daemon was started: {source}")]
    NoListener { path: PathBuf, source: io::Error },
    #[error("start the daemon: {0}")]
    Io(#[from] io::Error),
}

/// Connects to the daemon, starting one if there is none.
pub(crate) fn connect(setting: &Setting, dirs: &Dirs) -> Result<UnixStream, SpawnError> {
    let socket = dirs.socket();
    if let Ok(stream) = UnixStream::connect(&socket) {
        logo::notice("INFO serve: connected to existing daemon")?;
        return Ok(stream);
    }
    logo::notice(&format!(
        "INFO serve: daemon not running — starting socket={}",
        socket.display()
    ))?;
    let deadline = Instant::now() + LIMIT;
    loop {
        start(setting, dirs)?;
        match UnixStream::connect(&socket) {
            Ok(stream) => {
                logo::notice("INFO serve: connected to daemon")?;
                return Ok(stream);
            }
            // What answered a moment ago was on its way down.
            Err(_) if Instant::now() < deadline => {}
            Err(source) => {
                return Err(SpawnError::NoListener {
                    path: socket,
                    source,
                });
            }
        }
    }
}

/// Starts a daemon unless one answers once the lock is ours; returns when one listens.
pub(crate) fn start(setting: &Setting, dirs: &Dirs) -> Result<(), SpawnError> {
    listen::check(dirs)?;
    let _lock = listen::lock(&dirs.spawn_lock(), FlockArg::LockExclusive)?;
    // The control socket is bound last, and a look at it leaves no record.
    if UnixStream::connect(dirs.control()).is_ok() {
        return Ok(());
    }
    let child = spawn(setting)?;
    let seen = await_ready(child)?;
    // One that left because of another has seen that the other one answers.
    if seen.contains("daemon: ready") || seen.contains("another daemon") {
        return Ok(());
    }
    Err(SpawnError::NotUp { seen })
}

fn spawn(setting: &Setting) -> io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .arg0(&setting.argv0)
        .arg("daemon")
        .env(AS_VARIABLE, setting.generation.as_str())
        .env_remove("PLUMB_NAMESPACE")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
}

/// Gives all that the daemon said up to its ready line, or up to its end.
fn await_ready(mut child: Child) -> Result<String, SpawnError> {
    let stderr = child
        .stderr
        .take()
        .ok_or_else(|| io::Error::other("the daemon's stderr is not a pipe"))?;
    let (say, heard) = channel();
    std::thread::spawn(move || {
        let mut said = String::new();
        let mut lines = BufReader::new(stderr);
        loop {
            let before = said.len();
            let is_over = lines.read_line(&mut said).is_ok_and(|length| length == 0);
            if is_over || said[before..].contains("daemon: ") || said.len() == before {
                break;
            }
        }
        // The waiter may have given up.
        drop(say.send(said));
        drop(lines);
        // Takes the exit status of a daemon that ends before we do, so that no zombie is left.
        drop(child.wait());
    });
    match heard.recv_timeout(LIMIT) {
        Ok(said) => Ok(said.trim().to_owned()),
        Err(RecvTimeoutError::Timeout) => Err(SpawnError::NotUp {
            seen: format!("nothing said in {LIMIT:?}"),
        }),
        Err(RecvTimeoutError::Disconnected) => Err(SpawnError::NotUp {
            seen: "it ended in silence".to_owned(),
        }),
    }
}
