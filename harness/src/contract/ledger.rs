//! Joins the contract with the scenarios, build by build, and says what is not mapped.
//!
//! Pure: what a build would run is asked of `plan`, so a check counts only where it really is run.

use std::collections::{BTreeMap, BTreeSet};

use super::{Clause, Contract};
use crate::agent::dsh::Build;
use crate::judge::{BUILT_IN, BUILT_IN_CLAUSES};
use crate::plan::{self, Controls, Run, Subject};
use crate::scenario::Scenario;

/// What stands before a check that every scenario has.
const EVERYWHERE: &str = "built-in";

/// The contract, joined with what proves it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ledger<'a> {
    /// Every clause, in the order of the contract.
    pub rows: Vec<Row<'a>>,
    /// What is not mapped, one sentence each.
    pub problems: Vec<String>,
}

/// One clause and what proves it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'a> {
    /// The clause.
    pub clause: &'a Clause,
    /// Its checks.
    pub proofs: BTreeMap<String, Proof>,
    /// Builds that cannot show it, with the reviewed reason.
    pub not_applicable: BTreeMap<String, String>,
}

/// Where a check is run, and what turns it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proof {
    /// Builds on which it is run.
    pub builds: BTreeSet<String>,
    /// Builds on which it has to fail, by a reviewed deviation.
    pub deviates: BTreeSet<String>,
    /// Controls that turn it.
    pub controls: BTreeSet<String>,
}

/// Joins the contract with the scenarios on these builds.
pub fn ledger<'a>(contract: &'a Contract, scenarios: &[Scenario], builds: &[Build]) -> Ledger<'a> {
    let mut found = Found::default();
    for build in builds {
        let subject = Subject {
            build: build.name().to_owned(),
            revision: build.facts.revision.to_string(),
        };
        for run in plan::expand(scenarios, &subject, Controls::All) {
            found.take(&run, build, contract);
        }
    }
    let rows: Vec<Row<'_>> = contract
        .clause
        .iter()
        .map(|clause| row(clause, &found, builds))
        .collect();
    let mut problems: Vec<String> = found.unknown.iter().cloned().collect();
    problems.extend(rows.iter().filter_map(unmapped));
    problems.extend(found.unkilled(contract));
    Ledger { rows, problems }
}

/// What the plans of all builds hold.
#[derive(Debug, Default)]
struct Found {
    /// By check, then by clause.
    checks: BTreeMap<String, BTreeMap<String, Proof>>,
    controls: BTreeMap<String, BTreeSet<String>>,
    unknown: BTreeSet<String>,
}

impl Found {
    fn take(&mut self, run: &Run, build: &Build, contract: &Contract) {
        let scenario = &run.id.scenario;
        for flip in &run.flips {
            let check = named(scenario, &flip.check);
            let controls = self.controls.entry(check).or_default();
            controls.insert(run.id.to_string());
        }
        if run.id.control.is_some() {
            return;
        }
        let revision = build.facts.revision.to_string();
        let stated = run.expects.iter().flat_map(|expect| {
            expect
                .clause
                .iter()
                .map(|id| (expect.check.as_str(), id.as_str()))
        });
        let built_in = BUILT_IN_CLAUSES
            .iter()
            .flat_map(|(check, clauses)| clauses.iter().map(|id| (*check, *id)));
        for (check, id) in stated.chain(built_in) {
            let check = named(scenario, check);
            let Some(clause) = contract.clause.iter().find(|clause| clause.id == id) else {
                self.unknown
                    .insert(format!("{check} names {id}, which is no clause"));
                continue;
            };
            let proof = self.checks.entry(check.clone()).or_default();
            let proof = proof.entry(id.to_owned()).or_default();
            if !clause.revisions.contains(&revision) {
                continue;
            }
            proof.builds.insert(build.name().to_owned());
            if build.deviations.iter().any(|one| one.is_of(&check, id)) {
                proof.deviates.insert(build.name().to_owned());
            }
        }
    }

    /// Checks that nothing turns, and reviewed ones that something does.
    fn unkilled(&self, contract: &Contract) -> Vec<String> {
        let mut problems = Vec::new();
        for (check, clauses) in &self.checks {
            let turned = self.controls.contains_key(check)
                || clauses.values().any(|proof| !proof.deviates.is_empty());
            let reviewed = contract.unkilled.iter().any(|one| one.check == *check);
            match (turned, reviewed) {
                (false, false) => problems.push(format!("{check} is turned by no control")),
                (true, true) => problems.push(format!(
                    "{check} is listed as turned by no control, and one does"
                )),
                _ => {}
            }
        }
        for one in &contract.unkilled {
            if !self.checks.contains_key(&one.check) {
                problems.push(format!(
                    "{} is listed as unkilled and is no check",
                    one.check
                ));
            }
        }
        problems
    }
}

/// A check by its scenario, or as one that every scenario has.
pub fn named(scenario: &str, check: &str) -> String {
    if BUILT_IN.contains(&check) {
        format!("{EVERYWHERE}:{check}")
    } else {
        format!("{scenario}:{check}")
    }
}

fn row<'a>(clause: &'a Clause, found: &Found, builds: &[Build]) -> Row<'a> {
    let proofs = found
        .checks
        .iter()
        .filter_map(|(check, clauses)| {
            let mut proof = clauses.get(&clause.id)?.clone();
            proof.controls = found.controls.get(check).cloned().unwrap_or_default();
            (!proof.builds.is_empty()).then(|| (check.clone(), proof))
        })
        .collect();
    let not_applicable = builds
        .iter()
        .filter_map(|build| {
            let one = build
                .not_applicable
                .iter()
                .find(|one| one.id == clause.id)?;
            Some((build.name().to_owned(), one.reason.clone()))
        })
        .collect();
    Row {
        clause,
        proofs,
        not_applicable,
    }
}

fn unmapped(row: &Row<'_>) -> Option<String> {
    let clause = row.clause;
    let proved = !row.proofs.is_empty() || !clause.proved_by.is_empty();
    match (&clause.pending, proved) {
        (None, false) => Some(format!("{} is proved by nothing", clause.id)),
        (Some(_), true) => Some(format!("{} is pending and has checks", clause.id)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::ledger;
    use crate::agent::dsh::builds;
    use crate::contract::read;
    use crate::scenario;

    /// The problems of one scenario under a contract, those of the built-in checks left out.
    fn problems(clauses: &str, rest: &str) -> Vec<String> {
        let built_in = ["ENV-8", "RUN-3", "RUN-5", "RUN-7", "RUN-8", "RUN-13"]
            .map(|id| format!("[[clause]]\nid = '{id}'\nlevel = 'must'\nsays = 's'\n"));
        let text = format!("format = 1\n{}{clauses}", built_in.concat());
        let scenario = format!("format = 1\ntitle = 't'\nwhy = 'w'\n{rest}");
        let scenario = scenario::read("env/one", &scenario).unwrap();
        let contract = read(&text).unwrap();
        ledger(&contract, &[scenario], &builds().unwrap())
            .problems
            .into_iter()
            .filter(|problem| !problem.starts_with("built-in:"))
            .collect()
    }

    const CLAUSE: &str = "[[clause]]\nid = 'ENV-1'\nlevel = 'must'\nsays = 's'\n";
    const CHECK: &str =
        "[[expect]]\ncheck = 'a'\nclause = ['ENV-1']\nwarnings = { text = 'x', times = 1 }\n";
    const RED: &str = "[[red]]\ntitle = 'r'\nflips = [{ check = 'a', class = 'missing' }]\n";

    #[test]
    fn a_clause_with_a_check_that_a_control_turns_is_mapped() {
        assert_eq!(problems(CLAUSE, &format!("{CHECK}{RED}")), [""; 0]);
    }

    #[test]
    fn a_clause_without_a_check_is_a_problem() {
        assert_eq!(problems(CLAUSE, ""), ["ENV-1 is proved by nothing"]);
    }

    #[test]
    fn a_check_that_no_control_turns_is_a_problem_unless_it_is_reviewed() {
        assert_eq!(
            problems(CLAUSE, CHECK),
            ["env/one:a is turned by no control"]
        );
        let reviewed = format!("{CLAUSE}[[unkilled]]\ncheck = 'env/one:a'\nreason = 'r'\n");
        assert_eq!(problems(&reviewed, CHECK), [""; 0]);
        assert_eq!(
            problems(&reviewed, &format!("{CHECK}{RED}")),
            ["env/one:a is listed as turned by no control, and one does"]
        );
    }

    #[test]
    fn a_check_of_an_unknown_clause_is_a_problem() {
        assert_eq!(
            problems("", &format!("{CHECK}{RED}")),
            ["env/one:a names ENV-1, which is no clause"]
        );
    }

    #[test]
    fn a_pending_clause_with_a_check_is_a_problem() {
        let pending = format!("{CLAUSE}pending = 'later'\n");
        assert_eq!(problems(&pending, ""), [""; 0]);
        assert_eq!(
            problems(&pending, &format!("{CHECK}{RED}")),
            ["ENV-1 is pending and has checks"]
        );
    }

    #[test]
    fn a_check_of_another_revision_proves_nothing_here() {
        let clause = format!("{CLAUSE}revisions = ['rfc']\n");
        assert_eq!(
            problems(&clause, &format!("{CHECK}{RED}")),
            ["ENV-1 is proved by nothing"]
        );
    }
}
