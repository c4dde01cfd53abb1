//! The part of the process tree that somebody has to end.
//!
//! Called by the ending of the supervisor (all below it) and of the warden (all below it but living supervisors).
//! Must never signal the root itself.

use std::collections::BTreeSet;

use super::{
    order::Signal,
    process::{ProcessId, Seen, under},
};

/// How many times the tree is walked for processes that appeared during the walk before.
const WALKS: usize = 32;

/// Everything below a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scope {
    root: u32,
    /// Children whose trees are not meant.
    except: BTreeSet<u32>,
}

impl Scope {
    /// Everything below this process but the trees of `except`.
    pub(crate) fn below_us(except: BTreeSet<u32>) -> Self {
        Self {
            root: std::process::id(),
            except,
        }
    }

    /// Who lives in it, by one look at the whole table.
    pub(crate) fn living(&self) -> Vec<Seen> {
        under(self.root, &self.except)
    }

    /// Stops everything, then kills what it stopped. A fork bomb outruns KILL: by the time the table is read the next
    /// generation is there. It does not outrun a walk that stops a process before it reads its children.
    pub(crate) fn kill(&self) {
        let mut stopped = BTreeSet::new();
        for _ in 0..WALKS {
            let n_before = stopped.len();
            self.stop(&mut stopped);
            // A fork that was under way when its process was stopped shows up in the next walk.
            if stopped.len() == n_before {
                break;
            }
        }
        // A kernel without the children files walks nowhere, and the table is all there is.
        stopped.extend(self.living().iter().map(|one| one.process));
        for process in stopped {
            process.signal(Signal::Kill);
        }
    }

    /// One walk, depth first, which follows a chain to its end faster than the end can grow.
    fn stop(&self, stopped: &mut BTreeSet<ProcessId>) {
        let mut ahead: Vec<u32> = children(self.root)
            .into_iter()
            .filter(|pid| !self.except.contains(pid))
            .collect();
        while let Some(pid) = ahead.pop() {
            if let Some(process) = ProcessId::of(pid)
                && stopped.insert(process)
            {
                process.signal(Signal::Stop);
            }
            ahead.extend(children(pid));
        }
    }
}

/// The children of every thread of `pid`, from the kernel's own list (`proc(5)`, `CONFIG_PROC_CHILDREN`).
fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let lists = threads
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .filter_map(|word| word.parse().ok())
                .collect::<Vec<u32>>()
        })
        .collect()
}
