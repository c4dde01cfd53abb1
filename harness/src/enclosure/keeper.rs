//! The first process of an enclosure: starts the run, looks at plumb's daemons every 100 ms, hands signals on, takes
//! every orphan's status, and stays until nothing is left or the run has been over for 30 s.
//!
//! Called by the hidden verb `enclosed`. One thread, no tokio; a subreaper, so that a container's own first process
//! is not needed for the proof of emptiness. It must never signal anything but the run.

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
use crate::supervise::process::ProcessId;
use crate::supervise::reap::{ChildSignal, Children, reap_one};

/// How often is looked (the plugin's readme).
const EVERY: u16 = 100;

/// How long is looked once the run is over (the plugin's readme).
const AFTER: Duration = Duration::from_secs(30);

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

/// What came of it.
#[derive(Debug)]
pub struct Kept {
    /// How the run ended; nothing if it was ended because the one outside is gone.
    pub status: Option<Status>,
    /// What was seen.
    pub census: Census,
    /// Whether the kernel said at last that nothing is left.
    pub is_empty: bool,
}

/// What is kept.
#[derive(Debug)]
pub struct Keep<'a> {
    /// Program and words of the run.
    pub argv: &'a [OsString],
    /// Where the signals come from.
    pub told: Told,
    /// When the looking ends.
    pub until: Until,
}

/// The signals that are handed on.
struct Signals {
    pipes: Vec<(i32, UnixStream)>,
}

/// Runs it to its end. `open` brings what the run finds there already, `close` ends it again when the run is over.
pub fn keep(
    what: &Keep<'_>,
    open: impl FnOnce() -> io::Result<()>,
    close: impl FnOnce() -> io::Result<()>,
) -> io::Result<Kept> {
    nix::sys::prctl::set_child_subreaper(true)?;
    let mut children = ChildSignal::register()?;
    let mut signals = Signals::listen()?;
    let mut census = Census::begin(look());
    open()?;
    let (program, words) = what
        .argv
        .split_first()
        .ok_or_else(|| io::Error::other("no run was named"))?;
    #[expect(
        clippy::zombie_processes,
        reason = "its status is taken with that of every orphan"
    )]
    let run = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .spawn()?;
    let run = ProcessId::of(run.id()).ok_or_else(|| io::Error::other("the run ended at once"))?;
    let mut status = None;
    let mut close = Some(close);
    let mut ended: Option<Instant> = None;
    loop {
        children.clear();
        let left = loop {
            match reap_one() {
                Ok(reaped) if reaped.process.pid == run.pid => status = Some(reaped.status),
                Ok(_) => {}
                Err(left) => break left,
            }
        };
        census.see(look());
        if status.is_some()
            && let Some(close) = close.take()
        {
            close()?;
            census.over();
            ended = Some(Instant::now());
            continue;
        }
        let is_empty = left == Children::None;
        let is_time = ended.is_some_and(|since| since.elapsed() >= AFTER);
        if ended.is_some() && (is_time || (is_empty && what.until == Until::NothingIsLeft)) {
            return Ok(Kept {
                status,
                census,
                is_empty,
            });
        }
        if !hand_on(what.told, &children, &mut signals, run)? {
            return Ok(Kept {
                status: None,
                census,
                is_empty,
            });
        }
    }
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
