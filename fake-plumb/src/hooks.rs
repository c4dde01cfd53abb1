//! `hooks`: what plumb does inside an agent's own hooks. `run-claude` reads one event and answers it.
//!
//! It fails open: whatever it cannot understand gets no output and exit 0.

mod claude;

use std::io;
use std::process::ExitCode;

use crate::logo;
use crate::setting::Setting;

/// Runs `hooks` or one of its commands.
pub(crate) fn run(setting: &Setting, rest: &[String]) -> io::Result<ExitCode> {
    match rest.first().map(String::as_str) {
        Some("run-claude") => claude::run(setting),
        Some("run-codex") => Ok(ExitCode::SUCCESS),
        None => {
            logo::human(
                "AGENT        HOOK\nclaude-code  not installed\ncodex        not installed\n",
            )?;
            Ok(ExitCode::SUCCESS)
        }
        Some(other) => {
            logo::error(&format!("hooks {other}: not in the fake"))?;
            Ok(ExitCode::FAILURE)
        }
    }
}
