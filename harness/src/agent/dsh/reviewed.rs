//! What reviewers have accepted of a build: clauses it cannot show, and clauses it breaks.
//!
//! Read from a build's `not-applicable.toml` and `deviations.toml`, used by planning and judging.
//! It must never turn a failure that nobody reviewed into anything else.

use jiff::civil::Date;
use serde::Deserialize;

/// The whole of `not-applicable.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NotApplicableFile {
    pub(super) clause: Vec<NotApplicable>,
}

/// The whole of `deviations.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeviationsFile {
    pub(super) deviation: Vec<Deviation>,
}

/// A clause that nobody can see on a build.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotApplicable {
    /// The clause, as the contract numbers it.
    pub id: String,
    /// Why nobody can see it.
    pub reason: String,
}

/// A clause that a build breaks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deviation {
    /// The clause, as the contract numbers it.
    pub clause: String,
    /// The checks that show it, as `family/stem:check`; every check of the clause when left out.
    #[serde(default)]
    pub checks: Vec<String>,
    /// The failure class that is expected of its checks, by its code.
    pub class: String,
    /// What was seen.
    pub reason: String,
    /// Who looks at it again.
    pub owner: String,
    /// The last day on which it is accepted.
    pub until: LastDay,
}

/// A day, written `2027-05-31`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct LastDay(pub Date);

impl TryFrom<String> for LastDay {
    type Error = jiff::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

impl Deviation {
    /// Whether it is about this check of this clause.
    pub fn is_of(&self, check: &str, clause: &str) -> bool {
        self.clause == clause
            && (self.checks.is_empty() || self.checks.iter().any(|one| one == check))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::agent::dsh::builds;

    #[test]
    fn a_clause_is_reviewed_once_and_only_in_one_way() {
        for build in builds().unwrap() {
            let ids: Vec<_> = (build.not_applicable.iter().map(|clause| &clause.id))
                .chain(build.deviations.iter().map(|deviation| &deviation.clause))
                .collect();
            let different: BTreeSet<_> = ids.iter().collect();
            assert_eq!(ids.len(), different.len(), "{}: {ids:?}", build.name());
        }
    }

    #[test]
    fn every_review_says_why() {
        for build in builds().unwrap() {
            assert!(
                build
                    .not_applicable
                    .iter()
                    .all(|clause| clause.reason.len() > 20)
            );
            assert!(
                build
                    .deviations
                    .iter()
                    .all(|deviation| deviation.reason.len() > 20)
            );
        }
    }
}
