//! What the changes of evidence came to, weighed against the reviewed list of facts that no check reads.
//!
//! Pure. Called by `dsh-e2e adequacy`; `page` is for a person, the types themselves for a program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::faults::Faults;
use super::survey::Survey;

/// The reviewed list that is compiled in.
const TEXT: &str = include_str!("../../../scenarios/unread.toml");

/// Facts that no check reads, and files of which one change is not enough to turn a check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reviewed {
    /// The version of this file's own format; 1.
    pub format: u32,
    /// Facts that no check reads.
    #[serde(default)]
    pub fact: Vec<Unread>,
    /// Files that a check reads and of which no single change turns it.
    #[serde(default)]
    pub file: Vec<Unmoved>,
}

/// Facts that no check reads.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unread {
    /// The facts, as `sort:/place`; `**` at the end stands for all below it.
    pub facts: Vec<String>,
    /// Why nobody needs to read them.
    pub reason: String,
}

/// A file that a check reads without one change of it turning the check.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unmoved {
    /// The checks, as `family/stem:check`, a case of them as `family/stem@case:check`, or `*:check` for all scenarios.
    pub checks: Vec<String>,
    /// The file, by its name or by its sort.
    pub file: String,
    /// Why.
    pub reason: String,
}

/// A reviewed list that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReviewedError {
    /// It is not what its format asks for.
    #[error("scenarios/unread.toml: {reason}")]
    Malformed {
        /// What is wrong with it, and where.
        reason: String,
    },
}

/// Reads the list that is compiled in.
pub fn reviewed() -> Result<Reviewed, ReviewedError> {
    read(TEXT)
}

fn read(text: &str) -> Result<Reviewed, ReviewedError> {
    let malformed = |reason| ReviewedError::Malformed { reason };
    let list: Reviewed = toml::from_str(text).map_err(|error| malformed(error.to_string()))?;
    if list.format == 1 {
        Ok(list)
    } else {
        let reason = format!("format {} is not known here, only 1 is", list.format);
        Err(malformed(reason))
    }
}

/// The whole result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Clean runs whose evidence was changed.
    pub surveyed: usize,
    /// How many changes were judged.
    pub changes: usize,
    /// By check, how many changes turned it.
    pub turned: BTreeMap<String, usize>,
    /// Checks that no change turned.
    pub vacuous: BTreeSet<String>,
    /// Files that a check says it reads and of which no change turned it.
    pub unmoved: BTreeSet<(String, String)>,
    /// Facts that no check reads, and that are not reviewed.
    pub unread: BTreeSet<String>,
    /// Entries of the reviewed list that do not apply any more.
    pub stale: BTreeSet<String>,
    /// What the named faults came to.
    pub faults: Faults,
}

impl Report {
    /// Whether nothing survived.
    pub fn is_adequate(&self) -> bool {
        self.surveyed > 0
            && self.vacuous.is_empty()
            && self.unmoved.is_empty()
            && self.unread.is_empty()
            && self.stale.is_empty()
            && self.faults.is_adequate()
    }
}

/// Weighs what the changes came to.
pub fn weigh(surveyed: usize, survey: &Survey, faults: Faults, list: &Reviewed) -> Report {
    let mut report = Report {
        surveyed,
        faults,
        changes: survey.facts.values().map(|tally| tally.judged).sum(),
        ..Report::default()
    };
    let mut applied = BTreeSet::new();
    for (check, sight) in &survey.checks {
        report.turned.insert(check.clone(), sight.turns);
        if sight.turns == 0 {
            report.vacuous.insert(check.clone());
            continue;
        }
        for (file, turns) in &sight.files {
            let entry = list.file.iter().position(|one| one.is_of(check, file));
            match (entry, turns) {
                (Some(entry), 0) => {
                    applied.insert(entry);
                }
                (None, 0) => {
                    report.unmoved.insert((check.clone(), file.clone()));
                }
                _ => {}
            }
        }
    }
    for (entry, one) in list.file.iter().enumerate() {
        if !applied.contains(&entry) {
            let checks = one.checks.join(", ");
            let what = format!("{checks} are listed as not moved by {}, and are", one.file);
            report.stale.insert(what);
        }
    }
    facts(survey, list, &mut report);
    report
}

fn facts(survey: &Survey, list: &Reviewed, report: &mut Report) {
    let entries = || list.fact.iter().flat_map(|one| &one.facts);
    for (fact, tally) in &survey.facts {
        if tally.turned == 0 && !entries().any(|entry| covers(entry, fact)) {
            report.unread.insert(fact.clone());
        }
    }
    for entry in entries() {
        let mut theirs = survey
            .facts
            .iter()
            .filter(|(fact, _)| covers(entry, fact))
            .peekable();
        if theirs.peek().is_none() {
            report
                .stale
                .insert(format!("{entry} is listed as unread and is no fact"));
        }
        for (fact, _) in theirs.filter(|(_, tally)| tally.turned > 0) {
            report
                .stale
                .insert(format!("{fact} is listed as unread, and a check reads it"));
        }
    }
}

/// Whether an entry of the list is about a fact.
fn covers(entry: &str, fact: &str) -> bool {
    match entry.strip_suffix("/**") {
        Some(above) => fact
            .strip_prefix(above)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        None => entry == fact,
    }
}

impl Unmoved {
    fn is_of(&self, check: &str, file: &str) -> bool {
        let is_check = self.checks.iter().any(|one| match one.strip_prefix('*') {
            Some(end) => check.ends_with(end),
            None => one == check,
        });
        is_check
            && match self.file.split_once('*') {
                Some((start, end)) => file.starts_with(start) && file.ends_with(end),
                None => self.file == file,
            }
    }
}

/// The result for a person.
pub fn page(report: &Report) -> String {
    let mut text = String::new();
    let mut line = |what: String| {
        // Writing to a string does not fail.
        writeln!(text, "{what}").ok();
    };
    for (check, turns) in &report.turned {
        line(format!("{turns:>6}  {check}"));
    }
    for check in &report.vacuous {
        line(format!("vacuous: no change of any fact turns {check}"));
    }
    for (check, file) in &report.unmoved {
        line(format!(
            "survivor: {check} says it reads {file}, and no change of it turns it"
        ));
    }
    for fact in &report.unread {
        line(format!(
            "unread: no check reads {fact}; see scenarios/unread.toml"
        ));
    }
    for entry in &report.stale {
        line(format!("stale: {entry}"));
    }
    let faults = &report.faults;
    for fault in &faults.faults {
        let turns = fault.turns.join(", ");
        line(format!(
            "fault: {} {} ({}) turns {turns}",
            fault.build, fault.id, fault.title
        ));
        for surprise in &fault.surprises {
            line(format!(
                "not caught: {} {}: {surprise}",
                fault.build, fault.id
            ));
        }
    }
    for (run, why) in &faults.unclean {
        line(format!("not clean: {run}: {}", why.join("; ")));
    }
    for check in &faults.survivors {
        line(format!("survivor: no fault turns {check}"));
    }
    let caught = faults
        .faults
        .iter()
        .filter(|one| one.surprises.is_empty())
        .count();
    line(format!(
        "{} clean runs, {} changes, {} checks: {} vacuous, {} not moved, {} facts unread, {} stale; {caught} of {} faults caught, {} checks survive them",
        report.surveyed,
        report.changes,
        report.turned.len(),
        report.vacuous.len(),
        report.unmoved.len(),
        report.unread.len(),
        report.stale.len(),
        faults.faults.len(),
        faults.survivors.len(),
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::super::survey::{Sight, Survey, Tally};
    use super::{Report, read, weigh};
    use crate::adequacy::Faults;

    /// One check that says it reads one file, and one fact, turned so often; weighed with a list.
    fn weighed(turns: usize, file_turns: usize, fact_turns: usize, list: &str) -> Report {
        let sight = Sight {
            turns,
            files: [("facts.json".to_owned(), file_turns)].into(),
            ..Sight::default()
        };
        let tally = Tally {
            judged: 3,
            turned: fact_turns,
        };
        let survey = Survey {
            checks: [("env/one:a".to_owned(), sight)].into(),
            facts: [("facts:/wall_us".to_owned(), tally)].into(),
        };
        let list = read(&format!("format = 1\n{list}")).unwrap();
        weigh(1, &survey, Faults::default(), &list)
    }

    #[test]
    fn a_check_that_everything_turns_is_adequate() {
        assert!(weighed(1, 1, 1, "").is_adequate());
    }

    #[test]
    fn a_check_that_nothing_turns_is_vacuous() {
        assert!(weighed(0, 0, 1, "").vacuous.contains("env/one:a"));
    }

    const FILE: &str = "[[file]]\nchecks = ['*:a']\nfile = 'facts.json'\nreason = 'r'\n";

    #[test]
    fn a_file_that_does_not_move_its_check_is_a_survivor_unless_it_is_reviewed() {
        assert_eq!(weighed(1, 0, 1, "").unmoved.len(), 1);
        assert!(weighed(1, 0, 1, FILE).is_adequate());
        assert_eq!(weighed(1, 1, 1, FILE).stale.len(), 1);
    }

    const FACT: &str = "[[fact]]\nfacts = ['facts:/wall_us']\nreason = 'r'\n";

    #[test]
    fn a_fact_that_nobody_reads_is_told_unless_it_is_reviewed() {
        assert_eq!(weighed(1, 1, 0, "").unread.len(), 1);
        assert!(weighed(1, 1, 0, FACT).is_adequate());
        assert_eq!(weighed(1, 1, 1, FACT).stale.len(), 1);
        let gone = FACT.replace("wall_us", "gone");
        assert_eq!(weighed(1, 1, 1, &gone).stale.len(), 1);
    }
}
