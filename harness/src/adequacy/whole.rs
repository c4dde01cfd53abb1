//! Changes of whole parts: a file, a process or a line that is gone, doubled, in another order, or where it was not.
//!
//! Pure; called by the survey, beside the changes inside a part.

use crate::evidence::Evidence;
use crate::evidence::facts::ActionFacts;
use crate::evidence::model::ModelEvent;
use crate::judge::BuildFacts;

use super::change::Change;

/// Events of the model's journal that green evidence has none of.
const TROUBLE: [&str; 5] = [
    "unmatched",
    "tool-drift",
    "capture-miss",
    "violation",
    "unused",
];

/// One changed copy: which files it touches, the sort of part, what was done, and the evidence with it.
pub(super) struct Copy {
    /// What the judge calls the file; empty for all records.
    pub(super) file: String,
    /// The sort of part.
    pub(super) fact: &'static str,
    /// What was done.
    pub(super) change: Change,
    /// The changed evidence.
    pub(super) evidence: Evidence,
}

/// Every change of whole parts.
pub(super) fn copies(evidence: &Evidence, build: &BuildFacts) -> Vec<Copy> {
    let mut all = Copies {
        base: evidence,
        found: Vec::new(),
    };
    all.maps();
    all.lists();
    all.appeared(build);
    all.found
}

struct Copies<'a> {
    base: &'a Evidence,
    found: Vec<Copy>,
}

impl Copies<'_> {
    fn add(
        &mut self,
        file: impl Into<String>,
        fact: &'static str,
        change: Change,
        with: impl FnOnce(&mut Evidence),
    ) {
        let mut evidence = self.base.clone();
        with(&mut evidence);
        self.found.push(Copy {
            file: file.into(),
            fact,
            change,
            evidence,
        });
    }

    fn maps(&mut self) {
        let base = self.base;
        for (name, probe) in &base.probes {
            self.add(&probe.file, "probe", Change::Removed, |one| {
                one.probes.remove(name);
            });
            for (other, theirs) in base.probes.iter().filter(|(other, _)| *other > name) {
                for file in [&probe.file, &theirs.file] {
                    self.add(file, "probe", Change::Swapped, |one| {
                        one.probes.insert(name.clone(), theirs.clone());
                        one.probes.insert(other.clone(), probe.clone());
                    });
                }
            }
            for (variable, value) in &base.facts.planted {
                self.add(&probe.file, "probe/entries", Change::Appeared, |one| {
                    let entry = (variable.clone(), value.clone());
                    if let Some(probe) = one.probes.get_mut(name) {
                        probe.entries.push(entry);
                    }
                });
            }
        }
        for (name, hold) in &base.holds {
            let file = format!("holds/{name}.json");
            self.add(&file, "hold", Change::Removed, |one| {
                one.holds.remove(name);
            });
            for theirs in base.holds.values().filter(|theirs| *theirs != hold) {
                self.add(&file, "hold", Change::Swapped, |one| {
                    one.holds.insert(name.clone(), *theirs);
                });
            }
        }
        for launch in base.outcomes.keys() {
            let file = format!("launch/{launch}/outcomes.jsonl");
            self.add(file, "outcomes", Change::Removed, |one| {
                one.outcomes.remove(launch);
            });
        }
    }

    fn lists(&mut self) {
        let base = self.base;
        for (at, log) in base.sessions.iter().enumerate() {
            self.add(&log.file, "session", Change::Removed, |one| {
                one.sessions.remove(at);
            });
            self.add(&log.file, "session", Change::Doubled, |one| {
                one.sessions.push(log.clone());
            });
        }
        let journal = "model.jsonl";
        self.add(journal, "model", Change::Emptied, |one| one.model.clear());
        for (at, event) in base.model.iter().enumerate() {
            self.add(journal, "model", Change::Removed, |one| {
                one.model.remove(at);
            });
            self.add(journal, "model", Change::Doubled, |one| {
                one.model.insert(at, event.clone());
            });
            if at + 1 < base.model.len() {
                self.add(journal, "model", Change::Reordered, |one| {
                    one.model.swap(at, at + 1);
                });
            }
        }
        let records = "records/";
        self.add(records, "record", Change::Emptied, |one| {
            one.records.clear();
        });
        for (at, record) in base.records.iter().enumerate() {
            self.add(records, "record", Change::Removed, |one| {
                one.records.remove(at);
            });
            self.add(records, "record", Change::Doubled, |one| {
                one.records.push(record.clone());
            });
        }
        for (at, tap) in base.taps.iter().enumerate() {
            self.add(&tap.file, "tap", Change::Removed, |one| {
                one.taps.remove(at);
            });
            self.add(&tap.file, "tap", Change::Doubled, |one| {
                one.taps.push(tap.clone());
            });
        }
    }

    /// What green evidence has none of.
    fn appeared(&mut self, build: &BuildFacts) {
        let base = self.base;
        if let Some(record) = base.records.first() {
            self.add("records/", "outside", Change::Appeared, |one| {
                one.outside.push(record.clone());
            });
        }
        for kind in TROUBLE {
            self.add("model.jsonl", "model", Change::Appeared, |one| {
                let event = serde_json::json!({ "event": kind });
                one.model.push(ModelEvent(event));
            });
        }
        self.add("facts.json", "facts/actions", Change::Appeared, |one| {
            one.facts.actions.push(ActionFacts {
                idx: one.facts.actions.len(),
                what: "an action".to_owned(),
                done: true,
                seen: String::new(),
            });
        });
        self.add("records/", "torn-records", Change::Appeared, |one| {
            one.torn_records.push("torn".to_owned());
        });
        for launch in base.stderr.keys() {
            for warning in &build.boot_warnings {
                let file = format!("launch/{launch}/stderr");
                self.add(file, "stderr", Change::Appeared, |one| {
                    let said = one.stderr.entry(launch.clone()).or_default();
                    said.push_str(warning);
                });
            }
        }
    }
}
