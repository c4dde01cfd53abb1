//! What is wrong with the reviewed deviations of a build, beside what a verdict shows: overdue, or about nothing.
//!
//! Called once for each build of a run. The day is the caller's: nothing here reads a clock.

use jiff::civil::Date;

use crate::agent::dsh::reviewed::Deviation;
use crate::plan::Run;

/// How much of the library a run holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All scenarios: an entry that no check meets is about nothing.
    Whole,
    /// A selection: an entry may be about what was left out.
    Part,
}

/// One sentence for each entry that is overdue or that no check of these runs meets.
#[expect(
    clippy::needless_pass_by_value,
    reason = "an iterator that can be cloned is cheap to give away, and reads better at the call"
)]
pub fn review<'a>(
    deviations: &[Deviation],
    runs: impl Iterator<Item = &'a Run> + Clone,
    extent: Extent,
    today: Date,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for deviation in deviations {
        let clause = &deviation.clause;
        if deviation.until.0 < today {
            wrong.push(format!(
                "{clause} was accepted until {}; {} looks at it again",
                deviation.until.0, deviation.owner
            ));
        }
        let mut plain = runs.clone().filter(|run| run.id.control.is_none());
        let met = plain.any(|run| {
            run.expects.iter().any(|expect| {
                let check = format!("{}:{}", run.id.scenario, expect.check);
                expect.clause.iter().any(|id| deviation.is_of(&check, id))
            })
        });
        if extent == Extent::Whole && !met {
            wrong.push(format!("no check of this build meets {clause}"));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::{Extent, review};
    use crate::agent::dsh::find;
    use crate::plan::tests_support::run_with_flips;

    #[track_caller]
    fn check(extent: Extent, today: &str, expected: usize) {
        let deviations = find("rc8").unwrap().deviations;
        let run = run_with_flips(Vec::new());
        let wrong = review(
            &deviations,
            std::iter::once(&run),
            extent,
            today.parse().unwrap(),
        );
        assert_eq!(wrong.len(), expected * deviations.len(), "{wrong:?}");
    }

    #[test]
    fn an_entry_is_good_on_its_last_day_and_overdue_after_it() {
        check(Extent::Part, "2027-05-31", 0);
        check(Extent::Part, "2027-06-01", 1);
    }

    #[test]
    fn an_entry_that_no_check_of_a_whole_run_meets_is_about_nothing() {
        check(Extent::Whole, "2027-05-31", 1);
    }
}
