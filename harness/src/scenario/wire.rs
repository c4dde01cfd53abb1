//! What a scenario expects of plumb: its records, the calls that went over its wires, its hook, its log.
//!
//! Read with the other expectations; `judge` says whether they held.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::expect::Value;
use super::step::Anything;

/// What plumb recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Records {
    /// The session whose declared id selects the records; all of the scenario's when left out.
    pub session: Option<String>,
    /// How many connections they are.
    pub connections: Option<usize>,
    /// How many different record ids they have.
    pub session_ids: Option<usize>,
    /// How many of them declared an id.
    pub declared: Option<usize>,
    /// How many are at least there.
    pub at_least: Option<usize>,
    /// The client names that may occur.
    pub clients: Option<Vec<String>>,
    /// How many were marked as shared.
    pub shared: Option<usize>,
    /// An external id that no record may carry.
    pub never: Option<String>,
}

/// What a session declared.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Declared {
    /// The session.
    pub session: String,
    /// The purpose it declared.
    pub purpose: Option<String>,
    /// First segment of its id.
    pub prefix: Option<String>,
    /// The folder that plumb recorded.
    pub folder: Option<Value>,
    /// The id is exactly the minted one: prefix, slug of the workspace, start of the session id.
    #[serde(default)]
    pub minted: bool,
}

/// Which calls went to plumb, as the tap saw them.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calls {
    /// Calls over connections that declared this session; over the shared one with `shared`.
    pub session: Option<String>,
    /// Only the shared connection of this launch.
    pub shared: Option<String>,
    /// Every tools/call, in order.
    pub calls: Vec<String>,
    /// Arguments of the nth call, by position.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Anything>")]
    pub arguments: BTreeMap<String, toml::Table>,
    /// Further arguments of the nth call, as references.
    #[serde(default)]
    pub values: BTreeMap<String, BTreeMap<String, Value>>,
    /// Whether a call whose arguments are stated has no others.
    #[serde(default)]
    pub exactly: bool,
    /// Text that the answer to the nth call contains, by position.
    #[serde(default)]
    pub answers: BTreeMap<String, String>,
    /// The positions of the calls that carry the stamp of their session; no other call carries one.
    pub stamped: Option<Vec<usize>>,
    /// How many of them were under way at the same time.
    pub at_once: Option<usize>,
}

/// How plumb's identity hook was asked for a resume proof.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    /// The session whose minted id it was asked for.
    pub session: String,
    /// How often.
    pub times: usize,
    /// Variables that it must not have been given.
    #[serde(default)]
    pub lacks: Vec<String>,
    /// A variable set beside them that it has to have.
    pub witness: Option<String>,
    /// The declaration it was asked for went out no sooner than this after it was started.
    #[serde(default, deserialize_with = "super::step::optional_duration")]
    #[schemars(with = "Option<String>")]
    pub at_least: Option<Duration>,
    /// And no later.
    #[serde(default, deserialize_with = "super::step::optional_duration")]
    #[schemars(with = "Option<String>")]
    pub at_most: Option<Duration>,
}

/// Where the secrets of the run stand.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Secrets {
    /// How many different ones went over plumb's wires at least: the witness that there was something to keep.
    pub at_least: usize,
}

/// Lines of the daemon's log, narrowed to the scenario's ids.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogLines {
    /// The text.
    pub text: String,
    /// How often.
    pub times: usize,
}

/// Rows of plumb's table of pinned workspaces.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    /// The session whose minted id has a row.
    pub session: String,
    /// The folder it is pinned to.
    pub workspace: Value,
}
