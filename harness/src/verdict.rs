//! The outcome of a check, the classes of failure, and the verdict of one scenario: data only.
//!
//! The judge produces these, reporters and controls consume them. Nothing here decides anything.

use serde::{Deserialize, Serialize};

/// What came of one check. Only [`Outcome::Pass`] is a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The expectation held.
    Pass,
    /// The expectation did not hold; the class says how.
    Fail,
    /// The check could not see what it judges: its witness or its evidence was missing.
    Unobserved,
    /// A reviewed list of the agent says that this agent cannot show the clause.
    NotApplicable,
    /// The expectation did not hold, in the way that a reviewed list of the agent foretells.
    Deviates,
}

/// How a check failed. Each has a code, a cause and a remedy (`explain CODE`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// A value was there and was another one.
    WrongValue,
    /// Something that had to be there was not.
    Missing,
    /// Something that must not be there was.
    Leaked,
    /// Something happened more often than it should.
    Duplicate,
    /// The right things happened in another order.
    Order,
    /// A process was still alive after its time.
    NotStopped,
    /// A process ended with another exit status.
    Exit,
    /// A process was ended by a signal.
    Killed,
    /// A gate's fact was not seen within its time.
    StepTimedOut,
    /// The scenario took longer than its limit.
    ScenarioTimedOut,
    /// The whole run took longer than its limit.
    RunTimedOut,
    /// The agent ended or stood still before its first model request.
    NoBoot,
    /// The agent ran without a row it was given.
    NotMounted,
    /// A peer broke its protocol.
    Protocol,
    /// A model request went to another place than the fake.
    Misrouted,
    /// The fake model was asked something that no step answers.
    UnscriptedRequest,
    /// A step of the script was never asked for.
    UnusedStep,
    /// A note is still unread on a session that nobody will read.
    NoteStranded,
    /// A note was consumed where the model could not see it.
    NoteLost,
    /// plumb marked a connection as shared by several agents.
    SharedConnection,
    /// A peer refused what the scenario needed.
    Refused,
    /// The evidence of the check was missing.
    Unobserved,
    /// A reviewed deviation is no longer seen.
    StaleDeviation,
    /// The harness itself broke.
    Harness,
}

impl Class {
    /// Every class, in the order of the documentation.
    pub const ALL: [Self; 24] = [
        Self::WrongValue,
        Self::Missing,
        Self::Leaked,
        Self::Duplicate,
        Self::Order,
        Self::NotStopped,
        Self::Exit,
        Self::Killed,
        Self::StepTimedOut,
        Self::ScenarioTimedOut,
        Self::RunTimedOut,
        Self::NoBoot,
        Self::NotMounted,
        Self::Protocol,
        Self::Misrouted,
        Self::UnscriptedRequest,
        Self::UnusedStep,
        Self::NoteStranded,
        Self::NoteLost,
        Self::SharedConnection,
        Self::Refused,
        Self::Unobserved,
        Self::StaleDeviation,
        Self::Harness,
    ];

    /// The code as it is written in scenario files and reports.
    pub fn code(self) -> String {
        serde_json::to_value(self)
            .ok()
            .and_then(|value| value.as_str().map(str::to_owned))
            .unwrap_or_default()
    }
}

/// One check's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Name of the check within its scenario.
    pub check: String,
    /// Clauses of the contract that the check proves.
    pub clauses: Vec<String>,
    /// What came of it.
    pub outcome: Outcome,
    /// How it failed; absent on a pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// One sentence for each symptom, in the order in which they were found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symptoms: Vec<String>,
    /// Evidence files the check read, relative to the scenario's folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Numbers of the assumptions about plumb that the result rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumes: Vec<String>,
}

/// A check that a control or a deviation turns, and how.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flip {
    /// Name of the check within its scenario.
    pub check: String,
    /// The class with which it must fail.
    pub class: Class,
}

/// Whether a scenario ended as its file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Everything that had to pass passed, and everything that had to fail failed for its reason.
    AsExpected,
    /// Something else happened.
    Unexpected,
}

/// The verdict of one run of one scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Scenario id, with case and control (`plumb/reconnect#red-1`).
    pub scenario: String,
    /// Agent build under test.
    pub build: String,
    /// Title of the scenario, or of its control.
    pub title: String,
    /// Whether it ended as stated.
    pub standing: Standing,
    /// What a control must turn; empty for a plain run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flips: Vec<Flip>,
    /// Why the standing is unexpected, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub surprises: Vec<String>,
    /// Every check, in the order of the file; the built-in ones first.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// Every symptom of every check that did not pass.
    pub fn symptoms(&self) -> Vec<String> {
        self.findings
            .iter()
            .filter(|finding| matches!(finding.outcome, Outcome::Fail | Outcome::Unobserved))
            .flat_map(|finding| {
                let class = finding.class.map(Class::code).unwrap_or_default();
                finding
                    .symptoms
                    .iter()
                    .map(move |symptom| format!("{} [{class}] {symptom}", finding.check))
            })
            .collect()
    }
}
