//! `assumptions`: the numbered list of what the fake merely assumes of plumb.

use std::process::ExitCode;

use super::{CliError, read};
use crate::args::Flags;
use crate::assumed::{ALL, Assumption};
use crate::logo;

pub(super) fn run(rest: &[String]) -> Result<ExitCode, CliError> {
    let flags = Flags {
        switches: &["json"],
        values: &[],
    };
    let Some(given) = read(rest, flags, "Usage:\n  plumb assumptions [--json]\n")? else {
        return Ok(ExitCode::SUCCESS);
    };
    if given.has("json") {
        logo::plain(&format!("{}\n", serde_json::to_string(ALL)?))?;
    } else {
        let line =
            |a: &Assumption| format!("{:<4} {:<15} {:<5} {}\n", a.id, a.topic, a.basis, a.what);
        logo::human(&ALL.iter().map(line).collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}
