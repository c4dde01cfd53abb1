//! Weighs the findings against what the run had to show: everything green, or exactly what a
//! control states.

use crate::plan::Run;
use crate::verdict::{Class, Finding, Outcome, Standing};

/// The standing of a run, and what surprised.
pub(super) fn weigh(run: &Run, findings: &[Finding]) -> (Standing, Vec<String>) {
    let mut surprises = Vec::new();
    for finding in findings {
        let wanted = run.flips.iter().find(|flip| flip.check == finding.check);
        match (wanted, finding.outcome) {
            (None, Outcome::Pass | Outcome::NotApplicable | Outcome::Deviates) => {}
            (None, _) => surprises.push(format!(
                "{} failed ({}): {}",
                finding.check,
                class(finding),
                finding.symptoms.join("; ")
            )),
            (Some(flip), Outcome::Fail | Outcome::Unobserved) => {
                if finding.class != Some(flip.class) {
                    surprises.push(format!(
                        "{} turned for another reason: {} was to be seen, {} was: {}",
                        finding.check,
                        flip.class.code(),
                        class(finding),
                        finding.symptoms.join("; ")
                    ));
                }
            }
            (Some(flip), _) => surprises.push(format!(
                "{} stayed green although the control breaks it ({})",
                finding.check,
                flip.class.code()
            )),
        }
    }
    for flip in &run.flips {
        if !findings.iter().any(|finding| finding.check == flip.check) {
            surprises.push(format!("{} was not judged at all", flip.check));
        }
    }
    if !findings
        .iter()
        .any(|finding| finding.outcome == Outcome::Pass)
        && run.flips.is_empty()
    {
        surprises.push("nothing was checked".to_owned());
    }
    let standing = if surprises.is_empty() {
        Standing::AsExpected
    } else {
        Standing::Unexpected
    };
    (standing, surprises)
}

fn class(finding: &Finding) -> String {
    finding.class.map(Class::code).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::weigh;
    use crate::plan::tests_support::run_with_flips;
    use crate::verdict::{Class, Finding, Flip, Outcome, Standing};

    fn finding(check: &str, class: Option<Class>) -> Finding {
        Finding {
            check: check.to_owned(),
            clauses: vec!["ENV-1".into()],
            outcome: if class.is_some() {
                Outcome::Fail
            } else {
                Outcome::Pass
            },
            class,
            symptoms: class.iter().map(|_| "seen".to_owned()).collect(),
            read: Vec::new(),
            assumes: Vec::new(),
        }
    }

    fn flip(check: &str, class: Class) -> Flip {
        Flip {
            check: check.to_owned(),
            class,
        }
    }

    #[test]
    fn a_control_that_turns_its_check_for_its_reason_is_as_expected() {
        let run = run_with_flips(vec![flip("a", Class::Leaked)]);
        let (standing, _) = weigh(
            &run,
            &[finding("a", Some(Class::Leaked)), finding("b", None)],
        );
        assert_eq!(standing, Standing::AsExpected);
    }

    #[test]
    fn a_control_that_is_red_for_the_wrong_reason_is_unexpected() {
        let run = run_with_flips(vec![flip("a", Class::Leaked)]);
        let (standing, surprises) = weigh(&run, &[finding("a", Some(Class::Missing))]);
        assert_eq!(standing, Standing::Unexpected);
        assert!(surprises[0].contains("another reason"), "{surprises:?}");
    }

    #[test]
    fn a_control_that_turns_more_than_it_states_is_unexpected() {
        let run = run_with_flips(vec![flip("a", Class::Leaked)]);
        let (standing, surprises) = weigh(
            &run,
            &[
                finding("a", Some(Class::Leaked)),
                finding("b", Some(Class::Missing)),
            ],
        );
        assert_eq!(standing, Standing::Unexpected);
        assert!(surprises[0].starts_with("b failed"), "{surprises:?}");
    }

    #[test]
    fn a_control_that_stays_green_is_unexpected() {
        let run = run_with_flips(vec![flip("a", Class::Leaked)]);
        let (standing, _) = weigh(&run, &[finding("a", None)]);
        assert_eq!(standing, Standing::Unexpected);
    }

    #[test]
    fn a_run_in_which_nothing_passed_is_no_success() {
        let run = run_with_flips(Vec::new());
        let (standing, surprises) = weigh(&run, &[]);
        assert_eq!(standing, Standing::Unexpected);
        assert_eq!(surprises, ["nothing was checked"]);
    }
}
