//! How far one session has come: which bodies got which step, what was sent, which tools came first.
//! Kept by the desk. It is bounded by the script: bodies are kept as digests, never whole; of `tools` the first is kept, one a session.

use sha2::{Digest as _, Sha256};

use crate::echo::{Arrival, Sent};
use crate::event::{Breach, Kind, Law};
use crate::script::{Reply, Step};

/// The identity of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Digest([u8; 32]);

/// The state of one session.
#[derive(Debug, Default)]
pub(super) struct Progress {
    served: Vec<Served>,
    sent: Vec<Sent>,
    /// The first `tools`, as sent, and the names in it.
    tools: Option<(String, Vec<String>)>,
}

/// A step that was served at least once.
#[derive(Debug)]
struct Served {
    body: Digest,
    length: usize,
    attempts: u32,
}

impl Digest {
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl Progress {
    /// How many steps were served.
    pub(super) fn served(&self) -> usize {
        self.served.len()
    }

    /// The step that a body gets: the one it got before, else the next, which may be past the last.
    pub(super) fn due(&self, body: Digest, steps: &[Step]) -> (usize, Kind) {
        let Some(before) = self.served.iter().rposition(|served| served.body == body) else {
            return (self.served.len(), Kind::Main);
        };
        let is_spent = match steps.get(before).map(|step| &step.reply) {
            Some(Reply::Fail(_, Some(times))) => self.served[before].attempts >= times.get(),
            _ => false,
        };
        (
            if is_spent { self.served.len() } else { before },
            Kind::Retry,
        )
    }

    /// Notes that a body got a step.
    pub(super) fn commit(&mut self, step: usize, body: Digest, length: usize) {
        match self.served.get_mut(step) {
            Some(served) => served.attempts += 1,
            None => self.served.push(Served {
                body,
                length,
                attempts: 1,
            }),
        }
    }

    /// The length of the body that got the step before.
    pub(super) fn length_before(&self, step: usize) -> usize {
        step.checked_sub(1)
            .and_then(|before| self.served.get(before))
            .map_or(0, |served| served.length)
    }

    /// The turns sent so far.
    pub(super) fn sent(&self) -> &[Sent] {
        &self.sent
    }

    /// Keeps a turn, unless it is the same step again.
    pub(super) fn keep_sent(&mut self, turn: Sent) {
        if self.sent.last().is_none_or(|last| last.step < turn.step) {
            self.sent.push(turn);
        }
    }

    /// The connection has taken the whole reply of that step.
    pub(super) fn delivered(&mut self, step: usize) {
        let turn = self.sent.iter_mut().find(|turn| turn.step == step);
        if let Some(turn) = turn.filter(|turn| turn.arrival == Arrival::UnderWay) {
            turn.arrival = Arrival::Whole;
        }
    }

    /// The names in the session's first `tools`, if these are the same bytes.
    pub(super) fn tools(&self, sent: &str) -> Option<&[String]> {
        self.tools
            .as_ref()
            .filter(|(first, _)| first == sent)
            .map(|(_, names)| names.as_slice())
    }

    /// Keeps the session's first `tools`.
    pub(super) fn keep_tools(&mut self, sent: &str, names: Vec<String>) {
        self.tools.get_or_insert_with(|| (sent.to_owned(), names));
    }

    /// The breach if `tools` is not what it was first.
    pub(super) fn tools_breach(&self, sent: &str, names: &[String]) -> Option<Breach> {
        let (_, first) = self.tools.as_ref().filter(|(first, _)| first != sent)?;
        let gone: Vec<&String> = first.iter().filter(|name| !names.contains(name)).collect();
        let new: Vec<&String> = names.iter().filter(|name| !first.contains(name)).collect();
        let detail = if gone.is_empty() && new.is_empty() {
            "`tools` has the same names in other words or another order".to_owned()
        } else {
            format!("`tools` has lost {gone:?} and gained {new:?}")
        };
        Some(Breach {
            law: Law::ToolsChanged,
            detail,
        })
    }
}
