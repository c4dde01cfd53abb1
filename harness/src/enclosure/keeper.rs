//! The first process of an enclosure: starts the run, looks at plumb's daemons every 100 ms, hands signals on, takes
//! every orphan's status, and stays until nothing is left or the run has been over for 30 s.
//!
//! Called by the hidden verb `enclosed`. One thread, no tokio; a subreaper, so that a container's own first process
//! is not needed for the proof of emptiness. It must never signal anything but the run.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::census::{Census, look};
use crate::supervise::notice::Status;
use crate::supervise::process::{ProcessId, descendants};
use crate::supervise::reap::{ChildSignal, Children, reap_one};

/// How often is looked (the plugin's readme).
const EVERY: u16 = 100;

/// How long is looked once the run is over (the plugin's readme).
const AFTER: Duration = Duration::from_secs(30);

/// How long what a run has left may take to end: as long as the warden gives its supervisors.
const LEAVING: Duration = Duration::from_mins(1);

/// Where the signals come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// From a pipe on standard input: one byte is one signal's number, and its end means that the one outside is gone.
    ByPipe,
    /// From the kernel alone.
    BySignal,
}

/// When the looking ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// As soon as nothing is left: whoever could start a daemon is among our own.
    NothingIsLeft,
    /// Not before its time: others live here, too.
    TimeIsUp,
}

/// A signal that the run is sent on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// Its number.
    pub number: i32,
    /// How long after the start.
    pub after: Duration,
}

/// What came of it.
#[derive(Debug)]
pub struct Kept {
    /// How the run ended; nothing if it was ended because the one outside is gone.
    pub status: Option<Status>,
    /// Whether the planned signal was sent before the run ended.
    pub is_signalled: bool,
    /// What was seen of daemons.
    pub census: Census,
    /// Processes that the run left, and what was wrong with its closing.
    pub left: Vec<String>,
}

/// What is kept.
#[derive(Debug)]
pub struct Keep<'a> {
    /// Program and words of the run.
    pub argv: &'a [OsString],
    /// Variables that the run does not get.
    pub without: &'a [&'a str],
    /// Where the signals come from.
    pub told: Told,
    /// When the looking ends.
    pub until: Until,
    /// A signal on its way.
    pub signal: Option<Planned>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy)]
enum Stage {
    /// It runs.
    Running(Instant),
    /// It has ended; what it left is ending.
    Leaving(Instant),
    /// Nothing of it is left, or it was given up; daemons alone are looked for.
    Over(Instant),
}

/// The signals that are handed on.
struct Signals {
    pipes: Vec<(i32, UnixStream)>,
}

/// Runs it to its end. `open` brings what the run finds there already; `close` ends it again when the run is over, and
/// says what was wrong.
pub fn keep(
    what: &Keep<'_>,
    open: impl FnOnce(),
    close: impl FnOnce() -> Vec<String>,
) -> io::Result<Kept> {
    nix::sys::prctl::set_child_subreaper(true)?;
    let mut children = ChildSignal::register()?;
    let mut signals = Signals::listen()?;
    let mut kept = Kept {
        status: None,
        is_signalled: false,
        census: Census::begin(look()),
        left: Vec::new(),
    };
    open();
    let run = start(what)?;
    let mut stage = Stage::Running(Instant::now());
    let mut close = Some(close);
    loop {
        children.clear();
        let children_left = loop {
            match reap_one() {
                Ok(reaped) if reaped.process.pid == run.pid => kept.status = Some(reaped.status),
                Ok(_) => {}
                Err(left) => break left,
            }
        };
        let daemons = look();
        let pids: BTreeSet<u32> = daemons.iter().map(|daemon| daemon.process.pid).collect();
        kept.census.see(daemons);
        match stage {
            Stage::Running(_) if kept.status.is_some() => stage = Stage::Leaving(Instant::now()),
            Stage::Running(since) => {
                if let Some(signal) = what.signal
                    && !kept.is_signalled
                    && since.elapsed() >= signal.after
                {
                    kept.is_signalled = run.signal_raw(signal.number);
                }
            }
            Stage::Leaving(since) => {
                let mut left = descendants(std::process::id());
                left.retain(|process| !pids.contains(&process.process.pid));
                if left.is_empty() || since.elapsed() >= LEAVING {
                    let named = left
                        .iter()
                        .map(|left| format!("left by the run: {}", left.argv.join(" ")));
                    kept.left.extend(named);
                    kept.left
                        .extend(close.take().into_iter().flat_map(|close| close()));
                    kept.census.over();
                    stage = Stage::Over(Instant::now());
                }
            }
            Stage::Over(since) => {
                let is_proved =
                    children_left == Children::None && what.until == Until::NothingIsLeft;
                if is_proved || since.elapsed() >= AFTER {
                    return Ok(kept);
                }
            }
        }
        if !hand_on(what.told, &children, &mut signals, run)? {
            kept.status = None;
            return Ok(kept);
        }
    }
}

/// Starts it; its status is taken with that of every orphan.
fn start(what: &Keep<'_>) -> io::Result<ProcessId> {
    let (program, words) = what
        .argv
        .split_first()
        .ok_or_else(|| io::Error::other("no run was named"))?;
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null());
    for name in what.without {
        command.env_remove(name);
    }
    let run = command.spawn()?;
    ProcessId::of(run.id()).ok_or_else(|| io::Error::other("the run ended at once"))
}

/// Waits for a child, a signal or the next look, and hands signals on; false when the one outside is gone.
fn hand_on(
    told: Told,
    children: &ChildSignal,
    signals: &mut Signals,
    run: ProcessId,
) -> io::Result<bool> {
    let stdin = io::stdin();
    let mut fds = vec![PollFd::new(children.as_fd(), PollFlags::POLLIN)];
    fds.extend(
        signals
            .pipes
            .iter()
            .map(|(_, pipe)| PollFd::new(pipe.as_fd(), PollFlags::POLLIN)),
    );
    if told == Told::ByPipe {
        fds.push(PollFd::new(stdin.as_fd(), PollFlags::POLLIN));
    }
    match poll(&mut fds, PollTimeout::from(EVERY)) {
        Ok(_) | Err(nix::Error::EINTR) => {}
        Err(error) => return Err(error.into()),
    }
    let is_told = told == Told::ByPipe
        && fds
            .last()
            .and_then(PollFd::revents)
            .is_some_and(|events| !events.is_empty());
    drop(fds);
    for number in signals.taken() {
        run.signal_raw(number);
    }
    if is_told {
        let mut bytes = [0; 16];
        let length = stdin.lock().read(&mut bytes)?;
        for number in &bytes[..length] {
            run.signal_raw(i32::from(*number));
        }
        return Ok(length > 0);
    }
    Ok(true)
}

impl Signals {
    fn listen() -> io::Result<Self> {
        let mut pipes = Vec::new();
        for number in [SIGTERM, SIGINT, SIGHUP] {
            let (pipe, write) = UnixStream::pair()?;
            pipe.set_nonblocking(true)?;
            signal_hook::low_level::pipe::register(number, write)?;
            pipes.push((number, pipe));
        }
        Ok(Self { pipes })
    }

    /// The signals that came since.
    fn taken(&mut self) -> Vec<i32> {
        let mut came = Vec::new();
        for (number, pipe) in &mut self.pipes {
            let mut bytes = [0; 16];
            let length = pipe.read(&mut bytes).unwrap_or(0);
            came.extend(std::iter::repeat_n(*number, length));
        }
        came
    }
}

/// Waits until one of the pipes has something to say.
pub fn wait_for_any<'fd>(
    pipes: impl Iterator<Item = std::os::fd::BorrowedFd<'fd>>,
) -> io::Result<()> {
    let mut fds: Vec<PollFd<'_>> = pipes.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
    match poll(&mut fds, PollTimeout::NONE) {
        Ok(_) | Err(nix::Error::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
