//! Evidence in parts: one file, one line of a journal or one process each, as JSON that can be changed and put back.
//!
//! Called by the survey. It must never judge, and never let a part through that the evidence's own types refuse.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::evidence::Evidence;

/// One part of the evidence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// What the harness itself knows.
    Facts,
    /// What one command saw.
    Probe(String),
    /// When one command held.
    Hold(String),
    /// One session log.
    Session(usize),
    /// One event of the model's journal.
    Model(usize),
    /// One record of plumb.
    Record(usize),
    /// One plumb process.
    Tap(usize),
    /// plumb's ledger of effects.
    Ledger,
    /// plumb's table of pins.
    Pins,
    /// The daemon's log.
    Log,
    /// Counted commands.
    Counted,
    /// What a launch wrote to its standard error.
    Stderr(String),
    /// What the driver of a launch did.
    Outcomes(String),
}

impl Part {
    /// Every part that the evidence has.
    pub(super) fn all(evidence: &Evidence) -> Vec<Self> {
        let mut parts = vec![Self::Facts];
        parts.extend(evidence.probes.keys().cloned().map(Self::Probe));
        parts.extend(evidence.holds.keys().cloned().map(Self::Hold));
        parts.extend((0..evidence.sessions.len()).map(Self::Session));
        parts.extend((0..evidence.model.len()).map(Self::Model));
        parts.extend((0..evidence.records.len()).map(Self::Record));
        parts.extend((0..evidence.taps.len()).map(Self::Tap));
        parts.extend(evidence.ledger.is_some().then_some(Self::Ledger));
        parts.extend(evidence.pins.is_some().then_some(Self::Pins));
        parts.push(Self::Log);
        parts.push(Self::Counted);
        parts.extend(evidence.stderr.keys().cloned().map(Self::Stderr));
        parts.extend(evidence.outcomes.keys().cloned().map(Self::Outcomes));
        parts
    }

    /// The sort of part, as facts are named by it; an event of the model's journal by its kind.
    pub(super) fn sort(&self, evidence: &Evidence) -> String {
        match self {
            Self::Facts => "facts".to_owned(),
            Self::Probe(_) => "probe".to_owned(),
            Self::Hold(_) => "hold".to_owned(),
            Self::Session(_) => "session".to_owned(),
            Self::Model(at) => {
                let kind = evidence.model.get(*at).map_or("", |event| event.kind());
                format!("model.{kind}")
            }
            Self::Record(_) => "record".to_owned(),
            Self::Tap(_) => "tap".to_owned(),
            Self::Ledger => "effects".to_owned(),
            Self::Pins => "pins".to_owned(),
            Self::Log => "daemon-log".to_owned(),
            Self::Counted => "counted".to_owned(),
            Self::Stderr(_) => "stderr".to_owned(),
            Self::Outcomes(_) => "outcomes".to_owned(),
        }
    }

    /// Whether the judge means this part when it says that it read the file.
    pub(super) fn is_of(&self, file: &str, evidence: &Evidence) -> bool {
        match self {
            Self::Facts => file == "facts.json",
            Self::Probe(name) => evidence
                .probes
                .get(name)
                .is_some_and(|one| one.file == file),
            Self::Hold(name) => file == format!("holds/{name}.json"),
            Self::Session(at) => evidence
                .sessions
                .get(*at)
                .is_some_and(|one| one.file == file),
            Self::Model(_) => file == "model.jsonl",
            Self::Record(_) => file.starts_with("records/"),
            Self::Tap(at) => evidence.taps.get(*at).is_some_and(|one| one.file == file),
            Self::Ledger => file == "effects.jsonl",
            Self::Pins => file == "pins.json",
            Self::Log => file == "daemon.log",
            Self::Counted => file == "counted.jsonl",
            Self::Stderr(launch) => file == format!("launch/{launch}/stderr"),
            Self::Outcomes(launch) => file == format!("launch/{launch}/outcomes.jsonl"),
        }
    }

    /// The part as JSON.
    pub(super) fn value(&self, evidence: &Evidence) -> Value {
        match self {
            Self::Facts => json(&evidence.facts),
            Self::Probe(name) => json(&evidence.probes.get(name)),
            Self::Hold(name) => json(&evidence.holds.get(name)),
            Self::Session(at) => json(&evidence.sessions.get(*at)),
            Self::Model(at) => json(&evidence.model.get(*at)),
            Self::Record(at) => json(&evidence.records.get(*at)),
            Self::Tap(at) => json(&evidence.taps.get(*at)),
            Self::Ledger => json(&evidence.ledger),
            Self::Pins => json(&evidence.pins),
            Self::Log => json(&evidence.log),
            Self::Counted => json(&evidence.counted),
            Self::Stderr(launch) => json(&evidence.stderr.get(launch)),
            Self::Outcomes(launch) => json(&evidence.outcomes.get(launch)),
        }
    }

    /// Puts a changed part in its place; nothing where the types of the evidence refuse it.
    pub(super) fn put(&self, value: Value, evidence: &mut Evidence) -> Option<()> {
        match self {
            Self::Facts => read(value, Some(&mut evidence.facts)),
            Self::Probe(name) => read(value, evidence.probes.get_mut(name)),
            Self::Hold(name) => read(value, evidence.holds.get_mut(name)),
            Self::Session(at) => read(value, evidence.sessions.get_mut(*at)),
            Self::Model(at) => read(value, evidence.model.get_mut(*at)),
            Self::Record(at) => read(value, evidence.records.get_mut(*at)),
            Self::Tap(at) => read(value, evidence.taps.get_mut(*at)),
            Self::Ledger => read(value, Some(&mut evidence.ledger)),
            Self::Pins => read(value, Some(&mut evidence.pins)),
            Self::Log => read(value, Some(&mut evidence.log)),
            Self::Counted => read(value, Some(&mut evidence.counted)),
            Self::Stderr(launch) => read(value, evidence.stderr.get_mut(launch)),
            Self::Outcomes(launch) => read(value, evidence.outcomes.get_mut(launch)),
        }
    }
}

fn json<T: Serialize>(part: &T) -> Value {
    serde_json::to_value(part).unwrap_or(Value::Null)
}

fn read<T: DeserializeOwned>(value: Value, place: Option<&mut T>) -> Option<()> {
    *place? = serde_json::from_value(value).ok()?;
    Some(())
}
