//! Reports: folds over events and verdicts. A reporter has no clock, no IO and no state of its own choosing.

mod account;
mod github;
mod json;
mod junit;
mod plain;

pub use account::{Account, Judged, Trouble};
pub use github::github_report;
pub use json::json_report;
pub use junit::{JunitError, junit_report};
pub use plain::{Plain, page};

/// The name that reports print for a run: the last part of its path.
fn stem(scenario: &str) -> &str {
    scenario.rsplit_once('/').map_or(scenario, |(_, stem)| stem)
}
