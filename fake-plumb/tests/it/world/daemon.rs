//! A process of a test by pid and start time: is it alive, and signals to it alone.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// A process by pid and start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Daemon {
    pub(crate) pid: i32,
    started: u64,
}

impl Daemon {
    pub(crate) fn look(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?;
        let started = fields.nth(18)?.parse().ok()?;
        (!matches!(state, "Z" | "X")).then_some(Self { pid, started })
    }

    pub(crate) fn is_alive(self) -> bool {
        Self::look(self.pid) == Some(self)
    }

    pub(crate) fn signal(self, signal: Signal) {
        if self.is_alive() {
            kill_process(Pid::from_raw(self.pid).unwrap(), signal).ok();
        }
    }
}
