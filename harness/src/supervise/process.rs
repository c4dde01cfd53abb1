//! Processes as the kernel shows them, and the only way to signal one.
//!
//! Called by the supervisor and the warden. A process is a pid with its start time; a signal goes through a pidfd
//! whose start time was read after it was opened, so it cannot hit the pid's next owner. Must never match by name.

use std::collections::{BTreeMap, BTreeSet};

use procfs::process::Stat;
use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use super::order::Signal;

/// Bytes of a command line that are kept: enough to know a program, too few to flood a pipe.
const ARGV_BYTES: usize = 4096;

/// A process that cannot be mistaken for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessId {
    /// The pid.
    pub pid: u32,
    /// When it started, in clock ticks since boot (field 22 of `/proc/PID/stat`).
    pub start: u64,
}

/// A process as it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Pid and start time.
    pub process: ProcessId,
    /// Its parent's pid.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// Its session.
    pub session: u32,
    /// Its state, as in `/proc/PID/stat`.
    pub state: char,
    /// Its command line, cut at 4 KiB; the kernel's short name in brackets when it has none.
    pub argv: Vec<String>,
}

/// One link of a chain of parents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ancestor {
    /// Its pid.
    pub pid: u32,
    /// Its command line, as in [`Seen`].
    pub argv: Vec<String>,
}

impl ProcessId {
    /// Reads who `pid` is now.
    pub fn of(pid: u32) -> Option<Self> {
        stat_of(pid).map(|stat| id_of(&stat))
    }

    /// Whether it still runs; one that ended and was not reaped does not.
    pub fn is_alive(self) -> bool {
        stat_of(self.pid).is_some_and(|stat| id_of(&stat) == self && !is_ended(&stat))
    }

    /// Sends a signal; false when this process no longer exists.
    pub fn signal(self, signal: Signal) -> bool {
        self.send(number(signal))
    }

    /// As [`ProcessId::signal`], by the number a signal handler gives; false also for a number that names none.
    pub fn signal_raw(self, signal: i32) -> bool {
        rustix::process::Signal::from_named_raw(signal).is_some_and(|signal| self.send(signal))
    }

    fn send(self, signal: rustix::process::Signal) -> bool {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else {
            return false;
        };
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
            return false;
        };
        Self::of(self.pid) == Some(self) && pidfd_send_signal(handle, signal).is_ok()
    }
}

/// Every living descendant of `root`, in order of pid; ended but unreaped ones are left out.
///
/// One pass over `/proc` is not atomic: a process whose parent ended meanwhile can be missed. Callers repeat it, and
/// take only the kernel's "no child" as proof of emptiness.
pub fn descendants(root: u32) -> Vec<Seen> {
    under(root, &BTreeSet::new())
}

/// As [`descendants`], without the trees of `except`.
pub(crate) fn under(root: u32, except: &BTreeSet<u32>) -> Vec<Seen> {
    let stats: BTreeMap<u32, Stat> = procfs::process::all_processes()
        .into_iter()
        .flatten()
        .filter_map(|process| process.ok()?.stat().ok())
        .filter_map(|stat| Some((u32::try_from(stat.pid).ok()?, stat)))
        .collect();
    let mut known: BTreeMap<u32, bool> = except.iter().map(|&pid| (pid, false)).collect();
    known.insert(root, true);
    let inside: Vec<u32> = stats
        .keys()
        .copied()
        .filter(|&pid| pid != root && is_inside(pid, &stats, &mut known))
        .collect();
    inside
        .iter()
        .filter_map(|pid| stats.get(pid))
        .filter(|stat| !is_ended(stat))
        .map(seen)
        .collect()
}

/// The members of `all` above `pid`, nearest first.
pub(crate) fn parents(of: &Seen, all: &[Seen]) -> Vec<Ancestor> {
    let mut chain = Vec::new();
    let mut next = of.parent;
    while let Some(above) = all.iter().find(|one| one.process.pid == next) {
        chain.push(Ancestor {
            pid: next,
            argv: above.argv.clone(),
        });
        next = above.parent;
    }
    chain
}

/// A process whose first thread has ended looks like a zombie while its other threads go on.
fn is_ended(stat: &Stat) -> bool {
    matches!(stat.state, 'Z' | 'X') && stat.num_threads <= 1
}

/// Follows parents until an answer is known, and keeps it for the whole chain.
fn is_inside(pid: u32, stats: &BTreeMap<u32, Stat>, known: &mut BTreeMap<u32, bool>) -> bool {
    let mut chain = Vec::new();
    let mut next = pid;
    let answer = loop {
        if let Some(&answer) = known.get(&next) {
            break answer;
        }
        // A pass is not atomic, so reused pids could in theory form a ring.
        if chain.contains(&next) {
            break false;
        }
        chain.push(next);
        match stats
            .get(&next)
            .and_then(|stat| u32::try_from(stat.ppid).ok())
        {
            Some(parent) if parent != 0 => next = parent,
            _ => break false,
        }
    };
    known.extend(chain.into_iter().map(|pid| (pid, answer)));
    answer
}

fn seen(stat: &Stat) -> Seen {
    let process = id_of(stat);
    Seen {
        process,
        parent: u32::try_from(stat.ppid).unwrap_or(0),
        group: u32::try_from(stat.pgrp).unwrap_or(0),
        session: u32::try_from(stat.session).unwrap_or(0),
        state: stat.state,
        argv: argv_of(process.pid).unwrap_or_else(|| vec![format!("[{}]", stat.comm)]),
    }
}

/// Reads the command line of a living process.
pub(crate) fn argv_of(pid: u32) -> Option<Vec<String>> {
    let mut bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    bytes.truncate(ARGV_BYTES);
    if bytes.last() == Some(&0) {
        bytes.pop();
    }
    if bytes.is_empty() {
        return None;
    }
    Some(
        bytes
            .split(|&byte| byte == 0)
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect(),
    )
}

/// Reads `/proc/PID/stat`, also of a process that ended and was not reaped.
pub(crate) fn stat_of(pid: u32) -> Option<Stat> {
    procfs::process::Process::new(i32::try_from(pid).ok()?)
        .ok()?
        .stat()
        .ok()
}

/// Pid and start time of a stat line.
pub(crate) fn id_of(stat: &Stat) -> ProcessId {
    ProcessId {
        pid: u32::try_from(stat.pid).unwrap_or(0),
        start: stat.starttime,
    }
}

fn number(signal: Signal) -> rustix::process::Signal {
    use rustix::process::Signal as System;
    match signal {
        Signal::Hup => System::HUP,
        Signal::Int => System::INT,
        Signal::Quit => System::QUIT,
        Signal::Kill => System::KILL,
        Signal::Usr1 => System::USR1,
        Signal::Usr2 => System::USR2,
        Signal::Term => System::TERM,
        Signal::Cont => System::CONT,
        Signal::Stop => System::STOP,
    }
}
