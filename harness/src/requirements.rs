//! Frozen sets: what "conforms to note.1" means, check by check, and what a run says to that.
//!
//! Read from `scenarios/requirements/`; called by `run --requirements` and by `list --clauses --check`. A set is never
//! changed once it is released: checks that come later are advisory until the next one. It must never judge evidence.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::contract::{Contract, named};
use crate::judge::BUILT_IN_CLAUSES;
use crate::scenario::Scenario;
use crate::verdict::{Outcome, Verdict};

/// The sets that are compiled in, by name.
const TEXTS: [(&str, &str); 3] = [
    (
        "rfc.1",
        include_str!("../../scenarios/requirements/rfc.1.toml"),
    ),
    (
        "located.1",
        include_str!("../../scenarios/requirements/located.1.toml"),
    ),
    (
        "note.1",
        include_str!("../../scenarios/requirements/note.1.toml"),
    ),
];

/// One frozen set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirements {
    /// The version of this file's own format; 1.
    pub format: u32,
    /// The revision of the contract that it is about.
    pub revision: String,
    /// Every check of it, with the clauses that it proves.
    pub check: BTreeMap<String, BTreeSet<String>>,
}

/// A set that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum RequirementsError {
    /// There is none of this name.
    #[error("`{name}` is no frozen set; there are rfc.1, located.1 and note.1")]
    Unknown {
        /// The name.
        name: String,
    },
    /// It is not what its format asks for.
    #[error("scenarios/requirements/{name}.toml: {reason}")]
    Malformed {
        /// The set.
        name: String,
        /// What is wrong with it, and where.
        reason: String,
    },
}

/// The frozen set of this name.
pub fn frozen(name: &str) -> Result<Requirements, RequirementsError> {
    let text = TEXTS.iter().find(|(known, _)| *known == name);
    let (_, text) = text.ok_or_else(|| RequirementsError::Unknown { name: name.into() })?;
    let malformed = |reason| RequirementsError::Malformed {
        name: name.into(),
        reason,
    };
    let set: Requirements = toml::from_str(text).map_err(|error| malformed(error.to_string()))?;
    if set.format != 1 {
        let reason = format!("format {} is not known here, only 1 is", set.format);
        return Err(malformed(reason));
    }
    Ok(set)
}

/// The names of all sets.
pub fn names() -> impl Iterator<Item = &'static str> {
    TEXTS.iter().map(|(name, _)| *name)
}

/// What a set of this revision would hold if it were frozen today: every check with a clause of the revision.
pub fn today(revision: &str, contract: &Contract, scenarios: &[Scenario]) -> Requirements {
    let belongs = |id: &String| {
        contract
            .clause
            .iter()
            .any(|clause| clause.id == *id && clause.revisions.iter().any(|one| one == revision))
    };
    let mut check: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut add = |name: String, clauses: &mut dyn Iterator<Item = String>| {
        let clauses: BTreeSet<String> = clauses.filter(|id| belongs(id)).collect();
        if !clauses.is_empty() {
            check.entry(name).or_default().extend(clauses);
        }
    };
    for (name, clauses) in BUILT_IN_CLAUSES {
        add(
            named("", name),
            &mut clauses.iter().map(|id| (*id).to_owned()),
        );
    }
    for scenario in scenarios {
        let cases = scenario.file.case.iter().flat_map(|case| &case.expect);
        for expect in scenario.file.expect.iter().chain(cases) {
            let is_asked = expect.revisions.as_ref();
            if is_asked.is_none_or(|names| names.iter().any(|name| name == revision)) {
                let name = named(&scenario.id, &expect.check);
                add(name, &mut expect.clause.iter().cloned());
            }
        }
    }
    Requirements {
        format: 1,
        revision: revision.to_owned(),
        check,
    }
}

/// What a later state of the scenarios has taken from a set: checks that are gone, or that prove something else.
pub fn broken(name: &str, set: &Requirements, today: &Requirements) -> Vec<String> {
    set.check
        .iter()
        .filter_map(|(check, clauses)| match today.check.get(check) {
            None => Some(format!("{name}: {check} is frozen and is gone")),
            Some(now) if now != clauses => Some(format!(
                "{name}: {check} is frozen as proof of {} and now names {}",
                listed(clauses),
                listed(now)
            )),
            Some(_) => None,
        })
        .collect()
}

fn listed(clauses: &BTreeSet<String>) -> String {
    clauses.iter().cloned().collect::<Vec<_>>().join(", ")
}

/// What a run says to a set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Conformance {
    /// Checks of the set that passed wherever they were run.
    pub pass: BTreeSet<String>,
    /// Checks of the set that failed, or saw nothing, or deviate, somewhere.
    pub fail: BTreeSet<String>,
    /// Checks of the set that the agent cannot show.
    pub not_applicable: BTreeSet<String>,
    /// Checks of the set that this run left out.
    pub not_run: BTreeSet<String>,
    /// Checks outside the set that did not pass.
    pub advisory: BTreeSet<String>,
}

impl Conformance {
    /// Whether the run shows that the agent conforms: everything that it can show passed, and that was something.
    pub fn conforms(&self) -> bool {
        self.fail.is_empty() && self.not_run.is_empty() && !self.pass.is_empty()
    }

    /// The statement, and above it each check that is not a pass.
    pub fn statement(&self, name: &str) -> String {
        let mut text = String::new();
        let named = [
            ("fail", &self.fail),
            ("n/a", &self.not_applicable),
            ("not run", &self.not_run),
            ("advisory", &self.advisory),
        ];
        for (word, checks) in named {
            for check in checks {
                writeln!(text, "{word}: {check}").expect("a String takes everything");
            }
        }
        let verb = if self.conforms() {
            "conforms to"
        } else {
            "does not conform to"
        };
        write!(
            text,
            "{verb} {name}: {} pass, {} fail, {} n/a (named)",
            self.pass.len(),
            self.fail.len(),
            self.not_applicable.len()
        )
        .expect("a String takes everything");
        if !self.not_run.is_empty() {
            write!(text, ", {} not run", self.not_run.len()).expect("a String takes everything");
        }
        text.push('\n');
        text
    }
}

/// Weighs the verdicts of one build, controls left out, against a set. `shown` says whether the build runs a check of a
/// scenario at all; one that it does not is not applicable.
pub fn conformance(
    set: &Requirements,
    verdicts: &[Verdict],
    shown: impl Fn(&str, &str) -> bool,
) -> Conformance {
    let mut found: BTreeMap<String, Vec<Outcome>> = BTreeMap::new();
    for verdict in verdicts.iter().filter(|one| !one.scenario.contains('#')) {
        let scenario = verdict.scenario.split('@').next().unwrap_or_default();
        for finding in &verdict.findings {
            let check = named(scenario, &finding.check);
            found.entry(check).or_default().push(finding.outcome);
        }
    }
    let red = |outcome: &Outcome| !matches!(outcome, Outcome::Pass | Outcome::NotApplicable);
    let mut result = Conformance::default();
    for check in set.check.keys() {
        let place = match found.get(check) {
            Some(all) if all.iter().any(red) => &mut result.fail,
            Some(all) if all.contains(&Outcome::Pass) => &mut result.pass,
            Some(_) => &mut result.not_applicable,
            None => {
                let (scenario, own) = check.rsplit_once(':').unwrap_or_default();
                if shown(scenario, own) {
                    &mut result.not_run
                } else {
                    &mut result.not_applicable
                }
            }
        };
        place.insert(check.clone());
    }
    result.advisory = found
        .into_iter()
        .filter(|(check, all)| !set.check.contains_key(check) && all.iter().any(red))
        .map(|(check, _)| check)
        .collect();
    result
}

#[cfg(test)]
mod tests {
    use super::{Conformance, Requirements, broken, conformance, frozen, names, today};
    use crate::contract::contract;
    use crate::library;
    use crate::verdict::{Finding, Outcome, Standing, Verdict};

    fn set(checks: &[(&str, &str)]) -> Requirements {
        Requirements {
            format: 1,
            revision: "note".into(),
            check: checks
                .iter()
                .map(|(check, clause)| ((*check).into(), [(*clause).into()].into()))
                .collect(),
        }
    }

    fn verdict(scenario: &str, checks: &[(&str, Outcome)]) -> Verdict {
        let findings = checks.iter().map(|(check, outcome)| Finding {
            check: (*check).into(),
            clauses: Vec::new(),
            outcome: *outcome,
            class: None,
            symptoms: Vec::new(),
            read: Vec::new(),
            assumes: Vec::new(),
        });
        Verdict {
            scenario: scenario.into(),
            build: "0.2.1".into(),
            title: String::new(),
            standing: Standing::AsExpected,
            flips: Vec::new(),
            surprises: Vec::new(),
            findings: findings.collect(),
        }
    }

    fn weighed(verdicts: &[Verdict]) -> Conformance {
        let set = set(&[("env/one:a", "ENV-1"), ("env/two:b", "ENV-2")]);
        conformance(&set, verdicts, |scenario, _| scenario == "env/one")
    }

    #[test]
    fn every_frozen_check_is_there_and_proves_what_it_proved() {
        let scenarios: Vec<_> = library::scenarios(None)
            .unwrap()
            .into_iter()
            .map(|entry| entry.scenario)
            .collect();
        let contract = contract().unwrap();
        for name in names() {
            let set = frozen(name).unwrap();
            assert!(set.check.len() > 20, "{name}");
            let now = today(&set.revision, &contract, &scenarios);
            assert_eq!(broken(name, &set, &now), [""; 0]);
        }
    }

    #[test]
    fn a_frozen_check_that_is_gone_or_proves_something_else_is_told() {
        let frozen = set(&[("env/one:a", "ENV-1"), ("env/two:b", "ENV-2")]);
        let now = set(&[("env/one:a", "ENV-3"), ("env/later:c", "ENV-2")]);
        assert_eq!(
            broken("note.1", &frozen, &now),
            [
                "note.1: env/one:a is frozen as proof of ENV-1 and now names ENV-3",
                "note.1: env/two:b is frozen and is gone"
            ]
        );
    }

    #[test]
    fn a_run_that_passes_what_its_agent_can_show_conforms_and_names_the_rest() {
        let all = weighed(&[verdict(
            "env/one",
            &[("a", Outcome::Pass), ("later", Outcome::Fail)],
        )]);
        assert_eq!(
            all.statement("note.1"),
            "n/a: env/two:b\nadvisory: env/one:later\nconforms to note.1: 1 pass, 0 fail, 1 n/a (named)\n"
        );
    }

    #[test]
    fn a_failure_in_any_case_a_blind_check_or_a_known_deviation_does_not_conform() {
        for outcome in [Outcome::Fail, Outcome::Unobserved, Outcome::Deviates] {
            let all = weighed(&[
                verdict("env/one", &[("a", Outcome::Pass)]),
                verdict("env/one@case", &[("a", outcome)]),
            ]);
            assert!(!all.conforms(), "{outcome:?}");
            assert!(all.fail.contains("env/one:a"));
        }
    }

    #[test]
    fn a_check_that_was_left_out_does_not_conform_and_a_control_says_nothing() {
        let all = weighed(&[verdict("env/one#red-1", &[("a", Outcome::Pass)])]);
        assert!(!all.conforms());
        assert_eq!(
            all.statement("note.1"),
            "n/a: env/two:b\nnot run: env/one:a\ndoes not conform to note.1: 0 pass, 0 fail, 1 n/a (named), 1 not run\n"
        );
    }
}
