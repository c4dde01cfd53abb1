//! What the named faults of a run came to: which were caught, by which check, and which checks none turned.
//!
//! Pure, over the verdicts of a run's evidence. Called by `dsh-e2e adequacy`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::contract::Contract;
use crate::plan::Run;
use crate::verdict::{Outcome, Standing, Verdict};

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The control that it is.
    pub id: String,
    /// The build on which it acted.
    pub build: String,
    /// Its title.
    pub title: String,
    /// The checks that it has to turn, with their classes.
    pub turns: Vec<String>,
    /// Why it counts as not caught; empty where it was caught by just these.
    pub surprises: Vec<String>,
}

/// What all faults came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Faults {
    /// Every fault, in the order of its evidence.
    pub faults: Vec<Fault>,
    /// Clean runs that are not as expected, with the reasons.
    pub unclean: BTreeMap<String, Vec<String>>,
    /// By check, the faults that turned it.
    pub killed: BTreeMap<String, BTreeSet<String>>,
    /// Checks that passed in a clean run, and that no fault turned.
    pub survivors: BTreeSet<String>,
}

impl Faults {
    /// Whether each fault was caught, each clean run is clean, and no check survived.
    pub fn is_adequate(&self) -> bool {
        self.survivors.is_empty()
            && self.unclean.is_empty()
            && self.faults.iter().all(|fault| fault.surprises.is_empty())
    }
}

/// Weighs the verdicts of a run. A check that the contract lists as turned by no control is no survivor; neither is one
/// that a reviewed deviation turns on some build.
pub fn faults(judged: &[(Run, Verdict)], contract: &Contract) -> Faults {
    let mut found = Faults::default();
    let mut passed = BTreeSet::new();
    for (run, verdict) in judged {
        if run.id.control.is_none() {
            clean(run, verdict, &mut passed, &mut found);
        } else {
            acted(run, verdict, &mut found);
        }
    }
    // Without any fault's evidence nothing is said of checks: what was not tried has not survived.
    if !found.faults.is_empty() {
        let reviewed = |check: &String| contract.unkilled.iter().any(|one| one.check == *check);
        found.survivors = passed
            .into_iter()
            .filter(|check| !found.killed.contains_key(check) && !reviewed(check))
            .collect();
    }
    found
}

fn clean(run: &Run, verdict: &Verdict, passed: &mut BTreeSet<String>, found: &mut Faults) {
    if verdict.standing != Standing::AsExpected {
        let mut why = verdict.surprises.clone();
        why.extend(verdict.symptoms());
        found
            .unclean
            .insert(format!("{} {}", run.build, run.id), why);
    }
    for finding in &verdict.findings {
        let check = crate::contract::named(&run.id.scenario, &finding.check);
        match finding.outcome {
            Outcome::Pass => {
                passed.insert(check);
            }
            Outcome::Deviates => {
                let turned = found.killed.entry(check).or_default();
                turned.insert(format!("deviation of {}", run.build));
            }
            _ => {}
        }
    }
}

fn acted(run: &Run, verdict: &Verdict, found: &mut Faults) {
    let mut surprises = verdict.surprises.clone();
    if run.flips.is_empty() {
        surprises.push("it names no check that it turns".to_owned());
    }
    if verdict.standing == Standing::AsExpected {
        for flip in &run.flips {
            let check = crate::contract::named(&run.id.scenario, &flip.check);
            let turned = found.killed.entry(check).or_default();
            turned.insert(run.id.to_string());
        }
    } else if surprises.is_empty() {
        surprises.push("its verdict is not as expected".to_owned());
    }
    found.faults.push(Fault {
        id: run.id.to_string(),
        build: run.build.clone(),
        title: run.title.clone(),
        turns: run
            .flips
            .iter()
            .map(|flip| format!("{} [{}]", flip.check, flip.class.code()))
            .collect(),
        surprises,
    });
}

#[cfg(test)]
mod tests {
    use super::{Faults, faults};
    use crate::contract::read;
    use crate::judge::{BuildFacts, judge};
    use crate::plan::{Controls, Run, Subject, expand};
    use crate::scenario;
    use crate::verdict::{Class, Finding, Outcome, Standing, Verdict};

    const SCENARIO: &str = "format = 1\ntitle = 't'\nwhy = 'w'\n\
        [[expect]]\ncheck = 'a'\nclause = ['ENV-1']\nwarnings = { text = 'x', times = 1 }\n\
        [[red]]\ntitle = 'r'\nflips = [{ check = 'a', class = 'missing' }]\n";

    /// A clean run whose check passes, and a control that stands so.
    fn weighed(control: Standing) -> Faults {
        let scenario = scenario::read("env/one", SCENARIO).unwrap();
        let subject = Subject {
            build: "0.2.1".into(),
            revision: "note".into(),
        };
        let judged: Vec<(Run, Verdict)> = expand(&[scenario], &subject, Controls::All)
            .into_iter()
            .map(|run| {
                let evidence = crate::evidence::Evidence::default();
                let mut verdict = judge(&run, &evidence, &BuildFacts::default());
                verdict.findings = vec![Finding {
                    check: "a".into(),
                    clauses: vec!["ENV-1".into()],
                    outcome: Outcome::Pass,
                    class: None,
                    symptoms: Vec::new(),
                    read: Vec::new(),
                    assumes: Vec::new(),
                }];
                let clean = run.id.control.is_none();
                verdict.surprises.clear();
                verdict.standing = if clean { Standing::AsExpected } else { control };
                (run, verdict)
            })
            .collect();
        faults(&judged, &read("format = 1\nclause = []\n").unwrap())
    }

    #[test]
    fn a_check_that_a_caught_fault_turns_is_killed() {
        let found = weighed(Standing::AsExpected);
        assert!(found.is_adequate(), "{found:?}");
        assert!(found.killed["env/one:a"].contains("env/one#red-1"));
        assert_eq!(
            found.faults[0].turns,
            [format!("a [{}]", Class::Missing.code())]
        );
    }

    #[test]
    fn a_fault_that_was_not_caught_is_told_and_its_check_survives() {
        let found = weighed(Standing::Unexpected);
        assert!(!found.is_adequate());
        assert_eq!(
            found.faults[0].surprises,
            ["its verdict is not as expected"]
        );
        assert!(found.survivors.contains("env/one:a"));
    }
}
