//! What the reports at the end of a run are about: its verdicts, and what went wrong beside them.
//!
//! `run` folds its events into it, `judge` builds it from folders, and every report is a function of it: so all of them
//! say the same.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::event::Event;
use crate::verdict::{Standing, Verdict};

/// A run in retrospect.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Account {
    /// Every scenario that was judged.
    pub judged: Vec<Judged>,
    /// What no scenario's verdict says, and what keeps the run from being as expected.
    pub troubles: Vec<Trouble>,
}

/// One scenario that was judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// How long it took, if that is known.
    pub wall: Option<Duration>,
    /// Its evidence.
    pub folder: PathBuf,
}

/// Something that went wrong beside the verdicts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// The build, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// What it is about: the id of a run, or a part of the report.
    pub about: String,
    /// What went wrong.
    pub what: String,
}

impl Account {
    /// Takes an event of a run.
    pub fn on(&mut self, event: &Event) {
        let (build, about, what) = match event {
            Event::Judged {
                verdict,
                wall_us,
                folder,
                ..
            } => {
                self.judged.push(Judged {
                    verdict: verdict.clone(),
                    wall: Some(Duration::from_micros(*wall_us)),
                    folder: folder.clone(),
                });
                return;
            }
            Event::Broken {
                id, build, what, ..
            } => (
                Some(build.clone()),
                id.clone(),
                format!("the harness broke: {what}"),
            ),
            Event::Review { build, what } => {
                (Some(build.clone()), "deviations".to_owned(), what.clone())
            }
            Event::Stopped { why } => (
                None,
                "run".to_owned(),
                format!("the run was stopped: {why}"),
            ),
            Event::Certificate { certificate } if !certificate.is_clean() => (
                None,
                "certificate".to_owned(),
                "the owner's plumb is not as it was found".to_owned(),
            ),
            _ => return,
        };
        self.troubles.push(Trouble { build, about, what });
    }

    /// The verdicts alone.
    pub fn verdicts(&self) -> impl Iterator<Item = &Verdict> {
        self.judged.iter().map(|judged| &judged.verdict)
    }

    /// The builds, in the order in which they first come.
    pub fn builds(&self) -> Vec<&str> {
        let judged = self.verdicts().map(|verdict| verdict.build.as_str());
        let troubled = self.troubles.iter().filter_map(|one| one.build.as_deref());
        let mut builds = Vec::new();
        for build in judged.chain(troubled) {
            if !builds.contains(&build) {
                builds.push(build);
            }
        }
        builds
    }
}

/// Why a scenario is not as expected: its surprises, which repeat what the checks found. Never empty for one that is not.
pub(super) fn reasons(verdict: &Verdict) -> Vec<String> {
    if verdict.standing == Standing::AsExpected {
        return Vec::new();
    }
    let mut reasons = verdict.surprises.clone();
    if reasons.is_empty() {
        reasons = verdict.symptoms();
    }
    if reasons.is_empty() {
        reasons.push("not as expected".to_owned());
    }
    reasons
}

#[cfg(test)]
pub(super) mod examples {
    //! One account for the tests of every report.

    use super::{Account, Judged, Trouble};
    use crate::verdict::{Class, Finding, Flip, Outcome, Standing, Verdict};

    fn finding(check: &str, outcome: Outcome, class: Option<Class>, symptom: &str) -> Finding {
        Finding {
            check: check.into(),
            clauses: vec!["PLUG-7".into()],
            outcome,
            class,
            symptoms: (!symptom.is_empty())
                .then(|| symptom.to_owned())
                .into_iter()
                .collect(),
            read: Vec::new(),
            assumes: Vec::new(),
        }
    }

    pub(crate) fn judged(scenario: &str, standing: Standing, finding: Finding) -> Judged {
        Judged {
            verdict: Verdict {
                scenario: scenario.into(),
                build: "0.2.1".into(),
                title: "a title".into(),
                standing,
                flips: Vec::new(),
                surprises: Vec::new(),
                findings: vec![finding],
            },
            wall: Some(std::time::Duration::from_millis(2500)),
            folder: "results/0.2.1/x".into(),
        }
    }

    /// One that passes, one that fails with `symptom`, a control, a deviation, and a scenario that could not be driven.
    pub(crate) fn account(symptom: &str) -> Account {
        let pass = || finding("exit", Outcome::Pass, None, "");
        let failed = finding("note", Outcome::Fail, Some(Class::NoteStranded), symptom);
        let deviates = finding("tool", Outcome::Deviates, Some(Class::WrongValue), "known");
        let mut control = judged("plumb/mail#red-1", Standing::AsExpected, pass());
        control.verdict.flips.push(Flip {
            check: "note".into(),
            class: Class::NoteLost,
        });
        Account {
            judged: vec![
                judged("plumb/record", Standing::AsExpected, pass()),
                judged("plumb/reconnect", Standing::Unexpected, failed),
                control,
                judged("env/tool", Standing::AsExpected, deviates),
            ],
            troubles: vec![Trouble {
                build: Some("0.2.1".into()),
                about: "plumb/mail".into(),
                what: "the harness broke: no namespace".into(),
            }],
        }
    }
}
