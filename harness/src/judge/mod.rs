//! From evidence to a verdict. Pure: nothing is run, nothing is read but the evidence in hand, so a
//! verdict can be had again from the folder alone, byte for byte.

mod built_in;
mod calls;
mod carried;
mod context;
mod controls;
mod deviation;
mod environment;
mod header;
mod hook;
mod kept;
mod log;
mod model;
mod outcome;
mod plumb;
mod tool;
#[cfg(test)]
mod wires;

use context::Judged;
pub use context::Reading;
pub use environment::is_managed;
pub(crate) use plumb::is_minted_for;
pub use tool::pretty;

use crate::agent::dsh::reviewed::Deviation;
use crate::evidence::Evidence;
use crate::plan::Run;
use crate::scenario::Expect;
use crate::verdict::{Class, Finding, Outcome, Verdict};

/// Checks that every scenario has without stating them.
pub const BUILT_IN: [&str; 11] = [
    "exit",
    "boot",
    "mounted",
    "script",
    "route",
    "timeline",
    "empty",
    "kept",
    "namespace",
    "carried",
    "canaries",
];

/// The clauses that they prove.
pub const BUILT_IN_CLAUSES: [(&str, &[&str]); 11] = [
    ("exit", &["RUN-8"]),
    ("boot", &["RUN-8"]),
    ("mounted", &["RUN-8"]),
    ("script", &["RUN-13"]),
    ("route", &["RUN-13"]),
    ("timeline", &["RUN-8"]),
    ("empty", &["RUN-7"]),
    ("kept", &["RUN-3", "RUN-13"]),
    ("namespace", &["RUN-3", "RUN-5"]),
    ("carried", &["PLUG-14"]),
    ("canaries", &["ENV-8"]),
];

/// A clause that a build cannot show, with the reviewed reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotApplicable {
    /// The clause.
    pub clause: String,
    /// Why.
    pub reason: String,
}

/// What the judge has to know of the build beside the evidence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BuildFacts {
    /// Managed variables that the build sets beyond the contract's.
    pub further_variables: Vec<String>,
    /// Texts on standard error that say that a row is not there.
    pub boot_warnings: Vec<String>,
    /// The pinned definition of each tool, as pretty JSON.
    pub tool_pins: std::collections::BTreeMap<String, String>,
    /// The pinned set of event types of a bash turn.
    pub event_types: Vec<String>,
    /// Types of rows that pack others, and may be there.
    pub packed_types: Vec<String>,
    /// The variable that gives it the model's key.
    pub key_var: String,
    /// Clauses that the build cannot show.
    pub not_applicable: Vec<NotApplicable>,
    /// Clauses that the build is known to break.
    pub deviations: Vec<Deviation>,
    /// Where the pins stand in this project.
    pub pinned_at: String,
}

impl BuildFacts {
    /// What the folder of a build says.
    pub fn of(build: &crate::agent::dsh::Build) -> Self {
        let contract = [
            "DSH_HOME",
            "DSH_SHELL",
            "DSH_SESSION_ID",
            "DSH_SESSION_JSONL",
        ];
        let facts = &build.facts;
        let pin = &facts.tools.bash_pin;
        let mut tool_pins = std::collections::BTreeMap::new();
        if let Some(text) = build.file(pin) {
            tool_pins.insert(
                facts.tools.bash.name.clone(),
                String::from_utf8_lossy(text).into_owned(),
            );
        }
        Self {
            further_variables: facts
                .child
                .with_agent
                .iter()
                .filter(|name| !contract.contains(&name.as_str()))
                .cloned()
                .collect(),
            boot_warnings: facts.boot.warnings.clone(),
            tool_pins,
            event_types: facts.log.event_types.clone(),
            packed_types: facts.log.packed_types.clone(),
            key_var: build.profile.key_var.clone(),
            not_applicable: build
                .not_applicable
                .iter()
                .map(|one| NotApplicable {
                    clause: one.id.clone(),
                    reason: one.reason.clone(),
                })
                .collect(),
            deviations: build.deviations.clone(),
            pinned_at: format!("agents/dsh/{}/{pin}", build.name()),
        }
    }
}

/// Judges one run.
pub fn judge(run: &Run, evidence: &Evidence, build: &BuildFacts) -> Verdict {
    let reading = Reading::new(run, evidence, build);
    let mut findings = built_in::findings(&reading);
    for expect in &run.expects {
        findings.push(finding(expect, &reading));
    }
    let (standing, surprises) = controls::weigh(run, &findings);
    Verdict {
        scenario: run.id.to_string(),
        build: run.build.clone(),
        title: run.title.clone(),
        standing,
        flips: run.flips.clone(),
        surprises,
        findings,
    }
}

fn finding(expect: &Expect, reading: &Reading<'_>) -> Finding {
    let reasons: Vec<String> = reading
        .build
        .not_applicable
        .iter()
        .filter(|one| expect.clause.contains(&one.clause))
        .map(|one| format!("{}: {}", one.clause, one.reason))
        .collect();
    if reasons.len() == expect.clause.len() {
        return not_applicable(expect, reasons);
    }
    if reading.evidence.facts.untapped && needs_tap(expect) {
        let why = "plumb's frames were not written down, as the run was asked".to_owned();
        return not_applicable(expect, vec![why]);
    }
    let finding = judged(&expect.check, &expect.clause, one(expect, reading));
    let check = format!("{}:{}", reading.run.id.scenario, expect.check);
    deviation::weigh(finding, &check, &reading.build.deviations)
}

/// Whether the expectation is about plumb's wires and not about what plumb recorded.
fn needs_tap(expect: &Expect) -> bool {
    let answered = expect.result.as_ref().is_some_and(|one| one.as_answered);
    expect.mcp.is_some() || expect.hook.is_some() || expect.secrets.is_some() || answered
}

fn not_applicable(expect: &Expect, reasons: Vec<String>) -> Finding {
    Finding {
        check: expect.check.clone(),
        clauses: expect.clause.clone(),
        outcome: Outcome::NotApplicable,
        class: None,
        symptoms: reasons,
        read: Vec::new(),
        assumes: Vec::new(),
    }
}

/// Judges the one kind that the expectation states.
fn one(expect: &Expect, reading: &Reading<'_>) -> Judged {
    if let Some(wanted) = &expect.environment {
        environment::environment(wanted, reading)
    } else if let Some(wanted) = &expect.absent {
        environment::absent(wanted, reading)
    } else if let Some(wanted) = &expect.compare {
        environment::compare(wanted, reading)
    } else if let Some(wanted) = &expect.overlap {
        environment::overlap(wanted, reading)
    } else if let Some(wanted) = &expect.header {
        header::header(wanted, reading)
    } else if let Some(wanted) = &expect.logged_tools {
        log::tools(wanted, reading)
    } else if let Some(wanted) = &expect.logged_results {
        log::results(wanted, reading)
    } else if let Some(wanted) = &expect.logged_events {
        log::events(wanted, reading)
    } else if let Some(wanted) = &expect.outcome {
        outcome::outcome(wanted, reading)
    } else if let Some(wanted) = &expect.tool_pin {
        tool::pin(wanted, reading)
    } else if let Some(wanted) = &expect.tool_words {
        tool::words(wanted, reading)
    } else if let Some(wanted) = &expect.system_prompt {
        model::system_prompt(wanted, reading)
    } else if let Some(wanted) = &expect.model_saw {
        model::saw(wanted, reading)
    } else if let Some(wanted) = &expect.result {
        model::result(wanted, reading)
    } else if let Some(wanted) = &expect.warnings {
        model::warnings(wanted, reading)
    } else if let Some(wanted) = &expect.records {
        plumb::records(wanted, reading)
    } else if let Some(wanted) = &expect.declared {
        plumb::declared(wanted, reading)
    } else if let Some(wanted) = &expect.mcp {
        calls::calls(wanted, reading)
    } else if let Some(wanted) = &expect.effects {
        plumb::effects(wanted, reading)
    } else if let Some(wanted) = &expect.log {
        plumb::log(wanted, reading)
    } else if let Some(wanted) = &expect.pins {
        plumb::pins(wanted, reading)
    } else if let Some(wanted) = &expect.hook {
        hook::hook(wanted, reading)
    } else if let Some(wanted) = &expect.secrets {
        hook::secrets(wanted, reading)
    } else {
        Judged::unobserved("the expectation states nothing")
    }
}

fn judged(check: &str, clauses: &[String], judged: Judged) -> Finding {
    let (outcome, class, symptoms) = match (judged.unobserved, judged.symptoms) {
        (Some(why), _) => (Outcome::Unobserved, Some(Class::Unobserved), vec![why]),
        (None, symptoms) if symptoms.is_empty() => (Outcome::Pass, None, Vec::new()),
        (None, symptoms) => (
            Outcome::Fail,
            symptoms.first().map(|(class, _)| *class),
            symptoms.into_iter().map(|(_, text)| text).collect(),
        ),
    };
    Finding {
        check: check.to_owned(),
        clauses: clauses.to_vec(),
        outcome,
        class,
        symptoms,
        read: judged.read,
        assumes: judged.assumes,
    }
}
