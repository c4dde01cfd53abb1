//! The command line: what was asked, and where it is done.
//!
//! Called by [`crate::main_with`]. Each command has a file; this one only dispatches and prints errors.

mod assumptions;
mod control;
mod debug;
mod mail;
mod namespace;
mod service;
mod sessions;
mod version;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use thiserror::Error;

use crate::args::{self, ArgsError, Flags, Given};
use crate::daemon::control::ControlError;
use crate::daemon::listen::{self, DaemonError};
use crate::dirs::DirsError;
use crate::namespace::Token;
use crate::serve::spawn::SpawnError;
use crate::serve::{self, Options, Reconnect, ServeError};
use crate::setting::{Setting, SettingError};
use crate::{hooks, logo};

/// Why a command did not do what was asked; always exit 1.
#[derive(Debug, Error)]
enum CliError {
    #[error("unknown command \"{name}\" for \"{of}\"\n\nTry: plumb --help{hint}")]
    UnknownCommand {
        name: String,
        of: &'static str,
        hint: &'static str,
    },
    #[error("{what}; {remedy}")]
    Usage { what: String, remedy: &'static str },
    #[error(
        "refusing to {verb} the daemon without confirmation: stdin is not a terminal. {sessions} live session(s) would lose it; pass --force"
    )]
    Unconfirmed { verb: &'static str, sessions: usize },
    #[error("daemon (PID {pid}) is still running {waited:?} after SIGTERM")]
    WouldNotEnd {
        pid: u32,
        waited: std::time::Duration,
    },
    #[error(transparent)]
    Args(#[from] ArgsError),
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Dirs(#[from] DirsError),
    #[error(transparent)]
    Daemon(#[from] DaemonError),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error(transparent)]
    Mail(#[from] crate::mail::MailError),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("write JSON: {0}")]
    Json(#[from] serde_json::Error),
}

const HELP: &str = "\
Usage:
  plumb [command]

Commands:
  version       Print the version
  serve         Serve MCP over stdin and stdout
  restart       Restart the daemon of this root, or start one
  stop          Stop the daemon of this root
  sessions      List live sessions
  mail          Count the notes that wait for a session
  debug         Look into the daemon
  hooks         Show the agent hooks
  assumptions   List what this stand-in merely assumes of plumb
";
const HELP_NEWER: &str = "  namespace     Create, list and release namespaces
  service       Install or show the service profile
";

/// The name that leads a command line whose `argv[0]` says nothing.
const OWN_NAME: &str = "fake-plumb";

/// Runs the whole command line.
pub(crate) fn main(argv: Vec<OsString>) -> ExitCode {
    match run(argv) {
        Ok(code) => code,
        Err(error) => {
            // If stderr is gone too, the exit status is all there is to say.
            drop(logo::error(&error));
            ExitCode::FAILURE
        }
    }
}

fn run(argv: Vec<OsString>) -> Result<ExitCode, CliError> {
    let mut argv = argv.into_iter();
    let argv0 = argv.next().unwrap_or_else(|| OsString::from(OWN_NAME));
    let words: Vec<String> = argv
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let (generation, words) = take_generation(words)?;
    let setting = Setting::from_process(argv0, generation.as_deref())?;
    let Some((command, rest)) = words.split_first() else {
        return help(&setting);
    };
    match command.as_str() {
        "--help" | "-h" | "help" => help(&setting),
        "version" | "--version" => version::run(&setting, rest),
        "serve" => serve_command(&setting, rest),
        "daemon" => Ok(listen::run(setting).map(|()| ExitCode::SUCCESS)?),
        "restart" => control::restart(&setting, rest),
        "stop" => control::stop(&setting, rest),
        "sessions" => sessions::run(&setting, rest),
        "mail" => mail::run(&setting, rest),
        "debug" => debug::run(&setting, rest),
        "hooks" => Ok(hooks::run(&setting, rest)?),
        "assumptions" => assumptions::run(rest),
        "namespace" if setting.generation.has_namespaces() => namespace::run(&setting, rest),
        "service" if setting.generation.has_service() => service::run(&setting, rest),
        other => Err(unknown(other, "plumb")),
    }
}

fn unknown(name: &str, of: &'static str) -> CliError {
    let hint = if name.starts_with("ser") {
        "\n\nDid you mean this?\n  serve"
    } else {
        ""
    };
    CliError::UnknownCommand {
        name: name.to_owned(),
        of,
        hint,
    }
}

/// Takes the fake's own `--as` out, wherever it stands.
fn take_generation(words: Vec<String>) -> Result<(Option<String>, Vec<String>), ArgsError> {
    let mut generation = None;
    let mut rest = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if let Some(value) = word.strip_prefix("--as=") {
            generation = Some(value.to_owned());
        } else if word == "--as" {
            generation = Some(words.next().ok_or(ArgsError::NeedsValue { flag: word })?);
        } else {
            rest.push(word);
        }
    }
    Ok((generation, rest))
}

fn help(setting: &Setting) -> Result<ExitCode, CliError> {
    let newer = if setting.generation.has_namespaces() {
        HELP_NEWER
    } else {
        ""
    };
    logo::human(&format!("{HELP}{newer}"))?;
    Ok(ExitCode::SUCCESS)
}

/// Reads flags; with `--help` prints `usage` and gives nothing.
fn read(rest: &[String], flags: Flags, usage: &str) -> Result<Option<Given>, CliError> {
    let given = args::parse(rest, flags)?;
    if given.wants_help {
        logo::human(usage)?;
        return Ok(None);
    }
    Ok(Some(given))
}

fn serve_command(setting: &Setting, rest: &[String]) -> Result<ExitCode, CliError> {
    const OLD: &[&str] = &["allow-dir", "workspace"];
    const NEW: &[&str] = &["allow-dir", "workspace", "namespace"];
    let has_namespaces = setting.generation.has_namespaces();
    let flags = Flags {
        switches: &["no-reconnect"],
        values: if has_namespaces { NEW } else { OLD },
    };
    let usage = "Usage:\n  plumb serve [--no-reconnect] [--allow-dir DIR]... [--workspace DIR]\n";
    let Some(given) = read(rest, flags, usage)? else {
        return Ok(ExitCode::SUCCESS);
    };
    let is_off = matches!(
        setting.var("PLUMB_PROXY_RECONNECT"),
        Some("0" | "false" | "off")
    );
    let token = given
        .value("namespace")
        .or(setting.var("PLUMB_NAMESPACE"))
        .filter(|_| has_namespaces);
    let options = Options {
        reconnect: if is_off || given.has("no-reconnect") {
            Reconnect::No
        } else {
            Reconnect::Yes
        },
        allow_dirs: given.all("allow-dir").iter().map(PathBuf::from).collect(),
        workspace: given
            .value("workspace")
            .or(setting.var("PLUMB_WORKSPACE"))
            .map(PathBuf::from),
        token: token.map(Token::from_text),
    };
    serve::run(setting, options)?;
    Ok(ExitCode::SUCCESS)
}
