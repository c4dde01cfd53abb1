//! What every kind of check works with: the evidence at hand, references resolved, results gathered.

use crate::evidence::session::SessionLog;
use crate::evidence::{Evidence, Probe};
use crate::plan::Run;
use crate::scenario::{Folder, OutcomeAt, Place, Value};
use crate::verdict::Class;

use super::BuildFacts;

/// The evidence of a run, as the checks read it.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// What was to be run.
    pub run: &'a Run,
    /// What happened.
    pub evidence: &'a Evidence,
    /// What is known of the build.
    pub build: &'a BuildFacts,
}

/// What a check came to, before it is a finding.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Judged {
    pub(super) symptoms: Vec<(Class, String)>,
    pub(super) unobserved: Option<String>,
    pub(super) read: Vec<String>,
    pub(super) assumes: Vec<String>,
}

impl Judged {
    pub(super) fn unobserved(why: impl Into<String>) -> Self {
        Self {
            unobserved: Some(why.into()),
            ..Self::default()
        }
    }

    pub(super) fn reading(files: impl IntoIterator<Item = String>) -> Self {
        Self {
            read: files.into_iter().collect(),
            ..Self::default()
        }
    }

    pub(super) fn fail(&mut self, class: Class, symptom: impl Into<String>) {
        self.symptoms.push((class, symptom.into()));
    }
}

/// A value that could not be found in the evidence, and why.
pub(super) type Unseen = String;

/// A resolved value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Resolved {
    Text(String),
    Absent,
    Present,
}

impl<'a> Reading<'a> {
    /// Binds the three together.
    pub fn new(run: &'a Run, evidence: &'a Evidence, build: &'a BuildFacts) -> Self {
        Self {
            run,
            evidence,
            build,
        }
    }

    /// The environment that a probe saw.
    pub(super) fn probe(&self, name: &str) -> Result<&'a Probe, Unseen> {
        self.evidence
            .probes
            .get(name)
            .ok_or_else(|| format!("the probe `{name}` never wrote: its command did not run"))
    }

    /// The log of a session.
    pub(super) fn session(&self, name: &str) -> Result<&'a SessionLog, Unseen> {
        let openings = self.openings();
        let mut logs = self
            .evidence
            .sessions
            .iter()
            .filter(|log| log.name(&openings) == Some(name));
        let log = logs
            .next()
            .ok_or_else(|| format!("no session log holds the conversation `{name}`"))?;
        match logs.next() {
            None => Ok(log),
            Some(other) => Err(format!(
                "two session logs hold the conversation `{name}`: {} and {}",
                log.file, other.file
            )),
        }
    }

    pub(super) fn openings(&self) -> Vec<(String, String)> {
        self.run
            .sessions
            .keys()
            .map(|name| (name.clone(), crate::plan::opening(name)))
            .collect()
    }

    /// The id of a session, from its persisted header, else from the agent's own outcomes.
    pub(super) fn session_id(&self, name: &str) -> Result<String, Unseen> {
        match self.session(name) {
            Ok(log) => log
                .id()
                .map(str::to_owned)
                .ok_or_else(|| format!("the header of `{name}` has no id ({})", log.file)),
            Err(unseen) => self.evidence.outcome_id(name).ok_or(unseen),
        }
    }

    /// What a value refers to.
    pub(super) fn resolve(&self, value: &Value) -> Result<Resolved, Unseen> {
        Ok(match value {
            Value::Is(text) => Resolved::Text(text.clone()),
            Value::Absent(_) => Resolved::Absent,
            Value::Present(_) => Resolved::Present,
            Value::Header(session) => Resolved::Text(self.session_id(session)?),
            Value::Path(place) => Resolved::Text(self.place(place)?),
            Value::Declared(session) => Resolved::Text(super::plumb::declared_id(session, self)?),
            Value::Location(_) if self.evidence.facts.revision == "note" => Resolved::Absent,
            Value::File(session) | Value::Location(session) => {
                Resolved::Text(self.session(session)?.file.clone())
            }
            Value::Outcome(at) => self.outcome(at)?,
            Value::Probe(at) => match self.probe(&at.of)?.get(&at.key) {
                Some(text) => Resolved::Text(text.to_owned()),
                None => Resolved::Absent,
            },
        })
    }

    fn outcome(&self, at: &OutcomeAt) -> Result<Resolved, Unseen> {
        let launch = at.launch.as_deref().unwrap_or("main");
        let found = self
            .evidence
            .outcome(launch, &at.of)
            .ok_or_else(|| format!("the operation `{}` left no outcome", at.of))?;
        if found.get("ok") != Some(&serde_json::Value::Bool(true)) {
            return Err(format!("the operation `{}` failed: {found}", at.of));
        }
        let value = found.get("value").and_then(|value| value.pointer(&at.at));
        Ok(match value {
            None | Some(serde_json::Value::Null) => Resolved::Absent,
            Some(value) => Resolved::Text(super::model::plain(value)),
        })
    }

    fn place(&self, place: &Place) -> Result<String, Unseen> {
        let folder = self.folder(place)?;
        Ok(match &place.below {
            Some(below) => format!("{folder}/{below}"),
            None => folder,
        })
    }

    fn folder(&self, place: &Place) -> Result<String, Unseen> {
        let name = place.launch.as_deref().unwrap_or("main");
        let launch = self
            .evidence
            .facts
            .launches
            .get(name)
            .ok_or_else(|| format!("the launch `{name}` never started"))?;
        match place.what {
            Folder::Home => Ok(launch.home.clone()),
            Folder::Workspace => Ok(launch.workspace.clone()),
            Folder::Elsewhere => Ok(launch.elsewhere.clone()),
            Folder::User => launch
                .env
                .get("HOME")
                .cloned()
                .ok_or_else(|| format!("the launch `{name}` was given no HOME")),
            Folder::ExplicitHome => launch
                .explicit_home
                .clone()
                .ok_or_else(|| format!("the launch `{name}` has no explicit home")),
        }
    }
}

impl Resolved {
    /// How a person reads it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Text(text) => format!("`{text}`"),
            Self::Absent => "nothing".to_owned(),
            Self::Present => "some value".to_owned(),
        }
    }
}
