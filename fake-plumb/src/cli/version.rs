//! `version`: which plumb this claims to be, and that it is a stand-in.

use std::process::ExitCode;

use serde_json::json;

use super::{CliError, read};
use crate::args::Flags;
use crate::generation::Generation;
use crate::logo;
use crate::setting::Setting;

pub(super) fn run(setting: &Setting, rest: &[String]) -> Result<ExitCode, CliError> {
    let flags = Flags {
        switches: &["json"],
        values: &[],
    };
    let Some(given) = read(rest, flags, "Usage:\n  plumb version [--json]\n")? else {
        return Ok(ExitCode::SUCCESS);
    };
    let version = setting.generation.version();
    if given.has("json") {
        let object = json!({
            "version": version, "revision": "", "revision_known": false, "dirty": false, "dirty_known": false,
            "go_version": "", "os": std::env::consts::OS, "arch": std::env::consts::ARCH, "build_channel": "fake",
        });
        logo::plain(&format!("{}\n", serde_json::to_string_pretty(&object)?))?;
    } else {
        // The seed shows a `v` for the newest line, the measured build has none.
        let mark = if setting.generation == Generation::V0_17 {
            ""
        } else {
            "v"
        };
        logo::human(&format!(
            "plumb {mark}{version} (fake-plumb {})\n",
            env!("CARGO_PKG_VERSION")
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
