//! One process by pid *and* start time: is it alive, make it end.
//!
//! Called for the owner of a namespace, the writer of a record and our own daemon. It never looks a process up
//! by name, and never signals a pid that it has not first pinned.

use std::time::Duration;

use rustix::process::Pid;

/// A process that was looked at once; a later owner of the same pid is a different process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// Clock ticks after boot, from `/proc`; zero where there is no `/proc`.
    started: u64,
}

impl Process {
    /// Looks at a pid; nothing if no such process runs. A zombie does not run.
    pub(crate) fn look(pid: u32) -> Option<Self> {
        if !exists(pid) {
            return None;
        }
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
            return (!cfg!(target_os = "linux")).then_some(Self { pid, started: 0 });
        };
        // The command name may hold blanks and brackets, so fields are counted from the last one: state is the
        // first, the start time the 20th (proc(5): fields 3 and 22).
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?;
        let started = fields.nth(18)?.parse().ok()?;
        (!matches!(state, "Z" | "X")).then_some(Self { pid, started })
    }

    pub(crate) fn is_alive(self) -> bool {
        Self::look(self.pid) == Some(self)
    }
}

fn exists(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    !matches!(
        rustix::process::test_kill_process(pid),
        Err(rustix::io::Errno::SRCH)
    )
}

/// What came of asking a process to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Ended,
    StillThere,
}

/// Sends SIGTERM to `process` and waits up to `limit` for it to be gone.
#[cfg(target_os = "linux")]
pub(crate) fn terminate(process: Process, limit: Duration) -> std::io::Result<Ending> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) else {
        return Ok(Ending::Ended);
    };
    let handle = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) => handle,
        Err(rustix::io::Errno::SRCH) => return Ok(Ending::Ended),
        Err(error) => return Err(error.into()),
    };
    // The handle is pinned now; if the start time still fits, it is the process that was looked at.
    if !process.is_alive() {
        return Ok(Ending::Ended);
    }
    pidfd_send_signal(&handle, Signal::TERM)?;
    let limit = Timespec::try_from(limit).map_err(std::io::Error::other)?;
    let ready = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&limit))?;
    Ok(if ready > 0 {
        Ending::Ended
    } else {
        Ending::StillThere
    })
}

/// Sends SIGTERM to `process` and waits up to `limit` for it to be gone.
#[cfg(not(target_os = "linux"))]
pub(crate) fn terminate(process: Process, limit: Duration) -> std::io::Result<Ending> {
    use std::time::Instant;

    let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) else {
        return Ok(Ending::Ended);
    };
    rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
    let deadline = Instant::now() + limit;
    while process.is_alive() {
        if Instant::now() > deadline {
            return Ok(Ending::StillThere);
        }
        // Without pidfd the kernel cannot be waited on for a process that is not our child.
        std::thread::yield_now();
    }
    Ok(Ending::Ended)
}

#[cfg(test)]
mod tests {
    use super::Process;

    #[test]
    fn a_process_is_alive_until_it_ends() {
        let own = Process::look(std::process::id()).unwrap();
        assert!(own.is_alive());
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let seen = Process::look(child.id()).unwrap();
        assert!(seen.is_alive());
        child.stdin.take();
        child.wait().unwrap();
        assert!(!seen.is_alive());
    }
}
