//! `namespace create | list | release`, over the control socket of a live daemon (assumed, A1 and A3).
//!
//! A token is read from the environment or stdin and printed by `create` alone.

use std::io::Read;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::Value;

use super::{CliError, read, unknown};
use crate::args::Flags;
use crate::daemon::control::{Row, ask};
use crate::dirs::Dirs;
use crate::logo;
use crate::namespace::{Token, Wanted, state_word};
use crate::setting::Setting;
use crate::time::parse_span;

const USAGE: &str = "\
Usage:
  plumb namespace create [--ttl 30m] [--owner-pid PID] [--json]
  plumb namespace list [--json]
  plumb namespace release [--token-stdin] [--json]

A token is a secret: release reads it from PLUMB_NAMESPACE or, with --token-stdin, from stdin.
";

/// How long a namespace lives unless told otherwise.
const DEFAULT_TTL: &str = "30m";

const LIMIT: Duration = Duration::from_secs(10);

pub(super) fn run(setting: &Setting, rest: &[String]) -> Result<ExitCode, CliError> {
    match rest.split_first() {
        None => logo::human(USAGE)?,
        Some((word, _)) if matches!(word.as_str(), "--help" | "-h" | "help") => logo::human(USAGE)?,
        Some((word, rest)) => match word.as_str() {
            "create" => create(setting, rest)?,
            "list" => list(setting, rest)?,
            "release" => release(setting, rest)?,
            other => return Err(unknown(other, "plumb namespace")),
        },
    }
    Ok(ExitCode::SUCCESS)
}

fn create(setting: &Setting, rest: &[String]) -> Result<(), CliError> {
    let flags = Flags {
        switches: &["json"],
        values: &["ttl", "owner-pid"],
    };
    let Some(given) = read(rest, flags, USAGE)? else {
        return Ok(());
    };
    let ttl = given.value("ttl").unwrap_or(DEFAULT_TTL);
    let span = parse_span(ttl).ok_or_else(|| CliError::Usage {
        what: format!("--ttl \"{ttl}\" is not a duration"),
        remedy: "write it as 90s, 30m or 2h",
    })?;
    let owner_pid = given.value("owner-pid").map(|pid| {
        let what = || format!("--owner-pid \"{pid}\" is not a pid");
        pid.parse().map_err(|_| CliError::Usage {
            what: what(),
            remedy: "give a plain decimal number",
        })
    });
    let ttl_ms = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    let wanted = serde_json::to_string(&Wanted {
        ttl_ms,
        owner_pid: owner_pid.transpose()?,
    })?;
    let answer = tell(setting, &format!("namespace-create {wanted}"))?;
    if given.has("json") {
        return Ok(logo::plain(&format!("{answer}\n"))?);
    }
    let answer: Value = serde_json::from_str(&answer)?;
    let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
    Ok(logo::human(&format!(
        "Namespace created.\n  id:      {}\n  token:   {}\n  expires: {}\n",
        text("id"),
        text("token"),
        text("expires_at")
    ))?)
}

fn list(setting: &Setting, rest: &[String]) -> Result<(), CliError> {
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
    let answer = tell(setting, "namespace-list")?;
    if given.has("json") {
        return Ok(logo::plain(&format!("{answer}\n"))?);
    }
    let rows: Vec<Row> = serde_json::from_str(&answer)?;
    if rows.is_empty() {
        return Ok(logo::human("No namespaces.\n")?);
    }
    let line = |row: &Row| {
        let owner = row.owner_pid.map_or("-".to_owned(), |pid| pid.to_string());
        format!(
            "{:<12} {:<8} {owner:<8} {}\n",
            row.id.as_str(),
            state_word(row.state),
            row.expires_at
        )
    };
    let rows: String = rows.iter().map(line).collect();
    Ok(logo::human(&format!(
        "{:<12} {:<8} {:<8} EXPIRES\n{rows}",
        "ID", "STATE", "OWNER"
    ))?)
}

fn release(setting: &Setting, rest: &[String]) -> Result<(), CliError> {
    let flags = Flags {
        switches: &["json", "token-stdin"],
        values: &[],
    };
    let Some(given) = read(rest, flags, USAGE)? else {
        return Ok(());
    };
    let token = if given.has("token-stdin") {
        let mut text = String::new();
        std::io::stdin()
            .lock()
            .take(1024)
            .read_to_string(&mut text)?;
        Some(Token::from_text(&text))
    } else {
        setting.var("PLUMB_NAMESPACE").map(Token::from_text)
    };
    let token = token.ok_or_else(|| CliError::Usage {
        what: "no token to release".to_owned(),
        remedy: "set PLUMB_NAMESPACE, or pass --token-stdin and write the token to stdin",
    })?;
    let answer = tell(setting, &format!("namespace-release {}", token.reveal()))?;
    if given.has("json") {
        return Ok(logo::plain(&format!("{answer}\n"))?);
    }
    let answer: Value = serde_json::from_str(&answer)?;
    let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
    Ok(logo::human(&format!(
        "Namespace {} {}.\n",
        text("id"),
        text("state")
    ))?)
}

fn tell(setting: &Setting, line: &str) -> Result<String, CliError> {
    let dirs = Dirs::resolve(setting)?;
    Ok(ask(&dirs.control(), line, LIMIT)?)
}
