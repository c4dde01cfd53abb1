//! Placeholder until the crate lands.

use std::ffi::OsString;
use std::process::ExitCode;

/// Placeholder.
pub fn main_with(_argv: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::FAILURE
}

/// Placeholder.
pub fn assumption_ids() -> Vec<String> {
    Vec::new()
}
