//! What the seed's own variables ask of a run: options of the plugin, and that the run has to fail.
//!
//! Called by `run`. A run that has to fail passes only by a scenario that was judged and failed; what the harness broke,
//! refused or cut short is never a red control.

use std::collections::BTreeMap;
use std::ffi::OsString;

use harness::exit::Exit;
use harness::plan;
use harness::report::page;
use harness::verdict::{Class, Outcome, Standing, Verdict};
use regex::Regex;

use crate::cli::E2E;
use crate::refusal::Refusal;

/// The line that a run has to fail by.
#[derive(Debug)]
enum Line {
    /// Any at all.
    Any,
    /// One that this matches.
    Matching(Regex),
}

/// What a run is asked for by its environment.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// Whether it has to fail, and by which line.
    fails: Option<Line>,
    /// Options of the plugin that are switched off.
    off: Vec<&'static str>,
}

impl Asked {
    /// Reads the caller's environment.
    pub(crate) fn read(environment: &BTreeMap<OsString, OsString>) -> Result<Self, Refusal> {
        let value = |name: &str| {
            let value = environment.get(&OsString::from(name))?.to_str()?;
            (!value.is_empty()).then_some(value)
        };
        let mut names = environment.keys().filter_map(|name| name.to_str());
        if let Some(name) = names.find(|name| name.starts_with("E2E_") && !E2E.contains(name)) {
            return Err(Refusal::new(
                format!("{name} is set, and no such variable is known"),
                format!("there are: {}", E2E.join(", ")),
            ));
        }
        let pattern = value("E2E_EXPECT_FAIL_MATCH")
            .map(|text| {
                Regex::new(text).map_err(|error| {
                    Refusal::new(
                        format!(
                            "E2E_EXPECT_FAIL_MATCH: `{text}` is no regular expression: {error}"
                        ),
                        "write `^ FAIL reconnect: `",
                    )
                })
            })
            .transpose()?;
        let fails = match value("E2E_EXPECT") {
            Some("fail") => Some(pattern.map_or(Line::Any, Line::Matching)),
            None | Some("pass") if pattern.is_none() => None,
            None | Some("pass") => {
                return Err(Refusal::new(
                    "E2E_EXPECT_FAIL_MATCH is set, and the run does not have to fail",
                    "set E2E_EXPECT=fail too",
                ));
            }
            Some(other) => {
                return Err(Refusal::new(
                    format!("E2E_EXPECT={other} is not known"),
                    "write `fail` or `pass`",
                ));
            }
        };
        for name in ["E2E_SIGNAL_RUNNER", "E2E_SIGNAL_AFTER_MS"] {
            if value(name).is_some() {
                return Err(Refusal::new(
                    format!("{name} is set, and nobody is there to signal this run"),
                    "add `--sandbox`, or use container/e2e: they signal the run that they keep",
                ));
            }
        }
        let mut off = Vec::new();
        for (name, option) in [
            ("E2E_RESUME_PROOF", "resumeProof"),
            ("E2E_NORMALISE", "normaliseDeclarations"),
        ] {
            match value(name) {
                None | Some("1") => {}
                Some("0") => off.push(option),
                Some(other) => {
                    return Err(Refusal::new(
                        format!("{name}={other} is not known"),
                        "write `0` or `1`",
                    ));
                }
            }
        }
        Ok(Self { fails, off })
    }

    /// Whether the run has to fail.
    pub(crate) fn has_to_fail(&self) -> bool {
        self.fails.is_some()
    }

    /// The run with the options that are asked for.
    pub(crate) fn lay(&self, mut run: plan::Run) -> plan::Run {
        for option in &self.off {
            run.plugin.insert((*option).to_owned(), false.into());
        }
        run
    }

    /// How the program ends, and what it says of it. `exit` is how it would end otherwise.
    pub(crate) fn weigh(&self, exit: Exit, verdicts: &[Verdict]) -> (Exit, Option<String>) {
        let Some(line) = &self.fails else {
            return (exit, None);
        };
        if !matches!(exit, Exit::AsExpected | Exit::Unexpected) {
            return (exit, None);
        }
        let lines: Vec<String> = verdicts
            .iter()
            .filter(|verdict| is_red(verdict))
            .map(page)
            .collect();
        let is_it = |text: &&str| match line {
            Line::Any => true,
            Line::Matching(pattern) => pattern.is_match(text),
        };
        let found = lines.iter().flat_map(|lines| lines.lines()).find(is_it);
        let wanted = match line {
            Line::Any => "any scenario".to_owned(),
            Line::Matching(pattern) => format!("a line that matches `{pattern}`"),
        };
        match found {
            Some(line) => (
                Exit::AsExpected,
                Some(format!("the run failed, as it had to:{line}\n")),
            ),
            None => (
                Exit::Unexpected,
                Some(format!(
                    "the run had to fail by {wanted}, and did not: {} scenarios failed\n",
                    lines.len()
                )),
            ),
        }
    }
}

/// Whether a scenario was judged and failed, and not merely cut short.
fn is_red(verdict: &Verdict) -> bool {
    let is_cut_short = verdict.findings.iter().any(|finding| {
        finding.outcome != Outcome::Pass
            && matches!(
                finding.class,
                Some(
                    Class::Harness
                        | Class::ScenarioTimedOut
                        | Class::RunTimedOut
                        | Class::StepTimedOut
                )
            )
    });
    verdict.standing == Standing::Unexpected && verdict.flips.is_empty() && !is_cut_short
}

#[cfg(test)]
mod tests {
    use super::Asked;
    use harness::exit::Exit;
    use harness::verdict::{Class, Finding, Outcome, Standing, Verdict};

    fn asked(variables: &[(&str, &str)]) -> Result<Asked, String> {
        let environment = variables
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        Asked::read(&environment).map_err(|refusal| refusal.what)
    }

    fn failed(stem: &str, class: Class) -> Verdict {
        Verdict {
            scenario: format!("plumb/{stem}"),
            build: "b".into(),
            title: "t".into(),
            standing: Standing::Unexpected,
            flips: Vec::new(),
            surprises: Vec::new(),
            findings: vec![Finding {
                check: "c".into(),
                clauses: vec!["PLUG-9".into()],
                outcome: Outcome::Fail,
                class: Some(class),
                symptoms: vec!["stranded on session x".into()],
                read: Vec::new(),
                assumes: Vec::new(),
            }],
        }
    }

    const RECONNECT: [(&str, &str); 2] = [
        ("E2E_EXPECT", "fail"),
        ("E2E_EXPECT_FAIL_MATCH", "^ FAIL reconnect: "),
    ];

    #[track_caller]
    fn check(exit: Exit, verdicts: &[Verdict], expected: Exit) {
        let (weighed, _) = asked(&RECONNECT).unwrap().weigh(exit, verdicts);
        assert_eq!(weighed, expected);
    }

    #[test]
    fn a_run_that_had_to_fail_passes_by_the_matching_line_alone() {
        let reconnect = failed("reconnect", Class::NoteStranded);
        check(
            Exit::Unexpected,
            std::slice::from_ref(&reconnect),
            Exit::AsExpected,
        );
        check(
            Exit::Unexpected,
            &[failed("mail", Class::NoteLost)],
            Exit::Unexpected,
        );
        check(Exit::AsExpected, &[], Exit::Unexpected);
    }

    #[test]
    fn what_broke_was_refused_or_was_cut_short_is_never_red() {
        let reconnect = failed("reconnect", Class::NoteStranded);
        let verdicts = std::slice::from_ref(&reconnect);
        for exit in [
            Exit::Broken,
            Exit::Refused,
            Exit::NothingChecked,
            Exit::Signalled(15),
        ] {
            check(exit, verdicts, exit);
        }
        for class in [Class::StepTimedOut, Class::ScenarioTimedOut, Class::Harness] {
            check(
                Exit::Unexpected,
                &[failed("reconnect", class)],
                Exit::Unexpected,
            );
        }
    }

    #[test]
    fn the_line_is_the_one_of_the_report_with_every_symptom() {
        let told = asked(&RECONNECT)
            .unwrap()
            .weigh(
                Exit::Unexpected,
                &[failed("reconnect", Class::NoteStranded)],
            )
            .1;
        insta::assert_snapshot!(
            told.unwrap_or_default().trim_end(),
            @"the run failed, as it had to: FAIL reconnect: c [note-stranded] stranded on session x"
        );
    }

    #[test]
    fn values_that_nobody_knows_are_refused() {
        for (variable, value) in [
            ("E2E_EXPECT", "red"),
            ("E2E_RESUME_PROOF", "no"),
            ("E2E_NORMALISE", "off"),
            ("E2E_EXPECT_FAIL_MATCH", "x"),
        ] {
            let why = asked(&[(variable, value)]).unwrap_err();
            assert!(why.contains(variable), "{why}");
        }
        let both = [("E2E_EXPECT", "fail"), ("E2E_EXPECT_FAIL_MATCH", "(")];
        assert!(asked(&both).unwrap_err().contains("no regular expression"));
    }
}
