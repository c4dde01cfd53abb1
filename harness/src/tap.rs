//! The tap: a command between a client and a real plumb that copies three streams and keeps a journal of them.
//!
//! Run by the hidden verb `tap` from the generated wrapper. It starts the command as its child, copies stdin, stdout
//! and stderr byte for byte with their ends, passes TERM, INT, HUP, QUIT, USR1 and USR2 on, and ends as the command
//! ended: with its code, or by its signal. It must never change, slow or reorder a stream for the journal's sake.
//!
//! One difference stays: the command leads a process group of its own, so that a signal to the client's group reaches
//! it once (passed on) and not twice; a KILL of the tap alone reaches it as the end of its input.

pub mod record;

mod copy;
mod journal;
mod line;

use std::{
    ffi::OsString,
    fs::File,
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    thread::JoinHandle,
};

use nix::sys::resource::{Resource, setrlimit};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2},
    iterator::{Handle, Signals},
    low_level::emulate_default_handler,
};

use self::{
    copy::{Copying, take},
    journal::{Journal, Note},
    record::{Direction, Record, Start, Why},
};
use crate::{clock::Moment, supervise::process::ProcessId};

/// The signals that are passed on.
const PASSED_ON: [i32; 6] = [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2];

/// What the tap is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tap {
    /// The folder of the journals.
    pub dir: PathBuf,
    /// A name that the journal carries, for who reads several.
    pub name: Option<String>,
    /// The real command.
    pub command: Vec<OsString>,
}

/// Why the command was not run.
#[derive(Debug, thiserror::Error)]
pub enum TapError {
    /// There is no command.
    #[error("no command was given after `--`")]
    NoCommand,
    /// Without a journal the run would have no evidence.
    #[error("open the journal `{path}`: {source}")]
    Journal {
        /// Its path.
        path: PathBuf,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
    /// The command could not be started.
    #[error("start `{program}`: {source}")]
    Start {
        /// Its name.
        program: String,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
    /// A stream, a signal or the command's end cannot be watched.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
}

/// Runs the command to its end; gives its exit code, or does not return when a signal ended it.
pub fn main(tap: &Tap) -> Result<u8, TapError> {
    let system = |what| move |source| TapError::System { what, source };
    let (program, args) = tap.command.split_first().ok_or(TapError::NoCommand)?;
    let at = Moment::now();
    // Registered before the command starts: a signal in between waits for the thread that passes it on.
    let signals = Signals::new(PASSED_ON).map_err(system("listen for signals"))?;
    let journal = Journal::open(&tap.dir, at)?;
    let child = Command::new(program)
        .args(args)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| TapError::Start {
            program: program.to_string_lossy().into_owned(),
            source,
        })?;
    journal.note(Note::Record(Box::new(Record::Start(Start::read(
        tap,
        at,
        child.id(),
    )))));

    let passing = pass_on(signals, child.id());
    let status = carry(child, &journal).map_err(system("copy the streams"))?;
    passing.close();
    journal.close(status);
    Ok(leave(status))
}

/// Copies until the command has ended and all that it wrote is delivered.
fn carry(mut child: Child, journal: &Journal) -> std::io::Result<ExitStatus> {
    let (over, end) = std::io::pipe()?;
    let (client_in, client_out, client_err) = (
        take::stdin_file()?,
        take::stdout_file()?,
        take::stderr_file()?,
    );
    let pipe = |fd: Option<OwnedFd>| {
        fd.map(File::from)
            .ok_or_else(|| std::io::Error::other("a pipe is missing"))
    };
    let stdin = pipe(child.stdin.take().map(OwnedFd::from))?;
    let stdout = pipe(child.stdout.take().map(OwnedFd::from))?;
    let stderr = pipe(child.stderr.take().map(OwnedFd::from))?;

    let until = Some(over.try_clone()?);
    let from_client = Copying {
        direction: Direction::C2s,
        from: client_in,
        to: stdin,
        until: None,
        journal: journal.writer(),
    };
    let to_client = Copying {
        direction: Direction::S2c,
        from: stdout,
        to: client_out,
        until,
        journal: journal.writer(),
    };
    let errors = Copying {
        direction: Direction::Err,
        from: stderr,
        to: client_err,
        until: Some(over),
        journal: journal.writer(),
    };
    // The client may leave its side open for ever, so nobody waits for this one.
    spawn(from_client);
    let copying = [spawn(to_client), spawn(errors)];
    let status = child.wait()?;
    // From here on the copiers take what is there and stop: a process the command left may hold the pipes.
    drop(end);
    for one in copying {
        // A copier that panicked has closed its streams, which its reader sees.
        drop(one.join());
    }
    Ok(status)
}

fn spawn(copying: Copying) -> JoinHandle<Why> {
    std::thread::spawn(move || copying.run())
}

fn pass_on(mut signals: Signals, pid: u32) -> Handle {
    let handle = signals.handle();
    let child = ProcessId::of(pid);
    std::thread::spawn(move || {
        for number in &mut signals {
            if let Some(child) = child {
                child.signal_raw(number);
            }
        }
    });
    handle
}

/// Ends as the command ended: by the same signal, without a core of our own; 128 plus its number if that fails.
fn leave(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt as _;
    let Some(number) = status.signal() else {
        return u8::try_from(status.code().unwrap_or(1)).unwrap_or(1);
    };
    setrlimit(Resource::RLIMIT_CORE, 0, 0).ok();
    emulate_default_handler(number).ok();
    u8::try_from(128 + number).unwrap_or(u8::MAX)
}
