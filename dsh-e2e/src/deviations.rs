//! `deviations`: what the pinned builds are known to break, and until when that is accepted.

use std::io::Write as _;

use harness::agent::dsh::builds;
use harness::exit::Exit;

use crate::refusal::Refusal;

/// Prints every reviewed deviation, build by build.
pub(crate) fn main() -> Result<Exit, Refusal> {
    let mut out = std::io::stdout().lock();
    for build in builds().map_err(Refusal::broken)? {
        writeln!(out, "dsh {}", build.name()).map_err(Refusal::broken)?;
        for one in &build.deviations {
            let checks = if one.checks.is_empty() {
                "every check".to_owned()
            } else {
                one.checks.join(", ")
            };
            writeln!(
                out,
                "    {} ({}) until {}, {}: {}\n        shown by {checks}",
                one.clause, one.class, one.until.0, one.owner, one.reason
            )
            .map_err(Refusal::broken)?;
        }
    }
    Ok(Exit::AsExpected)
}
