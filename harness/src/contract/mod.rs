//! The ledger: every clause of the contract, and what proves it.
//!
//! Read from `scenarios/contract.toml`; called by `list --clauses` and by the tests. It says which checks stand for a
//! clause, on which builds, and which controls turn them. It must never judge anything.

mod ledger;
mod page;
mod review;

use serde::Deserialize;

pub use ledger::{Ledger, Proof, Row, ledger, named};
pub use page::{json, page};
pub use review::{Extent, review};

/// The text that is compiled in.
const TEXT: &str = include_str!("../../../scenarios/contract.toml");

/// The revisions that a clause without any belongs to: all of them.
const REVISIONS: [&str; 3] = ["rfc", "located", "note"];

/// The whole of `contract.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// The version of this file's own format; 1.
    pub format: u32,
    /// Every clause.
    pub clause: Vec<Clause>,
    /// Checks that no control turns, each with the reviewed reason.
    #[serde(default)]
    pub unkilled: Vec<Unkilled>,
}

/// One clause.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clause {
    /// Its id; scenarios, controls and reports name it.
    pub id: String,
    /// The revisions that promise it.
    #[serde(default = "all")]
    pub revisions: Vec<String>,
    /// How binding it is.
    pub level: Level,
    /// What it says.
    pub says: String,
    /// Why nothing proves it yet, or ever.
    pub pending: Option<String>,
    /// The Rust tests that prove it, where no scenario does.
    #[serde(default)]
    pub proved_by: Vec<RustTest>,
}

/// A test of this project, and what turns it red.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RustTest {
    /// The file that holds it, from the project's root.
    pub file: String,
    /// Its name.
    pub test: String,
    /// The fact, hostile program or change that it turns red by.
    pub dies_by: String,
}

/// How binding a clause is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// A promise of the source texts.
    Must,
    /// A promise that this suite adds.
    Ours,
    /// A promise that nobody can see from outside.
    Internal,
}

/// A check that no control turns.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unkilled {
    /// The check, as `family/stem:check`, or `built-in:check`.
    pub check: String,
    /// Why none does.
    pub reason: String,
}

/// A ledger that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ContractError {
    /// It is not what its format asks for.
    #[error("scenarios/contract.toml: {reason}")]
    Malformed {
        /// What is wrong with it, and where.
        reason: String,
    },
}

/// Reads the contract that is compiled in.
pub fn contract() -> Result<Contract, ContractError> {
    read(TEXT)
}

/// Reads a contract.
pub fn read(text: &str) -> Result<Contract, ContractError> {
    let contract: Contract = toml::from_str(text).map_err(|error| ContractError::Malformed {
        reason: error.to_string(),
    })?;
    if contract.format != 1 {
        return Err(ContractError::Malformed {
            reason: format!("format {} is not known here, only 1 is", contract.format),
        });
    }
    Ok(contract)
}

fn all() -> Vec<String> {
    REVISIONS.map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests {
    use super::{contract, ledger};
    use crate::agent::dsh::builds;
    use crate::library;

    #[test]
    fn every_clause_and_every_check_of_this_project_is_mapped() {
        let scenarios: Vec<_> = library::scenarios(None)
            .unwrap()
            .into_iter()
            .map(|entry| entry.scenario)
            .collect();
        let contract = contract().unwrap();
        let ledger = ledger(&contract, &scenarios, &builds().unwrap());
        assert!(ledger.problems.is_empty(), "{:#?}", ledger.problems);
    }

    #[test]
    fn every_test_that_is_named_as_a_proof_is_there() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for clause in contract().unwrap().clause {
            for one in clause.proved_by {
                let source = std::fs::read_to_string(root.join(&one.file)).unwrap_or_default();
                assert!(
                    source.contains(&format!("fn {}(", one.test)),
                    "{}: {} has no test {}",
                    clause.id,
                    one.file,
                    one.test
                );
            }
        }
    }

    #[test]
    fn every_clause_is_there_once() {
        let mut ids: Vec<_> = contract()
            .unwrap()
            .clause
            .into_iter()
            .map(|clause| clause.id)
            .collect();
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}
