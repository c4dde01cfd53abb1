//! The end of a scenario: notices as they come, the proof that nothing is left, and the facts that only the end knows.
//!
//! Called by `drive`. It judges nothing.

use super::acts::launch_facts;
use super::progress::{self, Progress};
use super::{GRACE_MS, Live};
use crate::evidence::facts::{End, NamespaceFacts};
use crate::scenario::{Mcp, Start};
use crate::supervise::notice::{Ended, Notice, Outlived, Status};
use crate::supervise::order::Order;

/// Takes one notice of the supervisor.
pub(super) fn heard(live: &mut Live<'_>, progress: &mut Progress, notice: Notice) {
    match notice {
        Notice::Exited { key, status } => {
            let Some(facts) = live.facts.launches.get_mut(&key.0) else {
                let receipt = live.stage.caught.join(format!("{key}.json"));
                let (done, seen) =
                    progress::receipt(&receipt, &live.stage.caught.join(format!("{key}.stderr")));
                progress.performed(done, seen);
                return;
            };
            facts.end = Some(end_of(status));
            progress.exited(&key.0);
        }
        Notice::StartFailed { key, error } => {
            live.facts.broken = Some(format!("`{key}` could not be started: {error}"));
            progress.exited(&key.0);
        }
        Notice::Survivor {
            process,
            parents,
            outlived,
        } => {
            let what = match outlived {
                Outlived::LeaderExit => "everything that was started",
                Outlived::Term => "a TERM",
                Outlived::Supervisor => "its supervisor",
            };
            let chain: Vec<String> = parents.iter().map(|parent| parent.argv.join(" ")).collect();
            live.survivors.push(format!(
                "`{}` (pid {}) outlived {what}; started by {}",
                process.argv.join(" "),
                process.process.pid,
                chain.join(" < ")
            ));
        }
        Notice::Lost { status } => {
            live.facts.broken = Some(format!("the supervisor died: {status:?}"));
        }
        _ => {}
    }
}

pub(super) fn end_of(status: Status) -> End {
    match status {
        Status::Code(code) => End::Code(code),
        Status::Signal { number, .. } => End::Signal(number),
        Status::Unknown => End::Code(-1),
    }
}

/// Ends everything that is left, and waits for the proof.
pub(super) async fn end(live: &mut Live<'_>) -> Option<Ended> {
    if live
        .supervisor
        .order(Order::End { grace_ms: GRACE_MS })
        .is_err()
    {
        return None;
    }
    let mut progress = Progress::new(live.run, Vec::new(), 0);
    loop {
        match live.supervisor.next().await.map(|said| said.notice) {
            None => return None,
            Some(Notice::Ended(ended)) => return Some(ended),
            Some(notice) => heard(live, &mut progress, notice),
        }
    }
}

/// Completes the facts with what the end brought.
pub(super) fn close_facts(live: &mut Live<'_>, ended: Option<Ended>) {
    live.facts.survivors = std::mem::take(&mut live.survivors);
    for (name, launch) in &live.run.launches {
        if launch.start == Some(Start::InBash)
            && let (Some(start), Some(place)) =
                (live.starts.get(name), live.stage.launches.get(name))
            && let Ok(code) = std::fs::read_to_string(place.out.join("exit"))
        {
            let mut facts = launch_facts(live.run, name, start, place);
            facts.end = code.trim().parse().ok().map(End::Code);
            live.facts.launches.insert(name.clone(), facts);
        }
    }
    for launch in live.facts.launches.values() {
        for (key, value) in &launch.env {
            if crate::judge::is_managed(key) && key != "DSH_HOME" {
                live.facts.planted.insert(key.clone(), value.clone());
            }
        }
    }
    let mcp = live
        .run
        .launches
        .values()
        .any(|launch| launch.mcp.is_some_and(|mcp| mcp != Mcp::None));
    match ended {
        Some(ended) => {
            live.facts.empty = ended.empty;
            live.facts.cpu_us = ended.usage.user_us + ended.usage.sys_us;
            if mcp {
                live.facts.namespace = live.namespace.as_ref().map(|(id, _)| {
                    let release = ended.namespaces.iter().find(|release| release.id == *id);
                    NamespaceFacts {
                        id: id.clone(),
                        revoked: release.is_some_and(|release| release.revoked),
                        detail: release.map_or("its release was never tried".to_owned(), |one| {
                            one.detail.clone()
                        }),
                    }
                });
            }
        }
        None => {
            live.facts
                .broken
                .get_or_insert_with(|| "the supervisor ended without a word".to_owned());
        }
    }
}
