//! Judges green evidence again and again, with one fact changed each time, and notes which checks turned.
//!
//! Pure: no process, no file. Called by `dsh-e2e adequacy`, once for each folder of evidence.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::change::{Change, Site, changed, sites};
use super::part::Part;
use super::whole;
use crate::evidence::Evidence;
use crate::judge::{BuildFacts, judge};
use crate::plan::Run;
use crate::verdict::{Outcome, Verdict};

/// What the changes of one folder, or of many, came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// By check, as `family/stem:check`, with its case.
    pub checks: BTreeMap<String, Sight>,
    /// By fact, how many changes of it were judged and how many turned a check.
    pub facts: BTreeMap<String, Tally>,
}

/// What one check was seen to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sight {
    /// The facts whose change turned it.
    pub turned_by: BTreeSet<(String, Change)>,
    /// Files that it says it reads, and how many of their changes turned it.
    pub files: BTreeMap<String, usize>,
    /// How many changes of any file turned it.
    pub turns: usize,
}

/// Changes of one fact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many were judged.
    pub judged: usize,
    /// How many turned a check.
    pub turned: usize,
}

impl Survey {
    /// Adds what another survey came to.
    pub fn join(&mut self, other: Self) {
        for (check, sight) in other.checks {
            let mine = self.checks.entry(check).or_default();
            mine.turned_by.extend(sight.turned_by);
            mine.turns += sight.turns;
            for (file, turns) in sight.files {
                *mine.files.entry(file).or_default() += turns;
            }
        }
        for (fact, tally) in other.facts {
            let mine = self.facts.entry(fact).or_default();
            mine.judged += tally.judged;
            mine.turned += tally.turned;
        }
    }
}

/// The name under which a check of a run is listed.
fn named(run: &Run, check: &str) -> String {
    format!("{}:{check}", run.id)
}

/// Surveys the checks of one run that passed: of another a change shows nothing.
pub fn survey(run: &Run, evidence: &Evidence, build: &BuildFacts) -> Survey {
    let green = judge(run, evidence, build);
    let mut at_work = AtWork::new(run, build, &green, evidence);
    let mut copy = evidence.clone();
    for (part, value, site) in chosen(evidence) {
        let Some(other) = changed(&value, &site) else {
            continue;
        };
        if part.put(other, &mut copy).is_none() {
            continue;
        }
        let fact = format!("{}:{}", part.sort(evidence), site.fact);
        at_work.take(&copy, fact, site.change, |file| part.is_of(file, evidence));
        // What was there is put back; the types took it before.
        part.put(value.as_ref().clone(), &mut copy);
    }
    for one in whole::copies(evidence, build) {
        at_work.take(&one.evidence, one.fact.to_owned(), one.change, |file| {
            file == one.file || (one.file == "records/" && file.starts_with("records/"))
        });
    }
    at_work.survey
}

/// Every change that is judged: of a fact that stands in many places in the same words, as a message does in each later
/// request of its conversation, the first place and the last.
fn chosen(evidence: &Evidence) -> Vec<(Part, std::rc::Rc<Value>, Site)> {
    let mut all = Vec::new();
    let mut places: HashMap<(String, Change, String), (usize, usize)> = HashMap::new();
    for part in Part::all(evidence) {
        let value = std::rc::Rc::new(part.value(evidence));
        for site in sites(&value) {
            let words = value.pointer(&site.at).map(Value::to_string);
            let fact = format!("{}:{}", part.sort(evidence), site.fact);
            let key = (fact, site.change, words.unwrap_or_default());
            let here = all.len();
            places.entry(key).or_insert((here, here)).1 = here;
            all.push((part.clone(), std::rc::Rc::clone(&value), site));
        }
    }
    let kept: BTreeSet<usize> = places
        .into_values()
        .flat_map(|(first, last)| [first, last])
        .collect();
    all.into_iter()
        .enumerate()
        .filter(|(place, _)| kept.contains(place))
        .map(|(_, one)| one)
        .collect()
}

struct AtWork<'a> {
    run: &'a Run,
    build: &'a BuildFacts,
    green: &'a Verdict,
    survey: Survey,
}

impl<'a> AtWork<'a> {
    fn new(run: &'a Run, build: &'a BuildFacts, green: &'a Verdict, evidence: &Evidence) -> Self {
        let mut survey = Survey::default();
        for finding in &green.findings {
            if finding.outcome == Outcome::Pass {
                let sight = survey.checks.entry(named(run, &finding.check)).or_default();
                let parts = Part::all(evidence);
                let is_evidence =
                    |file: &&String| parts.iter().any(|part| part.is_of(file, evidence));
                let files = finding.read.iter().filter(is_evidence);
                sight.files = files.map(|file| (file.clone(), 0)).collect();
            }
        }
        Self {
            run,
            build,
            green,
            survey,
        }
    }

    /// Judges changed evidence, and notes what turned.
    fn take(
        &mut self,
        evidence: &Evidence,
        fact: String,
        change: Change,
        touches: impl Fn(&str) -> bool,
    ) {
        let again = judge(self.run, evidence, self.build);
        let mut turned = false;
        for (before, after) in self.green.findings.iter().zip(&again.findings) {
            if before.outcome != Outcome::Pass || after.outcome == Outcome::Pass {
                continue;
            }
            turned = true;
            let sight = self
                .survey
                .checks
                .entry(named(self.run, &before.check))
                .or_default();
            sight.turns += 1;
            sight.turned_by.insert((fact.clone(), change));
            for (file, turns) in &mut sight.files {
                if touches(file) {
                    *turns += 1;
                }
            }
        }
        let tally = self.survey.facts.entry(fact).or_default();
        tally.judged += 1;
        tally.turned += usize::from(turned);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Survey, survey};
    use crate::evidence::Evidence;
    use crate::judge::BuildFacts;
    use crate::plan::{Controls, Subject, expand};
    use crate::plumb::records::Record;
    use crate::scenario;

    /// The survey of one scenario that expects one effect.
    fn surveyed() -> Survey {
        let text = "format = 1\ntitle = 't'\nwhy = 'w'\n\
            [[expect]]\ncheck = 'a'\nclause = ['PLUG-1']\neffects = { tool = 'write', times = 1 }\n";
        let scenario = scenario::read("plumb/one", text).unwrap();
        let subject = Subject {
            build: "0.2.1".into(),
            revision: "note".into(),
        };
        let evidence = Evidence {
            records: vec![Record(json!({ "id": "r1" }))],
            ledger: Some(vec![
                json!({ "tool": "write", "record": "r1", "time": "t" }),
            ]),
            ..Evidence::default()
        };
        let runs = expand(&[scenario], &subject, Controls::None);
        survey(&runs[0], &evidence, &BuildFacts::default())
    }

    #[test]
    fn a_fact_that_a_check_reads_turns_it_and_another_turns_nothing() {
        let all = surveyed();
        assert!(all.checks["plumb/one:a"].files["effects.jsonl"] > 0);
        assert!(all.facts["effects:/*/tool"].turned > 0);
        assert!(
            all.facts["effects:/*/record"].turned > 0,
            "an effect of another record"
        );
        assert!(all.facts["effects:/*/time"].judged > 0);
        assert_eq!(all.facts["effects:/*/time"].turned, 0);
    }

    #[test]
    fn joined_surveys_add_up() {
        let mut both = surveyed();
        both.join(surveyed());
        let (one, two) = (surveyed(), both);
        let check = "plumb/one:a";
        assert_eq!(two.checks[check].turns, 2 * one.checks[check].turns);
    }
}
