//! The daemon's log, narrowed to lines that carry an id of the scenario.

use std::collections::BTreeSet;

/// Lines whose `session_id`, or whose `adopted` or `previous` id, is one of `ids`.
///
/// After an adoption plumb's logger keeps the id from before it (measured), so every id that was ever adopted or
/// left for one of ours counts as ours too.
pub fn narrow(log: &str, ids: &BTreeSet<String>) -> String {
    let mut ours = ids.clone();
    loop {
        let before = ours.len();
        for line in log.lines() {
            let linked: Vec<&str> = ["adopted", "previous"]
                .iter()
                .filter_map(|key| value(line, key))
                .collect();
            if linked.iter().any(|id| ours.contains(*id)) {
                ours.extend(linked.iter().map(|id| (*id).to_owned()));
                ours.extend(value(line, "session_id").map(str::to_owned));
            }
        }
        if ours.len() == before {
            break;
        }
    }
    log.split_inclusive('\n')
        .filter(|line| value(line, "session_id").is_some_and(|id| ours.contains(id)))
        .collect()
}

/// How many further connections took over one of these sessions.
pub(crate) fn resumes(log: &[String], ids: &[&str]) -> usize {
    log.iter()
        .filter(|line| value(line, "adopted").is_some_and(|id| ids.contains(&id)))
        .count()
}

/// The value of a key of a logfmt line, without quotes: ids never need any.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let start = format!(" {key}=");
    let at = line.find(&start)? + start.len();
    line[at..].split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::{narrow, resumes};

    #[test]
    fn a_resume_counts_for_the_session_that_was_taken_over_alone() {
        let log = [
            "time=1 msg=\"resumed\" session_id=new-1 adopted=old-1 previous=new-1".to_owned(),
            "time=2 msg=\"attached\" session_id=old-1 root=/x".to_owned(),
        ];
        assert_eq!(resumes(&log, &["old-1"]), 1);
        assert_eq!(resumes(&log, &["new-1"]), 0);
    }

    #[test]
    fn lines_of_others_and_untagged_lines_are_left_out() {
        let log = "time=1 msg=\"a\" session_id=aa-1 root=/x\ntime=2 msg=\"b\" session_id=bb-2\ntime=3 msg=\"daemon: ready\"\n";
        let found = narrow(log, &["aa-1".to_owned()].into());
        assert_eq!(found, "time=1 msg=\"a\" session_id=aa-1 root=/x\n");
    }

    #[test]
    fn an_id_from_before_an_adoption_is_ours_too() {
        let log = "time=1 msg=\"adopted\" session_id=new-1 adopted=old-1 previous=new-1\n\
                   time=2 msg=\"later\" session_id=new-1\n";
        let found = narrow(log, &["old-1".to_owned()].into());
        assert_eq!(found.lines().count(), 2);
    }
}
