//! What a host run left behind, as data: two fingerprints of the owner's plumb held against each other.
//!
//! Called at the end of a host run. Pure. What can be traced to the run and lies outside its own namespaces is a
//! fault; what cannot be traced to it is listed as the owner's, though a serve's first bare dial leaves a record that
//! names nobody (measured).

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::supervise::process::ProcessId;

/// The owner's plumb at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fingerprint {
    /// The daemon: PID and start time.
    pub daemon: Option<ProcessId>,
    /// The inode of its socket.
    pub socket: Option<u64>,
    /// Its session records, by file name.
    pub records: BTreeMap<String, Mark>,
    /// The namespaces that it lists: id and state.
    pub namespaces: BTreeMap<String, String>,
}

/// What is kept of one record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mark {
    /// The namespace that it names.
    pub namespace: String,
    /// The id that it declared.
    pub external_id: String,
    /// The folder that it is attached to.
    pub folder: String,
    /// Whether the connection has ended.
    pub phase: Phase,
}

/// Whether a connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Not yet.
    #[default]
    Live,
    /// It has.
    Ended,
}

/// What the run knows of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Run {
    /// The daemon that the owner named.
    pub named: u32,
    /// The namespaces that it made.
    pub namespaces: BTreeSet<String>,
    /// The folders below which its scenarios lived.
    pub roots: Vec<String>,
    /// The states in which a namespace is dead.
    pub dead: Vec<String>,
}

/// What came of the comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Certificate {
    /// The daemon that the owner named.
    pub daemon: u32,
    /// Namespaces that the run made.
    pub namespaces: usize,
    /// Ended records within those namespaces, which plumb keeps for a day.
    pub records: usize,
    /// What the run left that it must not leave.
    pub faults: Vec<String>,
    /// What else changed meanwhile: the owner's own doing, and bare dials.
    pub owners: Vec<String>,
}

impl Certificate {
    /// Whether nothing was left that must not be.
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }

    /// The certificate in at most ten lines.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!(
                "host daemon PID {}: {}",
                self.daemon,
                if self.is_clean() {
                    "left as it was found"
                } else {
                    "CHANGED"
                }
            ),
            format!(
                "made and revoked: {} namespaces; ended records within them, kept by plumb for a day: {}",
                self.namespaces, self.records
            ),
        ];
        lines.extend(some(&self.faults, "left behind"));
        lines.extend(some(&self.owners, "not traced to the run"));
        lines
    }
}

/// At most four lines of `all`.
fn some(all: &[String], title: &str) -> Vec<String> {
    let shown = if all.len() > 4 { 3 } else { 4 };
    let mut lines: Vec<String> = all
        .iter()
        .take(shown)
        .map(|one| format!("{title}: {one}"))
        .collect();
    if all.len() > shown {
        lines.push(format!("{title}: and {} more", all.len() - shown));
    }
    lines
}

/// Holds the two against each other.
pub fn certify(before: &Fingerprint, after: &Fingerprint, run: &Run) -> Certificate {
    let mut certificate = Certificate {
        daemon: run.named,
        namespaces: run.namespaces.len(),
        records: 0,
        faults: Vec::new(),
        owners: Vec::new(),
    };
    machine(before, after, &mut certificate);
    namespaces(before, after, run, &mut certificate);
    records(before, after, run, &mut certificate);
    certificate
}

fn machine(before: &Fingerprint, after: &Fingerprint, to: &mut Certificate) {
    let shown = |id: Option<ProcessId>| {
        id.map_or("none".to_owned(), |id| {
            format!("PID {} of tick {}", id.pid, id.start)
        })
    };
    if before.daemon.is_none() || before.daemon != after.daemon {
        to.faults.push(format!(
            "the daemon was {}, is {}",
            shown(before.daemon),
            shown(after.daemon)
        ));
    }
    let shown =
        |inode: Option<u64>| inode.map_or("no socket".to_owned(), |inode| format!("inode {inode}"));
    if before.socket.is_none() || before.socket != after.socket {
        to.faults.push(format!(
            "its socket was {}, is {}",
            shown(before.socket),
            shown(after.socket)
        ));
    }
}

fn namespaces(before: &Fingerprint, after: &Fingerprint, run: &Run, to: &mut Certificate) {
    for id in &run.namespaces {
        match after.namespaces.get(id) {
            Some(state) if run.dead.contains(state) => {}
            Some(state) => to.faults.push(format!("namespace {id} is {state}")),
            None => to.faults.push(format!(
                "namespace {id} is not listed, so not shown revoked"
            )),
        }
    }
    for id in before
        .namespaces
        .keys()
        .chain(after.namespaces.keys())
        .collect::<BTreeSet<_>>()
    {
        let (was, is) = (before.namespaces.get(id), after.namespaces.get(id));
        if was != is && !run.namespaces.contains(id) {
            to.owners
                .push(format!("namespace {id} was {}, is {}", word(was), word(is)));
        }
    }
}

fn records(before: &Fingerprint, after: &Fingerprint, run: &Run, to: &mut Certificate) {
    let within = |mark: &Mark| run.namespaces.contains(&mark.namespace);
    let minted: BTreeSet<&str> = after
        .records
        .values()
        .filter(|mark| within(mark))
        .map(|mark| mark.external_id.as_str())
        .filter(|id| !id.is_empty())
        .collect();
    for name in before
        .records
        .keys()
        .chain(after.records.keys())
        .collect::<BTreeSet<_>>()
    {
        let (was, is) = (before.records.get(name), after.records.get(name));
        if was == is {
            continue;
        }
        let Some(mark) = is else {
            to.owners.push(format!("record {name} is gone"));
            continue;
        };
        let changed = if was.is_some() {
            "was changed"
        } else {
            "is new"
        };
        let below = run
            .roots
            .iter()
            .any(|root| std::path::Path::new(&mark.folder).starts_with(root));
        match (within(mark), mark.phase) {
            (true, Phase::Ended) => to.records += 1,
            (true, Phase::Live) => to.faults.push(format!(
                "record {name} of namespace {} is live",
                mark.namespace
            )),
            (false, _) if below => to.faults.push(format!(
                "record {name} {changed}, of the run's folder {}",
                mark.folder
            )),
            (false, _) if minted.contains(mark.external_id.as_str()) => {
                to.faults.push(format!(
                    "record {name} {changed}, with the run's id {}",
                    mark.external_id
                ));
            }
            (false, _) => to.owners.push(format!("record {name} {changed}")),
        }
    }
}

fn word(state: Option<&String>) -> &str {
    state.map_or("not listed", String::as_str)
}

#[cfg(test)]
mod tests;
