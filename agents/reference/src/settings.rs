//! What one process was told to do: the command line, as data.
//!
//! Made by `cli`, and by tests. Paths are as they were written; the host resolves them against its working directory.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::environment::Environment;
use crate::fault::Faults;
use crate::hook::Dialect;
use crate::model::client::Endpoint;
use crate::revision::Revision;
use crate::session::id::SessionId;

/// How sessions are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Persistence {
    /// A compressed file for each session.
    Jsonl,
    /// A file of text for each session.
    JsonlPlain,
    /// One log for all sessions.
    Shared,
    /// Not at all.
    None,
}

/// A server of tools, over stdio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpRow {
    /// The name in `mcp__<name>__<tool>`.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
}

/// Where hooks are configured, and how they are spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookRow {
    /// The configuration.
    pub file: PathBuf,
    /// The dialect.
    pub dialect: Dialect,
}

/// Which session is prompted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// A fresh one, under this id or under one of its own.
    Fresh(Option<SessionId>),
    /// A stored one, gone on with.
    Resume(SessionId),
    /// A branch of a stored one, under this id or under one of its own.
    Fork {
        /// The source.
        source: SessionId,
        /// The branch.
        id: Option<SessionId>,
    },
}

/// Everything that a host is composed of.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The revision in force.
    pub revision: Revision,
    /// The faults that are switched on.
    pub faults: Faults,
    /// The model.
    pub endpoint: Endpoint,
    /// The explicit home.
    pub home: Option<OsString>,
    /// The explicit home of skill discovery; it must be the same directory.
    pub skills_home: Option<OsString>,
    /// How sessions are kept.
    pub persistence: Persistence,
    /// Where; `sessions` in the home when left out.
    pub sessions_root: Option<PathBuf>,
    /// Servers of tools.
    pub mcp: Vec<McpRow>,
    /// Hooks.
    pub hooks: Option<HookRow>,
    /// The working directory of sessions that name none.
    pub cwd: PathBuf,
    /// The environment of this process.
    pub environment: Environment,
}
