//! The ledger as a person and as a program read it: a clause, what it says, and what proves it.

#![expect(
    clippy::let_underscore_must_use,
    reason = "writing into a String cannot fail"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Ledger, Proof};

/// Every clause with its checks, the builds they run on and the controls that turn them.
pub fn page(ledger: &Ledger<'_>) -> String {
    let mut text = String::new();
    for row in &ledger.rows {
        let clause = row.clause;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{} ({}): {}",
            clause.id,
            clause.revisions.join(", "),
            clause.says
        );
        for (check, proof) in &row.proofs {
            let _ = writeln!(text, "    {check}{}", line(proof));
        }
        for test in &clause.proved_by {
            let _ = writeln!(
                text,
                "    test {} in {}; red by {}",
                test.test, test.file, test.dies_by
            );
        }
        for (build, reason) in &row.not_applicable {
            let _ = writeln!(text, "    not applicable on {build}: {reason}");
        }
        if let Some(reason) = &clause.pending {
            let _ = writeln!(text, "    pending: {reason}");
        }
    }
    text
}

fn line(proof: &Proof) -> String {
    let mut line = format!(" on {}", joined(&proof.builds));
    if !proof.deviates.is_empty() {
        let _ = write!(line, ", deviates on {}", joined(&proof.deviates));
    }
    if !proof.controls.is_empty() {
        let _ = write!(line, "; red by {}", joined(&proof.controls));
    }
    line
}

fn joined(names: &BTreeSet<String>) -> String {
    names
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

/// The same for a program.
pub fn json(ledger: &Ledger<'_>) -> Value {
    let rows: Vec<Value> = ledger
        .rows
        .iter()
        .map(|row| {
            let proofs: Vec<Value> = row
                .proofs
                .iter()
                .map(|(check, proof)| {
                    json!({
                        "check": check,
                        "builds": proof.builds,
                        "deviates": proof.deviates,
                        "controls": proof.controls,
                    })
                })
                .collect();
            json!({
                "id": row.clause.id,
                "revisions": row.clause.revisions,
                "says": row.clause.says,
                "checks": proofs,
                "tests": row.clause.proved_by.iter()
                    .map(|one| json!({"file": one.file, "test": one.test, "dies_by": one.dies_by}))
                    .collect::<Vec<_>>(),
                "not_applicable": row.not_applicable,
                "pending": row.clause.pending,
            })
        })
        .collect();
    json!({ "format": 1, "clauses": rows, "problems": ledger.problems })
}
