//! Processes and conversations of a scenario. Every field is optional, so that a case or a control
//! can state only what it changes; `plan` fills in what is left.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::op::Op;
use super::step::{Anything, Entries, optional_duration};

/// One process of the agent under test.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// How the home is given.
    pub home: Option<Home>,
    /// How sessions are kept.
    pub persistence: Option<Persistence>,
    /// Where the transcripts go, relative to the home; the agent's own default when left out.
    pub sessions_root: Option<String>,
    /// What drives it: the prompt, or a list of operations.
    pub drive: Option<Drive>,
    /// Operations of the driver, or requests.
    pub ops: Option<Vec<Op>>,
    /// Which MCP rows it has.
    pub mcp: Option<Mcp>,
    /// The name of plumb's server in its row; `plumb` when left out.
    pub server_name: Option<String>,
    /// Whether the identity plugin is mounted, and how.
    pub identity: Option<Identity>,
    /// How the identity plugin finds plumb.
    pub finds_plumb: Option<Finding>,
    /// Symbolic links made in its home: path to target.
    pub links: Option<Entries>,
    /// Further rows: `saboteur:NAME` or the name of a row in the agent's folder, with its config. In it, a table
    /// `{ path = { what = … } }` stands for that folder.
    #[schemars(with = "Option<BTreeMap<String, Anything>>")]
    pub rows: Option<BTreeMap<String, toml::Table>>,
    /// Ambient variables of the process, beside the planted ones.
    pub env: Option<Entries>,
    /// Variables that are taken out of its environment.
    pub unset: Option<Vec<String>>,
    /// When it starts.
    pub start: Option<Start>,
    /// The id of the session that it resumes from outside, by the build's own flag.
    pub resume: Option<String>,
    /// The launch whose home and workspace it shares.
    pub shares: Option<String>,
    /// Another workspace than the scenario's own.
    pub workspace: Option<String>,
    /// How long it may take from start to end.
    #[serde(default, deserialize_with = "optional_duration")]
    #[schemars(with = "Option<String>")]
    pub limit: Option<Duration>,
    /// How it has to end; 0 when left out.
    pub exit: Option<i32>,
}

/// How the agent learns its home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Home {
    /// `DSH_HOME` in its environment, absolute.
    Ambient,
    /// A row that names the home, with another one in its environment.
    Explicit,
    /// `DSH_HOME` relative to its working directory.
    Relative,
    /// `DSH_HOME` absolute but not normalised.
    Unnormalised,
    /// `DSH_HOME` as `~/.dsh`.
    Tilde,
    /// `DSH_HOME` set to blanks.
    Blank,
    /// No `DSH_HOME`: `~/.dsh` of its own `HOME`.
    User,
}

/// How sessions are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Persistence {
    /// Compressed JSON lines, the agent's default.
    Jsonl,
    /// Plain JSON lines.
    JsonlPlain,
    /// Not at all.
    None,
}

/// What drives a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Drive {
    /// One prompt, headless.
    Prompt,
    /// The driver plugin and its operations.
    Driver,
    /// JSON-RPC on its standard streams; the operations are requests, `params` and all.
    Rpc,
}

/// Which MCP rows a launch has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mcp {
    /// None.
    None,
    /// plumb's server.
    Plumb,
    /// plumb's server, and the same again under the name `other`.
    PlumbAndOther,
    /// A row whose command is `/bin/false`.
    False,
}

/// How the identity plugin is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Identity {
    /// Not at all.
    None,
    /// By a row of the profile.
    Row,
    /// As a bundle of the profile.
    Bundle,
    /// By both.
    Both,
}

/// How the identity plugin finds plumb. The wrapper is what it finds in each case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// By its option.
    Option,
    /// By `PLUMB_BIN`.
    Variable,
    /// On `PATH`.
    Path,
}

/// When a launch starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// At once.
    AtOnce,
    /// By a step of the timeline.
    ByStep,
    /// Inside a bash call of another launch.
    InBash,
}

/// One conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// The launch that it runs in; `main` when left out.
    pub launch: Option<String>,
    /// The session that delegated it, if any.
    pub parent: Option<String>,
}

impl Launch {
    /// This launch with what `change` states laid over it.
    #[must_use]
    pub fn with(&self, change: &Self) -> Self {
        let mut rows = self.rows.clone().unwrap_or_default();
        rows.extend(change.rows.clone().unwrap_or_default());
        let mut env = self.env.clone().unwrap_or_default();
        env.extend(change.env.clone().unwrap_or_default());
        Self {
            home: change.home.or(self.home),
            persistence: change.persistence.or(self.persistence),
            sessions_root: change
                .sessions_root
                .clone()
                .or_else(|| self.sessions_root.clone()),
            drive: change.drive.or(self.drive),
            ops: change.ops.clone().or_else(|| self.ops.clone()),
            mcp: change.mcp.or(self.mcp),
            server_name: change
                .server_name
                .clone()
                .or_else(|| self.server_name.clone()),
            identity: change.identity.or(self.identity),
            finds_plumb: change.finds_plumb.or(self.finds_plumb),
            links: change.links.clone().or_else(|| self.links.clone()),
            rows: Some(rows),
            env: Some(env),
            unset: change.unset.clone().or_else(|| self.unset.clone()),
            start: change.start.or(self.start),
            resume: change.resume.clone().or_else(|| self.resume.clone()),
            shares: change.shares.clone().or_else(|| self.shares.clone()),
            workspace: change.workspace.clone().or_else(|| self.workspace.clone()),
            limit: change.limit.or(self.limit),
            exit: change.exit.or(self.exit),
        }
    }
}
