//! The command line, and what it means.
//!
//! Read once by `run`. Nothing else looks at arguments or at the environment of the process.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::environment::Environment;
use crate::fault::{Fault, UnknownFault};
use crate::hook::Dialect;
use crate::model::client::{ApiKey, Endpoint};
use crate::revision::Revision;
use crate::session::id::SessionId;
use crate::settings::{HookRow, McpRow, Persistence, Settings, Start};

/// A small honest agent loop, with named switchable faults.
#[derive(Debug, Parser)]
#[command(name = "reference", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Prompt a session and print the last text
    Run(Box<RunArgs>),
    /// List the faults
    Faults {
        /// As one JSON array
        #[arg(long)]
        json: bool,
    },
    /// Print the tools of a revision as they go over the wire
    Tools {
        /// The revision of the contract
        #[arg(long)]
        revision: Revision,
    },
}

/// How to run.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The prompt
    #[arg(required_unless_present = "ops", conflicts_with = "ops")]
    pub prompt: Option<String>,
    /// The address of the model, before /chat/completions
    #[arg(long, value_name = "URL")]
    pub base_url: String,
    /// The name of the model
    #[arg(long, default_value = "scripted-model")]
    pub model: String,
    /// The variable that holds the key of the model's server; none is sent without it
    #[arg(long, value_name = "NAME")]
    pub api_key_env: Option<String>,
    /// How long the model's stream may stay silent
    #[arg(long, value_name = "MS", default_value_t = 300_000)]
    pub stream_idle_ms: u64,
    /// The revision of the contract
    #[arg(long)]
    pub revision: Revision,
    /// The explicit home; it goes before the ambient one and the user's
    #[arg(long, value_name = "DIR")]
    pub home: Option<OsString>,
    /// No explicit home
    #[arg(long, conflicts_with = "home")]
    pub no_home: bool,
    /// The explicit home of skill discovery; a directory other than the home is refused
    #[arg(long, value_name = "DIR")]
    pub skills_home: Option<OsString>,
    /// How sessions are kept
    #[arg(long, default_value = "jsonl")]
    pub persistence: Persistence,
    /// Where sessions are kept; `sessions` in the home when left out
    #[arg(long, value_name = "DIR")]
    pub sessions_root: Option<PathBuf>,
    /// A server of tools over stdio; can be repeated
    #[arg(long, value_name = "NAME=COMMAND", value_parser = mcp_row)]
    pub mcp: Vec<McpRow>,
    /// A configuration of hooks
    #[arg(long, value_name = "FILE", requires = "hook_dialect")]
    pub hooks: Option<PathBuf>,
    /// How hooks are spoken to
    #[arg(long, value_name = "DIALECT", requires = "hooks")]
    pub hook_dialect: Option<Dialect>,
    /// The id of the new session
    #[arg(long, value_name = "ID", conflicts_with = "resume")]
    pub session_id: Option<SessionId>,
    /// Go on with a stored session
    #[arg(long, value_name = "ID", conflicts_with = "fork")]
    pub resume: Option<SessionId>,
    /// Branch off a stored session
    #[arg(long, value_name = "ID")]
    pub fork: Option<SessionId>,
    /// The working directory; that of this process when left out
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Execute a JSON array of operations in place of a prompt
    #[arg(long, value_name = "FILE", requires = "out")]
    pub ops: Option<PathBuf>,
    /// Where the outcome of each operation is appended
    #[arg(long, value_name = "FILE", requires = "ops")]
    pub out: Option<PathBuf>,
    /// Switch a fault on; can be repeated
    #[arg(long, value_name = "NAME", value_parser = fault)]
    pub fault: Vec<Fault>,
}

/// What is run.
#[derive(Debug)]
pub enum Work {
    /// One prompt.
    Prompt {
        /// Which session.
        start: Start,
        /// What it is told.
        prompt: String,
    },
    /// A list of operations.
    Operations {
        /// The list.
        ops: PathBuf,
        /// Where outcomes go.
        out: PathBuf,
    },
}

/// A command line that cannot be meant.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// The working directory is not to be had.
    #[error("the working directory `{path}`: {source}")]
    Cwd {
        /// As it was given.
        path: PathBuf,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
    /// The key is not there.
    #[error("--api-key-env {name}: the variable is not set")]
    NoKey {
        /// The variable.
        name: String,
    },
}

impl RunArgs {
    /// The settings, over the environment of this process, and the work.
    pub fn understood(self, environment: Environment) -> Result<(Settings, Work), UsageError> {
        let path = self.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
        let cwd = std::path::absolute(&path)
            .and_then(|cwd| cwd.metadata().map(|_| cwd))
            .map_err(|source| UsageError::Cwd { path, source })?;
        let key = match &self.api_key_env {
            None => None,
            Some(name) => {
                let value = environment
                    .get(std::ffi::OsStr::new(name))
                    .and_then(|value| value.to_str());
                Some(ApiKey::from(
                    value
                        .ok_or_else(|| UsageError::NoKey { name: name.clone() })?
                        .to_owned(),
                ))
            }
        };
        let work = match (self.ops, self.out) {
            (Some(ops), Some(out)) => Work::Operations { ops, out },
            _ => Work::Prompt {
                start: start(self.session_id, self.resume, self.fork),
                prompt: self.prompt.unwrap_or_default(),
            },
        };
        let hooks = self
            .hooks
            .zip(self.hook_dialect)
            .map(|(file, dialect)| HookRow { file, dialect });
        let settings = Settings {
            revision: self.revision,
            faults: self.fault.into_iter().collect(),
            endpoint: Endpoint {
                base_url: self.base_url,
                model: self.model,
                key,
                idle: Duration::from_millis(self.stream_idle_ms),
            },
            home: self.home,
            skills_home: self.skills_home,
            persistence: self.persistence,
            sessions_root: self.sessions_root,
            mcp: self.mcp,
            hooks,
            cwd: crate::home::normal(&cwd),
            environment,
        };
        Ok((settings, work))
    }
}

fn start(id: Option<SessionId>, resume: Option<SessionId>, fork: Option<SessionId>) -> Start {
    match (resume, fork) {
        (Some(resumed), _) => Start::Resume(resumed),
        (None, Some(source)) => Start::Fork { source, id },
        (None, None) => Start::Fresh(id),
    }
}

fn fault(name: &str) -> Result<Fault, UnknownFault> {
    name.parse()
}

fn mcp_row(text: &str) -> Result<McpRow, String> {
    let (name, command) = text.split_once('=').ok_or("write NAME=COMMAND")?;
    let command: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    if name.is_empty() || command.is_empty() {
        return Err("write NAME=COMMAND".to_owned());
    }
    Ok(McpRow {
        name: name.to_owned(),
        command,
    })
}
