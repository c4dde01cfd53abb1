//! A scenario file as types: what a scenario is, read from TOML, with mistakes shown in the file.
//!
//! Called by `plan` and by `check`. Reading is pure: the text goes in, a [`Scenario`] or a
//! diagnostic comes out. Nothing here knows how anything is run.

mod expect;
mod launch;
mod op;
mod step;
mod valid;
mod wire;

use std::collections::BTreeMap;
use std::time::Duration;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceSpan};
use schemars::JsonSchema;
use serde::Deserialize;

pub use expect::{
    Absent, Compare, DriverOutcome, Effects, Environment, Expect, Folder, Header, ModelSaw, Never,
    OutcomeAt, Place, ProbeKey, SessionOnly, SystemPrompt, ToolPin, ToolResult, ToolWords, Value,
    Warnings,
};
pub use launch::{Drive, Finding, Home, Identity, Launch, Mcp, Persistence, Session, Start};
pub use op::Op;
pub use step::{
    Addressee, Call, Collect, Command, Entries, Fact, Gate, Model, Named, Note, Open, Signal, Step,
};
pub use wire::{Calls, Declared, Hook, LogLines, Pins, Records, Secrets};

use crate::verdict::Flip;

/// The format this program reads.
pub const FORMAT: u32 = 1;

/// One scenario, as its file states it.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Its path under the scenarios folder, without the ending: `plumb/reconnect`.
    pub id: String,
    /// What the file says.
    pub file: File,
}

/// What a scenario file says.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The format; 1.
    pub format: u32,
    /// One line.
    pub title: String,
    /// Why the promise matters and how it is shown.
    pub why: String,
    /// The builds that can show it; all when left out.
    pub builds: Option<Vec<String>>,
    /// Processes, by name; `main` is there without being named.
    #[serde(default)]
    pub launch: BTreeMap<String, Launch>,
    /// Conversations, by name; `main` is there without being named.
    #[serde(default)]
    pub session: BTreeMap<String, Session>,
    /// Options of the identity plugin, passed on unchanged.
    #[schemars(with = "Option<step::Anything>")]
    pub plugin: Option<toml::Table>,
    /// Options of the identity plugin that are files in its own folder.
    pub plugin_files: Option<BTreeMap<String, String>>,
    /// How the fake plumb behaves.
    pub plumb: Option<Peer>,
    /// How long the whole scenario may take.
    #[serde(default, deserialize_with = "step::optional_duration")]
    #[schemars(with = "Option<String>")]
    pub limit: Option<Duration>,
    /// The timeline.
    #[serde(default)]
    pub step: Vec<Step>,
    /// The expectations.
    #[serde(default)]
    pub expect: Vec<Expect>,
    /// Variants, each run beside the plain form.
    #[serde(default)]
    pub case: Vec<Case>,
    /// Controls: each has to turn exactly what it states.
    #[serde(default)]
    pub red: Vec<Red>,
}

/// How the fake plumb behaves in a scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// The generation it plays.
    pub generation: Option<String>,
    /// Named faults.
    #[serde(default)]
    pub faults: Vec<String>,
}

/// A variant of a scenario.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// The builds that can show it; the scenario's when left out.
    pub builds: Option<Vec<String>>,
    /// What changes in the launches.
    #[serde(default)]
    pub launch: BTreeMap<String, Launch>,
    /// What changes in the plugin's options.
    #[schemars(with = "Option<step::Anything>")]
    pub plugin: Option<toml::Table>,
    /// Options of the identity plugin that are files in its own folder.
    pub plugin_files: Option<BTreeMap<String, String>>,
    /// How the fake plumb behaves.
    pub plumb: Option<Peer>,
    /// Another timeline.
    pub step: Option<Vec<Step>>,
    /// Expectations that replace those of the same name, or are added.
    #[serde(default)]
    pub expect: Vec<Expect>,
    /// Expectations that do not apply.
    #[serde(default)]
    pub without: Vec<String>,
}

/// A control.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Red {
    /// What is broken.
    pub title: String,
    /// The builds on which it works; the scenario's when left out.
    pub builds: Option<Vec<String>>,
    /// The case it changes; the plain form when left out.
    pub case: Option<String>,
    /// What changes in the launches.
    #[serde(default)]
    pub launch: BTreeMap<String, Launch>,
    /// What changes in the plugin's options.
    #[schemars(with = "Option<step::Anything>")]
    pub plugin: Option<toml::Table>,
    /// A worse copy of the plugin, by the name of its patch.
    pub plugin_patch: Option<String>,
    /// How the fake plumb behaves.
    pub plumb: Option<Peer>,
    /// Another timeline.
    pub step: Option<Vec<Step>>,
    /// The checks that turn, and how; all others stay green.
    pub flips: Vec<Flip>,
}

/// A mistake in a scenario file.
#[derive(Debug, thiserror::Error)]
#[error("scenario `{id}`: {what}")]
pub struct Mistake {
    /// The scenario.
    pub id: String,
    /// What is wrong.
    pub what: String,
    /// What to write instead.
    pub hint: Option<String>,
    source_code: NamedSource<String>,
    span: Option<SourceSpan>,
}

impl Diagnostic for Mistake {
    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.hint
            .as_ref()
            .map(|hint| Box::new(hint) as Box<dyn std::fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        Some(&self.source_code)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.span?;
        Some(Box::new(std::iter::once(LabeledSpan::new_with_span(
            Some("here".into()),
            span,
        ))))
    }
}

/// Reads the text of the scenario `id`.
#[expect(
    clippy::result_large_err,
    reason = "it is made once, for a person, and carries the file it is about"
)]
pub fn read(id: &str, text: &str) -> Result<Scenario, Mistake> {
    let mistake = |what: String, hint: Option<String>, span: Option<SourceSpan>| Mistake {
        id: id.to_owned(),
        what,
        hint,
        source_code: NamedSource::new(format!("scenarios/{id}.toml"), text.to_owned())
            .with_language("toml"),
        span,
    };
    let file: File = toml::from_str(text).map_err(|error| {
        let span = error.span().map(SourceSpan::from);
        mistake(error.message().to_owned(), None, span)
    })?;
    valid::check(&file).map_err(|found| {
        let span = found.near.as_deref().and_then(|near| {
            let quoted = format!("\"{near}\"");
            text.find(&quoted)
                .map(|at| SourceSpan::from((at, quoted.len())))
        });
        mistake(found.what, found.hint, span)
    })?;
    Ok(Scenario {
        id: id.to_owned(),
        file,
    })
}

#[cfg(test)]
mod tests {
    use super::read;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let head = "format = 1\ntitle = 't'\nwhy = 'w'\n";
        let found = match read("family/stem", &format!("{head}{text}")) {
            Ok(_) => "ok".to_owned(),
            Err(mistake) => mistake.what,
        };
        assert!(
            found.contains(expected),
            "found: {found}\nexpected: {expected}"
        );
    }

    #[test]
    fn an_unknown_key_is_named_with_the_choices() {
        check(
            "[launch.main]\nhoem = 'ambient'",
            "unknown field `hoem`, expected one of `home`",
        );
    }

    #[test]
    fn an_unknown_fact_is_named_with_the_choices() {
        check(
            "[[step]]\ngate = { until = 'declard', within = '1s' }",
            "unknown variant `declard`, expected one of `declared`",
        );
    }

    #[test]
    fn a_gate_needs_a_deadline() {
        check(
            "[[step]]\ngate = { until = 'declared' }",
            "missing field `within`",
        );
    }

    #[test]
    fn an_expectation_has_exactly_one_kind() {
        check(
            "[[expect]]\ncheck = 'a'\nclause = ['ENV-1']",
            "`a` states nothing to expect",
        );
        check(
            "[[expect]]\ncheck = 'a'\nclause = ['ENV-1']\nwarnings = { text = 'x', times = 1 }\n\
             effects = { name = 'e', times = 1 }",
            "`a` states more than one thing to expect",
        );
    }

    #[test]
    fn two_checks_of_one_name_are_refused() {
        let one =
            "[[expect]]\ncheck = 'a'\nclause = ['ENV-1']\nwarnings = { text = 'x', times = 1 }\n";
        check(&format!("{one}{one}"), "two checks are named `a`");
    }

    #[test]
    fn a_step_for_an_unknown_session_is_refused() {
        check(
            "[[step]]\nmodel = { for = 'cihld', say = 'x' }",
            "no session is named `cihld`",
        );
    }

    #[test]
    fn a_control_that_flips_nothing_is_refused() {
        check(
            "[[red]]\ntitle = 'nothing'\nflips = []",
            "`nothing` flips nothing",
        );
    }

    #[test]
    fn a_control_that_flips_an_unknown_check_is_refused() {
        check(
            "[[red]]\ntitle = 'x'\nflips = [{ check = 'nope', class = 'leaked' }]",
            "no check is named `nope`",
        );
    }
}
