//! Waiting for children: the signal that one ended, and the taking of its status.
//!
//! Called by the supervisor and the warden, which are single-threaded and alone in their process: only there may
//! anybody wait for any child. Must never be called in the runner.

use std::{
    io::Read as _,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
};

use nix::sys::wait::{Id, WaitPidFlag, waitid};
use rustix::process::{Pid, WaitOptions, WaitStatus, wait, waitpid};

use super::{
    notice::Status,
    process::{self, ProcessId},
};

/// Becomes readable when a child ended.
///
/// A handler and a pipe, not a blocked signal: a mask would be inherited through exec, a handler is not.
#[derive(Debug)]
pub(crate) struct ChildSignal {
    pipe: UnixStream,
}

/// A child whose status was taken.
#[derive(Debug)]
pub(crate) struct Reaped {
    /// Pid and start time; the start is zero when it could not be read any more.
    pub(crate) process: ProcessId,
    /// The kernel's short name.
    pub(crate) name: String,
    /// Its process group.
    pub(crate) group: u32,
    /// How it ended.
    pub(crate) status: Status,
}

/// What is left after reaping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Children {
    /// Some still run.
    Some,
    /// The kernel says there is none: no descendant of a subreaper is alive.
    None,
}

impl ChildSignal {
    /// Starts to listen for ended children.
    pub(crate) fn register() -> std::io::Result<Self> {
        let (pipe, write) = UnixStream::pair()?;
        pipe.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(signal_hook::consts::SIGCHLD, write)?;
        Ok(Self { pipe })
    }

    /// Forgets the signals told so far.
    pub(crate) fn clear(&mut self) {
        let mut bytes = [0; 256];
        while self.pipe.read(&mut bytes).is_ok_and(|n| n > 0) {}
    }
}

impl AsFd for ChildSignal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

/// Takes the status of one ended child, or says whether any is left.
pub(crate) fn reap_one() -> Result<Reaped, Children> {
    // The name is readable only before the status is taken. The look fails for a death by a real-time signal, which
    // nix cannot name; then the status is taken without one.
    let look = waitid(
        Id::All,
        WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT,
    );
    let stat = look
        .ok()
        .and_then(|status| status.pid())
        .and_then(|pid| process::stat_of(u32::try_from(pid.as_raw()).ok()?));
    let taken = match stat.as_ref().and_then(|stat| Pid::from_raw(stat.pid)) {
        Some(pid) => waitpid(Some(pid), WaitOptions::NOHANG),
        None => wait(WaitOptions::NOHANG),
    };
    match taken {
        Ok(Some((pid, status))) => Ok(Reaped {
            process: stat.as_ref().map_or_else(|| unread(pid), process::id_of),
            name: stat
                .as_ref()
                .map(|stat| stat.comm.clone())
                .unwrap_or_default(),
            group: stat
                .as_ref()
                .and_then(|stat| u32::try_from(stat.pgrp).ok())
                .unwrap_or(0),
            status: status_of(status),
        }),
        Err(error) if error == rustix::io::Errno::CHILD => Err(Children::None),
        Ok(None) | Err(_) => Err(Children::Some),
    }
}

fn unread(pid: Pid) -> ProcessId {
    ProcessId {
        pid: u32::try_from(pid.as_raw_nonzero().get()).unwrap_or(0),
        start: 0,
    }
}

fn status_of(status: WaitStatus) -> Status {
    /// `WCOREFLAG` of `wait(2)`.
    const CORE: i32 = 0x80;
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Status::Code(code),
        (_, Some(number)) => Status::Signal {
            number,
            core: status.as_raw() & CORE != 0,
        },
        _ => Status::Unknown,
    }
}

/// As the standard library tells it.
pub(crate) fn status_of_exit(status: std::process::ExitStatus) -> Status {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => Status::Code(code),
        (_, Some(number)) => Status::Signal {
            number,
            core: status.core_dumped(),
        },
        _ => Status::Unknown,
    }
}
