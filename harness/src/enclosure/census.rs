//! Counts plumb's daemons by their own command lines (RUN-10): at most one at a time, one and the same all run long,
//! and none once the run is over.
//!
//! The looks are the keeper's; what is made of them is pure. A daemon of the built-in plumb is known by the path it was
//! started under, because each way to behave is a plumb by itself; all that are called `plumb` are one and the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;

use crate::guard::Isolation;
use crate::supervise::process::{ProcessId, argv_of, id_of};

/// The names under which a daemon runs, the built-in one's last.
const NAMES: [&str; 2] = ["plumb", "fake-plumb"];

/// The word behind the name.
const DAEMON: &str = "daemon";

/// A daemon as it was seen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Daemon {
    /// Pid and start time.
    pub process: ProcessId,
    /// Which plumb it belongs to.
    pub plumb: String,
}

/// What the looks have shown so far.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Census {
    /// How often was looked during the run.
    looks: u64,
    /// How often after it.
    looks_after: u64,
    /// Who lived before the run; not counted.
    before: BTreeSet<ProcessId>,
    /// Every daemon of each plumb.
    seen: BTreeMap<String, BTreeSet<ProcessId>>,
    /// The daemons of the look before this one.
    #[serde(skip)]
    last: BTreeSet<Daemon>,
    /// Several of one plumb that lived through two looks together.
    together: BTreeMap<String, BTreeSet<ProcessId>>,
    /// Who lived through two looks after the run.
    after: BTreeSet<Daemon>,
    #[serde(skip)]
    is_over: bool,
}

/// Looks at every process there is.
pub fn look() -> BTreeSet<Daemon> {
    let processes = procfs::process::all_processes();
    processes
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|process| {
            let stat = process.stat().ok()?;
            let plumb = plumb_of(&argv_of(u32::try_from(stat.pid).ok()?)?)?;
            // One that has ended and waits for its parent has no command line any more, and is none.
            Some(Daemon {
                process: id_of(&stat),
                plumb,
            })
        })
        .collect()
}

/// Which plumb a command line is the daemon of, if it is one.
fn plumb_of(argv: &[String]) -> Option<String> {
    let [program, word, ..] = argv else {
        return None;
    };
    let name = Path::new(program).file_name()?.to_str()?;
    (word == DAEMON && NAMES.contains(&name)).then(|| {
        if name == NAMES[0] {
            name.to_owned()
        } else {
            program.clone()
        }
    })
}

impl Census {
    /// Begins; who is there already is not counted.
    pub fn begin(there: BTreeSet<Daemon>) -> Self {
        Self {
            before: there.into_iter().map(|daemon| daemon.process).collect(),
            ..Self::default()
        }
    }

    /// Takes a look. What is only seen once beside another may be a fork on its way to another command line.
    pub fn see(&mut self, mut now: BTreeSet<Daemon>) {
        now.retain(|daemon| !self.before.contains(&daemon.process));
        let twice: BTreeSet<Daemon> = now.intersection(&self.last).cloned().collect();
        if self.is_over {
            self.looks_after += 1;
            self.after.extend(twice);
        } else {
            self.looks += 1;
            let mut by_plumb: BTreeMap<String, BTreeSet<ProcessId>> = BTreeMap::new();
            for daemon in twice {
                let same = by_plumb.entry(daemon.plumb.clone()).or_default();
                same.insert(daemon.process);
                self.seen
                    .entry(daemon.plumb)
                    .or_default()
                    .insert(daemon.process);
            }
            for (plumb, processes) in by_plumb.into_iter().filter(|(_, some)| some.len() > 1) {
                self.together.entry(plumb).or_default().extend(processes);
            }
        }
        self.last = now;
    }

    /// The run is over: from here on there has to be none.
    pub fn over(&mut self) {
        self.is_over = true;
        self.last.clear();
    }

    /// What is not as it has to be. Where each scenario has a daemon of its own, they come one after another.
    pub fn problems(&self, isolation: Isolation) -> Vec<String> {
        let pids = |processes: &BTreeSet<ProcessId>| {
            let pids: Vec<String> = processes.iter().map(|one| one.pid.to_string()).collect();
            pids.join(", ")
        };
        let mut problems = Vec::new();
        if self.looks < 2 {
            problems.push(format!(
                "only {} looks were taken during the run",
                self.looks
            ));
        }
        for (plumb, processes) in &self.seen {
            if let Some(together) = self.together.get(plumb) {
                let pids = pids(together);
                problems.push(format!("several daemons of {plumb} at a time: pids {pids}"));
            } else if processes.len() > 1 && isolation == Isolation::Namespace {
                let pids = pids(processes);
                problems.push(format!(
                    "several daemons of {plumb} one after another: pids {pids}"
                ));
            }
        }
        for daemon in &self.after {
            let pid = daemon.process.pid;
            problems.push(format!(
                "a daemon of {} lives after the run: pid {pid}",
                daemon.plumb
            ));
        }
        problems
    }

    /// One line for a person.
    pub fn line(&self) -> String {
        let daemons: usize = self.seen.values().map(BTreeSet::len).sum();
        format!(
            "census: {} looks during the run, {} after it; {daemons} daemons of {} plumbs; {} lived before",
            self.looks,
            self.looks_after,
            self.seen.len(),
            self.before.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Census, Daemon, plumb_of};
    use crate::guard::Isolation;
    use crate::supervise::process::ProcessId;

    fn daemon(pid: u32, plumb: &str) -> Daemon {
        Daemon {
            process: ProcessId { pid, start: 1 },
            plumb: plumb.into(),
        }
    }

    /// Looks as pids, `|` for the end of the run; the problems, joined.
    #[track_caller]
    fn check(before: &[u32], looks: &[&[u32]], after: &[&[u32]], expected: &str) {
        let all = |pids: &[u32]| pids.iter().map(|pid| daemon(*pid, "plumb")).collect();
        let mut census = Census::begin(all(before));
        for pids in looks {
            census.see(all(pids));
        }
        census.over();
        for pids in after {
            census.see(all(pids));
        }
        assert_eq!(census.problems(Isolation::Namespace).join("; "), expected);
    }

    #[test]
    fn one_daemon_all_run_long_and_none_after_is_as_it_has_to_be() {
        check(&[], &[&[], &[7], &[7], &[7]], &[&[7], &[], &[]], "");
        check(&[3], &[&[3], &[3, 7], &[3, 7]], &[&[3], &[3]], "");
    }

    #[test]
    fn two_at_a_time_are_told_from_two_in_turn_and_from_a_fork() {
        let together = "several daemons of plumb at a time: pids 7, 8";
        check(&[], &[&[7], &[7, 8], &[7, 8]], &[], together);
        let in_turn = "several daemons of plumb one after another: pids 7, 8";
        check(&[], &[&[7], &[7], &[8], &[8]], &[], in_turn);
        check(&[], &[&[7], &[7, 8], &[7], &[7]], &[], "");
    }

    #[test]
    fn with_a_daemon_for_each_scenario_they_come_in_turn() {
        let mut census = Census::begin([].into());
        for pid in [7, 7, 8, 8] {
            census.see([daemon(pid, "plumb")].into());
        }
        assert_eq!(census.problems(Isolation::Daemon), Vec::<String>::new());
        assert_eq!(census.problems(Isolation::Namespace).len(), 1);
    }

    #[test]
    fn one_that_stays_and_a_run_that_nobody_looked_at_are_no_success() {
        let stays = "a daemon of plumb lives after the run: pid 7";
        check(&[], &[&[7], &[7]], &[&[7], &[7]], stays);
        check(
            &[],
            &[&[7]],
            &[&[], &[]],
            "only 1 looks were taken during the run",
        );
    }

    #[test]
    fn daemons_are_known_by_name_and_first_word() {
        let of = |line: &str| plumb_of(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(of("/usr/bin/plumb daemon --x").as_deref(), Some("plumb"));
        assert_eq!(
            of("/r/p0/fake-plumb daemon").as_deref(),
            Some("/r/p0/fake-plumb")
        );
        for other in [
            "plumb serve",
            "plumb",
            "vim plumb daemon",
            "plumber daemon",
            "sh -c plumb daemon",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
