//! The report as JSON: every verdict, how many were as expected, and what went wrong beside them.

use serde_json::{Value, json};

use super::account::Account;
use crate::verdict::{Outcome, Standing, Verdict};

/// The whole report.
pub fn json_report(account: &Account) -> Value {
    let verdicts: Vec<&Verdict> = account.verdicts().collect();
    let as_expected = verdicts
        .iter()
        .filter(|one| one.standing == Standing::AsExpected)
        .count();
    let checks = verdicts.iter().flat_map(|verdict| &verdict.findings);
    let count = |outcome| {
        checks
            .clone()
            .filter(|finding| finding.outcome == outcome)
            .count()
    };
    json!({
        "format": 1,
        "scenarios": { "run": verdicts.len(), "as_expected": as_expected },
        "checks": {
            "pass": count(Outcome::Pass),
            "fail": count(Outcome::Fail),
            "unobserved": count(Outcome::Unobserved),
            "not_applicable": count(Outcome::NotApplicable),
            "deviates": count(Outcome::Deviates),
        },
        "troubles": account.troubles,
        "verdicts": verdicts,
    })
}
