//! `service install | show`: the profile without which no daemon starts under account authority (assumed, A17).

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::process::ExitCode;

use serde_json::json;

use super::{CliError, read, unknown};
use crate::args::Flags;
use crate::dirs::{Authority, Dirs};
use crate::logo;
use crate::service::Profile;
use crate::setting::Setting;

const USAGE: &str = "\
Usage:
  plumb service install
  plumb service show [--json]

install writes the profile and starts nothing; `plumb restart --force` starts the daemon.
";

pub(super) fn run(setting: &Setting, rest: &[String]) -> Result<ExitCode, CliError> {
    match rest.split_first().map(|(word, rest)| (word.as_str(), rest)) {
        None | Some(("--help" | "-h" | "help", _)) => logo::human(USAGE)?,
        Some(("install", rest)) => install(setting, rest)?,
        Some(("show", rest)) => show(setting, rest)?,
        Some((other, _)) => return Err(unknown(other, "plumb service")),
    }
    Ok(ExitCode::SUCCESS)
}

fn install(setting: &Setting, rest: &[String]) -> Result<(), CliError> {
    if read(
        rest,
        Flags {
            switches: &[],
            values: &[],
        },
        USAGE,
    )?
    .is_none()
    {
        return Ok(());
    }
    let dirs = Dirs::resolve(setting)?;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&dirs.config)?;
    let profile = Profile::of(&dirs, setting.generation);
    fs::write(dirs.service_profile(), serde_json::to_vec_pretty(&profile)?)?;
    Ok(logo::human(&format!(
        "Service profile written to {}. Nothing was started.\n",
        dirs.service_profile().display()
    ))?)
}

fn show(setting: &Setting, rest: &[String]) -> Result<(), CliError> {
    let Some(given) = read(
        rest,
        Flags {
            switches: &["json"],
            values: &[],
        },
        USAGE,
    )?
    else {
        return Ok(());
    };
    let dirs = Dirs::resolve(setting)?;
    let profile = Profile::of(&dirs, setting.generation);
    let authority = match dirs.authority {
        Authority::Account => "account",
        Authority::Environment => "environment",
    };
    let mut object = serde_json::to_value(&profile)?;
    object["authority"] = json!(authority);
    object["profile"] = json!(dirs.service_profile());
    object["installed"] = json!(dirs.service_profile().exists());
    if given.has("json") {
        return Ok(logo::plain(&format!("{object}\n"))?);
    }
    let line = |(name, value): (&String, &serde_json::Value)| {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        format!("{:<13} {value}\n", format!("{name}:"))
    };
    let text: String = object.as_object().into_iter().flatten().map(line).collect();
    Ok(logo::human(&text)?)
}
