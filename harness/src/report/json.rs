//! The report as JSON: every verdict, and how many were as expected.

use serde_json::{Value, json};

use crate::verdict::{Outcome, Standing, Verdict};

/// The whole report.
pub fn json_report(verdicts: &[Verdict]) -> Value {
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
        "verdicts": verdicts,
    })
}
