//! What happens in a run, as data. `drive` and the command line emit, reporters fold; nobody else prints.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::verdict::Verdict;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A build is ready to be driven.
    Ready {
        /// The build.
        build: String,
        /// Its version.
        version: String,
        /// The hash that identifies it.
        hash: String,
        /// What is started.
        executable: PathBuf,
        /// The revision of the contract that it is held to.
        revision: String,
    },
    /// Something about getting a build, in words.
    Getting {
        /// What.
        what: String,
    },
    /// A plumb is ready to be used.
    Plumb {
        /// The program.
        program: PathBuf,
        /// What it says of its version.
        version: String,
        /// How the scenarios are kept apart in it.
        isolation: String,
    },
    /// The run begins.
    Started {
        /// How many runs of scenarios it has.
        runs: usize,
        /// How many at a time.
        jobs: usize,
        /// Where its evidence goes.
        results: PathBuf,
    },
    /// A scenario begins.
    Begun {
        /// Its id.
        id: String,
        /// The build.
        build: String,
    },
    /// A scenario is over and judged.
    Judged {
        /// The verdict.
        verdict: Verdict,
        /// How long it took, in microseconds.
        wall_us: u64,
        /// Processor time of all its processes, in microseconds.
        cpu_us: u64,
        /// Its evidence.
        folder: PathBuf,
        /// The command that runs just this again.
        again: String,
    },
    /// The harness could not carry a run through.
    Broken {
        /// The run's id.
        id: String,
        /// The build.
        build: String,
        /// What broke.
        what: String,
        /// What there is of its evidence.
        folder: PathBuf,
    },
    /// A reviewed list of a build is not as it should be.
    Review {
        /// The build.
        build: String,
        /// What is wrong with it.
        what: String,
    },
    /// The run was stopped before its end.
    Stopped {
        /// Why.
        why: String,
    },
    /// The run is over.
    Over {
        /// How long it took, in microseconds.
        wall_us: u64,
        /// Processor time of all scenarios, in microseconds.
        cpu_us: u64,
        /// Where its evidence is.
        results: PathBuf,
        /// Numbers of the assumptions about plumb on which verdicts rest.
        assumes: Vec<String>,
    },
}

/// Microseconds of a duration.
pub fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
