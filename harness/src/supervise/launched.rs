//! The processes a supervisor started: starting, signalling, and carrying their output into files.
//!
//! Called by the supervisor's loop, which reaps. Must never wait, and never say anything itself: what is to be told is
//! returned.

use std::{
    collections::BTreeMap,
    fs::File,
    os::{fd::AsFd as _, unix::process::CommandExt as _},
    path::Path,
    process::{Command, Stdio},
};

use nix::poll::{PollFd, PollFlags};

use super::{
    notice::{Notice, Stream},
    order::{Key, Launch, Reach, Signal, Stdin},
    output::{Copied, Output, PIPE, create},
    process::{ProcessId, Seen, descendants},
};

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Launched {
    /// Those that have not been reaped.
    running: BTreeMap<Key, ProcessId>,
    /// Whose group a pid leads or led: a reaped leader's orphans still carry it.
    groups: BTreeMap<u32, Key>,
    outputs: Vec<(Key, Output)>,
}

impl Launched {
    /// Whether every started process was reaped.
    pub(crate) fn is_over(&self) -> bool {
        self.running.is_empty()
    }

    /// Starts a process; the error says what, where and why.
    pub(crate) fn start(&mut self, key: &Key, launch: &Launch) -> Result<ProcessId, String> {
        if self.running.contains_key(key) {
            return Err(format!(
                "`{key}` is running already; give each launch a key of its own"
            ));
        }
        let Some((program, args)) = launch.argv.split_first() else {
            return Err(format!("`{key}` has no program"));
        };
        let stdin = match &launch.stdin {
            Stdin::Null => Stdio::null(),
            Stdin::File(path) => File::open(path)
                .map_err(|error| at("open", path, &error))?
                .into(),
        };
        let out_file =
            create(&launch.stdout).map_err(|error| at("create", &launch.stdout, &error))?;
        let err_file =
            create(&launch.stderr).map_err(|error| at("create", &launch.stderr, &error))?;
        let mut child = Command::new(program)
            .args(args)
            .env_clear()
            .envs(&launch.env)
            .current_dir(&launch.cwd)
            .process_group(0)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("start `{program}` in `{}`: {error}", launch.cwd.display()))?;
        if let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) {
            let out = Output::new(Stream::Stdout, out.into(), out_file, launch.limit);
            let err = Output::new(Stream::Stderr, err.into(), err_file, launch.limit);
            self.outputs
                .extend([(key.clone(), out), (key.clone(), err)]);
        }
        // It is our unreaped child, so the pid is its own even if it has ended already.
        let process = ProcessId::of(child.id()).unwrap_or(ProcessId {
            pid: child.id(),
            start: 0,
        });
        self.running.insert(key.clone(), process);
        self.groups.insert(process.pid, key.clone());
        Ok(process)
    }

    /// Sends a signal; gives those it reached.
    pub(crate) fn signal(
        &self,
        key: &Key,
        signal: Signal,
        reach: Reach,
        living: &[Seen],
    ) -> Vec<ProcessId> {
        let leader = self.running.get(key).copied();
        let in_group = living
            .iter()
            .filter(|one| self.groups.get(&one.group) == Some(key))
            .map(|one| one.process);
        let mut chosen: Vec<ProcessId> = match reach {
            Reach::Leader => leader.into_iter().collect(),
            Reach::Group => in_group.collect(),
            Reach::Tree => {
                let below = leader
                    .map(|leader| descendants(leader.pid))
                    .unwrap_or_default();
                below
                    .into_iter()
                    .map(|one| one.process)
                    .chain(in_group)
                    .chain(leader)
                    .collect()
            }
        };
        chosen.sort_unstable();
        chosen.dedup();
        chosen.retain(|process| process.signal(signal));
        chosen
    }

    /// Takes a reaped process off the list; gives its key if it was started here.
    pub(crate) fn bury(&mut self, pid: u32) -> Option<Key> {
        let key = self
            .running
            .iter()
            .find(|(_, process)| process.pid == pid)?
            .0
            .clone();
        self.running.remove(&key);
        Some(key)
    }

    /// Whose group this is or was.
    pub(crate) fn of_group(&self, group: u32) -> Option<Key> {
        self.groups.get(&group).cloned()
    }

    /// What to poll, in the order of the indices that [`Launched::copy`] takes.
    pub(crate) fn reading(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.outputs
            .iter()
            .map(|(_, output)| PollFd::new(output.as_fd(), PollFlags::POLLIN))
    }

    /// Copies what is ready; `ready` says so for each in the order of [`Launched::reading`].
    pub(crate) fn copy(&mut self, ready: &[bool]) -> Vec<Notice> {
        let mut notices = Vec::new();
        let mut ready = ready.iter();
        self.outputs.retain_mut(|(key, output)| {
            if ready.next() != Some(&true) {
                return true;
            }
            let copied = output.copy();
            if copied == Copied::Overflowed {
                notices.push(overflow(key, output));
            }
            copied != Copied::End
        });
        notices
    }

    /// Copies all that lies in the pipes of `whose`, or in every pipe.
    pub(crate) fn drain(&mut self, whose: Option<&Key>) -> Vec<Notice> {
        let mut notices = Vec::new();
        self.outputs.retain_mut(|(key, output)| {
            if whose.is_some_and(|whose| whose != key) {
                return true;
            }
            // Somebody who is left may write without end; only what lies in the pipe now is wanted.
            let enough = output.read + PIPE;
            while output.read < enough && output.is_ready() {
                match output.copy() {
                    Copied::More => {}
                    Copied::Overflowed => notices.push(overflow(key, output)),
                    Copied::End => return false,
                }
            }
            true
        });
        notices
    }
}

fn overflow(key: &Key, output: &Output) -> Notice {
    Notice::Overflow {
        key: key.clone(),
        stream: output.stream,
        limit: output.limit,
    }
}

fn at(verb: &str, path: &Path, error: &std::io::Error) -> String {
    format!("{verb} `{}`: {error}", path.display())
}
