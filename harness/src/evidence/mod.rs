//! The evidence of one run of one scenario: a folder on the disk, and what can be read from it.
//!
//! [`Folder`] is the one writer: it replaces secrets before anything is written. [`Evidence`] is the
//! one reader, and the judge sees nothing else.

pub mod facts;
mod folder;
pub mod model;
mod read;
pub mod secrets;
pub mod session;
pub mod tap;

use std::collections::BTreeMap;

use serde_json::Value;

pub use folder::{Folder, FolderError};
pub use read::ReadError;

use crate::plumb::daemon_log;
use crate::plumb::records::Record;
use crate::verdict::Class;
use facts::Facts;
use model::{ModelEvent, Request};
use session::SessionLog;
use tap::Tap;

/// Everything that is known of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// What the harness itself knows.
    pub facts: Facts,
    /// Environments that commands saw, by probe.
    pub probes: BTreeMap<String, Probe>,
    /// Times at which commands held, by hold.
    pub holds: BTreeMap<String, Hold>,
    /// The agent's own session logs.
    pub sessions: Vec<SessionLog>,
    /// The fake model's journal.
    pub model: Vec<ModelEvent>,
    /// plumb's records inside the namespace.
    pub records: Vec<Record>,
    /// Records of this run's own clients outside every namespace of the run.
    pub outside: Vec<Record>,
    /// Record files that are no JSON.
    pub torn_records: Vec<String>,
    /// plumb processes, as the tap saw them.
    pub taps: Vec<Tap>,
    /// plumb's ledger of effects, where it keeps one.
    pub ledger: Option<Vec<Value>>,
    /// plumb's table of pinned workspaces, where it has one.
    pub pins: Option<Vec<Pin>>,
    /// Lines of the daemon's log that carry an id of the scenario.
    pub log: Vec<String>,
    /// How often each counted command took effect.
    pub counted: BTreeMap<String, usize>,
    /// Standard errors, by launch.
    pub stderr: BTreeMap<String, String>,
    /// Driver outcomes, by launch.
    pub outcomes: BTreeMap<String, Vec<Value>>,
}

/// What one command saw.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Probe {
    /// The file, relative to the scenario's folder.
    pub file: String,
    /// The environment, in the order given; a name can occur twice.
    pub entries: Vec<(String, String)>,
    /// Its working directory.
    pub cwd: String,
}

impl Probe {
    /// The first value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.entries
            .iter()
            .find(|(entry, _)| entry == name)
            .map(|(_, value)| value.as_str())
    }
}

/// When a command held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Hold {
    /// When it began to wait, in microseconds of the run's clock.
    pub from_us: u64,
    /// When it went on.
    pub to_us: u64,
}

/// A row of plumb's table of pinned workspaces.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Pin {
    /// The logical agent, or nothing for the connection itself.
    pub agent: String,
    /// The folder.
    pub workspace: String,
}

impl Evidence {
    /// The main requests of one session, in order, retries left out.
    pub fn requests(&self, session: &str) -> Vec<Request> {
        self.requests_of(Some(session))
    }

    /// The main requests of one session or of all.
    pub fn requests_of(&self, session: Option<&str>) -> Vec<Request> {
        self.model
            .iter()
            .filter_map(ModelEvent::request)
            .filter(|request| request.kind == "main")
            .filter(|request| session.is_none() || request.session.as_deref() == session)
            .collect()
    }

    /// The outcome of the driver operation labelled `label`.
    pub fn outcome(&self, launch: &str, label: &str) -> Option<&Value> {
        self.outcomes
            .get(launch)?
            .iter()
            .find(|outcome| outcome.get("as").and_then(Value::as_str) == Some(label))
    }

    /// The id that a driver operation gave the session, where no log was kept.
    pub fn outcome_id(&self, session: &str) -> Option<String> {
        self.outcomes
            .values()
            .flatten()
            .filter(|outcome| outcome.get("session").and_then(Value::as_str) == Some(session))
            .find_map(|outcome| outcome.pointer("/value/id")?.as_str().map(str::to_owned))
    }

    /// How many connections the records are: those whose serve ran through the tap and declared, or where no tap ran,
    /// one for each record and one for each resume that the daemon's log tells of.
    ///
    /// A resumed session keeps its record, so one record can stand for several connections.
    pub fn connections(&self, records: &[&Record]) -> usize {
        let is_theirs = |id: &str| records.iter().any(|record| record.external_id() == id);
        let tapped = self
            .taps
            .iter()
            .filter(|tap| tap.is_serve())
            .filter(|tap| tap.declared().iter().any(|id| is_theirs(id)))
            .count();
        if self.taps.is_empty() {
            let ids: Vec<&str> = records.iter().map(|record| record.id()).collect();
            records.len() + daemon_log::resumes(&self.log, &ids)
        } else {
            tapped.max(records.len())
        }
    }

    /// What became of a note that the model did not see, as a class and half a sentence.
    pub fn fate_of_note(&self, text: &str) -> (Option<Class>, String) {
        let quoted = format!("\"{text}\"");
        let claimed = self
            .taps
            .iter()
            .filter(|tap| tap.is_serve())
            .flat_map(Tap::calls)
            .find(|call| call.tool == "session_start" && call.text().contains(&quoted));
        if let Some(call) = claimed
            && call.arguments.get("mail").and_then(Value::as_str) != Some("preview")
        {
            return (
                Some(Class::NoteLost),
                ": it was claimed where the model cannot see it, by a session_start".to_owned(),
            );
        }
        let sent = self
            .facts
            .actions
            .iter()
            .find(|action| action.seen.contains("bound to"));
        match sent {
            Some(action) => {
                let session = action.seen.split("bound to:").nth(1).unwrap_or_default();
                let session = session.split_whitespace().next().unwrap_or("another");
                (
                    Some(Class::NoteStranded),
                    format!(": it is stranded on session {session}"),
                )
            }
            None => (None, String::new()),
        }
    }
}
