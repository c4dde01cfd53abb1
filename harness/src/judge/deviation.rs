//! Turns the checks of a reviewed deviation round: they have to fail, by the class that the review names.
//!
//! Called for every stated check. It must never soften a failure of another class.

use crate::agent::dsh::reviewed::Deviation;
use crate::verdict::{Class, Finding, Outcome};

/// The finding of `check`, as the build's deviations let it stand.
pub(super) fn weigh(mut finding: Finding, check: &str, deviations: &[Deviation]) -> Finding {
    let Some(deviation) = deviations.iter().find(|one| {
        finding
            .clauses
            .iter()
            .any(|clause| one.is_of(check, clause))
    }) else {
        return finding;
    };
    match finding.outcome {
        Outcome::Fail if finding.class.map(Class::code).as_ref() == Some(&deviation.class) => {
            finding.outcome = Outcome::Deviates;
            finding.symptoms.push(format!(
                "known until {}: {}",
                deviation.until.0, deviation.reason
            ));
        }
        Outcome::Pass => {
            finding.outcome = Outcome::Fail;
            finding.class = Some(Class::StaleDeviation);
            finding.symptoms = vec![format!(
                "the check passes, and deviations.toml says that {} breaks {} ({})",
                check, deviation.clause, deviation.class
            )];
        }
        _ => {}
    }
    finding
}

#[cfg(test)]
mod tests {
    use super::weigh;
    use crate::agent::dsh::reviewed::Deviation;
    use crate::verdict::{Class, Finding, Outcome};

    fn deviation(checks: &[&str]) -> Deviation {
        Deviation {
            clause: "ENV-25".into(),
            checks: checks.iter().map(|one| (*one).to_owned()).collect(),
            class: "leaked".into(),
            reason: "it answers".into(),
            owner: "us".into(),
            until: "2027-05-31".to_owned().try_into().unwrap(),
        }
    }

    #[track_caller]
    fn check(seen: Option<Class>, checks: &[&str], outcome: Outcome, class: Option<Class>) {
        let finding = Finding {
            check: "no-query".into(),
            clauses: vec!["ENV-25".into()],
            outcome: if seen.is_some() {
                Outcome::Fail
            } else {
                Outcome::Pass
            },
            class: seen,
            symptoms: Vec::new(),
            read: Vec::new(),
            assumes: Vec::new(),
        };
        let weighed = weigh(finding, "env/locate:no-query", &[deviation(checks)]);
        assert_eq!((weighed.outcome, weighed.class), (outcome, class));
    }

    #[test]
    fn a_failure_of_the_named_class_is_the_known_one() {
        check(
            Some(Class::Leaked),
            &[],
            Outcome::Deviates,
            Some(Class::Leaked),
        );
        check(
            Some(Class::Leaked),
            &["env/locate:no-query"],
            Outcome::Deviates,
            Some(Class::Leaked),
        );
    }

    #[test]
    fn a_failure_of_another_class_stays_one() {
        check(
            Some(Class::Missing),
            &[],
            Outcome::Fail,
            Some(Class::Missing),
        );
    }

    #[test]
    fn a_check_that_passes_makes_the_entry_stale() {
        check(None, &[], Outcome::Fail, Some(Class::StaleDeviation));
    }

    #[test]
    fn another_check_of_the_clause_is_left_alone() {
        check(None, &["env/locate:other"], Outcome::Pass, None);
    }
}
