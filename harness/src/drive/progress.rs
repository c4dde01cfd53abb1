//! Where a run stands on its timeline: plain data, asked what to do next and told what has happened.

use std::path::Path;

use serde_json::Value;
use tokio::time::Instant;

use super::fact::Look;
use crate::evidence::facts::ActionFacts;
use crate::plan::{Action, Run, gate};
use crate::scenario::{Gate, Step};
use crate::supervise::order::Signal;

/// What is to be done next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Do {
    /// Open this gate of the model.
    Open {
        /// Its name.
        gate: String,
    },
    /// Do this step; it is known under this key.
    Perform {
        /// The step.
        step: Box<Step>,
        /// The key.
        key: String,
    },
    /// End a launch that passed its limit.
    Kill {
        /// The launch.
        launch: String,
    },
    /// Wait for something to happen.
    Wait,
    /// Nothing is left to be done.
    Finish,
}

/// Where a run stands.
#[derive(Debug)]
pub(super) struct Progress {
    actions: Vec<Action>,
    at: usize,
    state: State,
    replied: usize,
    replies: usize,
    running: Vec<(String, Option<Instant>)>,
    ended: Vec<String>,
    limits: Vec<(String, std::time::Duration)>,
    done: Vec<ActionFacts>,
    failed: bool,
    seen: String,
    overdue: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The action has not begun.
    Before,
    /// A gate is looking.
    Looking(Instant),
    /// A step is being done.
    Doing,
    /// The action is done and its gate is to be opened.
    Done,
}

impl Progress {
    pub(super) fn new(run: &Run, actions: Vec<Action>, replies: usize) -> Self {
        let limits = run
            .launches
            .iter()
            .filter_map(|(name, launch)| Some((name.clone(), launch.limit?)))
            .collect();
        Self {
            actions,
            at: 0,
            state: State::Before,
            replied: 0,
            replies,
            running: Vec::new(),
            ended: Vec::new(),
            limits,
            done: Vec::new(),
            failed: false,
            seen: String::new(),
            overdue: None,
        }
    }

    /// A launch was started.
    pub(super) fn started(&mut self, launch: &str) {
        let limit = self
            .limits
            .iter()
            .find(|(name, _)| name == launch)
            .map(|(_, limit)| Instant::now() + *limit);
        self.running.push((launch.to_owned(), limit));
    }

    /// A launch has ended.
    pub(super) fn exited(&mut self, launch: &str) {
        self.running.retain(|(name, _)| name != launch);
        self.ended.push(launch.to_owned());
    }

    /// Launches that have ended.
    pub(super) fn ended(&self) -> &[String] {
        &self.ended
    }

    /// Launches that still run.
    pub(super) fn running(&self) -> impl Iterator<Item = &String> {
        self.running.iter().map(|(name, _)| name)
    }

    /// The model has written an event.
    pub(super) fn model(&mut self, event: &Value) {
        let scripted = event
            .get("session")
            .is_some_and(|session| !session.is_null());
        if event.get("event").and_then(Value::as_str) == Some("replied") && scripted {
            self.replied += 1;
        }
    }

    /// Whether a gate is open to its fact.
    pub(super) fn is_looking(&self) -> bool {
        matches!(self.state, State::Looking(_))
    }

    /// The next moment at which something is overdue.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let gate = match self.state {
            State::Looking(deadline) => Some(deadline),
            _ => None,
        };
        self.running
            .iter()
            .filter_map(|(_, limit)| *limit)
            .chain(gate)
            .min()
    }

    /// A deadline has passed.
    pub(super) fn late(&mut self, now: Instant) {
        if let Some((name, limit)) = self
            .running
            .iter_mut()
            .find(|(_, limit)| limit.is_some_and(|limit| limit <= now))
        {
            self.overdue = Some(name.clone());
            *limit = None;
        }
        if let State::Looking(deadline) = self.state
            && deadline <= now
        {
            let seen = format!("not seen in time; last: {}", self.seen);
            self.performed(false, seen);
        }
    }

    /// An action was done, or could not be.
    pub(super) fn performed(&mut self, done: bool, seen: String) {
        let Some(action) = self.actions.get(self.at) else {
            return;
        };
        self.done.push(ActionFacts {
            idx: action.idx,
            what: words(&action.step),
            done,
            seen,
        });
        self.failed |= !done;
        self.state = State::Done;
    }

    /// What is to be done next; `look` looks for a gate's fact.
    pub(super) fn next(&mut self, look: &dyn Fn(&Gate) -> Look) -> Do {
        if let Some(launch) = self.overdue.take() {
            return Do::Kill { launch };
        }
        if self.failed {
            return Do::Finish;
        }
        let Some(action) = self.actions.get(self.at).cloned() else {
            return if self.running.is_empty() {
                Do::Finish
            } else {
                Do::Wait
            };
        };
        match self.state {
            State::Done => {
                self.at += 1;
                self.state = State::Before;
                Do::Open {
                    gate: gate(action.idx),
                }
            }
            State::Doing => Do::Wait,
            State::Before if self.replied < action.after => {
                if self.running.is_empty() {
                    let seen = format!(
                        "everything has ended after {} of {} replies, {} were to come before",
                        self.replied, self.replies, action.after
                    );
                    self.performed(false, seen);
                    return Do::Finish;
                }
                Do::Wait
            }
            State::Before => {
                if let Step::Gate(gate) = &action.step {
                    self.state = State::Looking(Instant::now() + gate.within);
                    return self.look(gate, look);
                }
                self.state = State::Doing;
                Do::Perform {
                    step: Box::new(action.step),
                    key: format!("step-{}", action.idx),
                }
            }
            State::Looking(_) => match &action.step {
                Step::Gate(gate) => self.look(gate, look),
                _ => Do::Wait,
            },
        }
    }

    /// Everything that was done or could not be.
    pub(super) fn into_actions(self) -> Vec<ActionFacts> {
        self.done
    }

    fn look(&mut self, gate: &Gate, look: &dyn Fn(&Gate) -> Look) -> Do {
        match look(gate) {
            Look::Seen(seen) => {
                self.performed(true, seen);
                self.next(look)
            }
            Look::NotYet(seen) => {
                self.seen = seen;
                Do::Wait
            }
        }
    }
}

/// A step in words.
fn words(step: &Step) -> String {
    match step {
        Step::Gate(gate) => {
            let fact = serde_json::to_value(gate.until).unwrap_or_default();
            let of = gate.of.as_deref().unwrap_or("main");
            format!("gate {} of `{of}`", fact.as_str().unwrap_or_default())
        }
        Step::Note(note) => format!("note `{}`", note.text),
        Step::Start(named) => format!("start `{}`", named.launch),
        Step::Open(open) => format!("open `{}`", open.hold),
        Step::Signal(signal) => format!("signal {} to `{}`", signal.name, signal.launch),
        Step::Model(_) => "a reply of the model".to_owned(),
    }
}

/// A signal by its name.
pub(super) fn signal_of(name: &str) -> Option<Signal> {
    serde_json::from_value(Value::String(name.to_lowercase())).ok()
}

/// What the sender of a note brought back.
pub(super) fn receipt(file: &Path, stderr: &Path) -> (bool, String) {
    match std::fs::read_to_string(file)
        .ok()
        .and_then(|text| serde_json::from_str::<Value>(&text).ok())
    {
        Some(receipt) => {
            let text = receipt
                .get("text")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned();
            (receipt.get("declined") == Some(&Value::Bool(false)), text)
        }
        None => (
            false,
            std::fs::read_to_string(stderr)
                .unwrap_or_default()
                .trim()
                .to_owned(),
        ),
    }
}
