//! How a build spells the things a scenario asks for: tool names, argument names, the shape of the
//! ids it prints. Data of the agent's folder (`tools.toml`); read here, used by the script compiler.

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A build's words.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vocabulary {
    /// Runs a command.
    pub bash: Bash,
    /// Waits for a background command.
    pub collect: Collect,
    /// Delegates to a subagent.
    pub spawn: Delegate,
    /// Forks into a subagent.
    pub fork: Delegate,
    /// Sends a message to a subagent.
    pub message: Message,
}

/// Runs a command.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bash {
    /// Name of the tool.
    pub tool: String,
    /// Argument that takes the command.
    pub command: String,
    /// Further arguments of every call.
    #[serde(default)]
    pub extra: toml::Table,
    /// Further arguments of a background call.
    pub background: toml::Table,
}

/// Waits for a background command.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collect {
    /// Name of the tool.
    pub tool: String,
    /// Argument that takes the job's id.
    pub id: String,
    /// Finds the id in what the agent printed; one group.
    pub pattern: String,
    /// Further arguments of every call.
    #[serde(default)]
    pub extra: toml::Table,
}

/// Delegates to a subagent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delegate {
    /// Name of the tool.
    pub tool: String,
    /// Argument that takes the prompt.
    pub prompt: String,
    /// Further arguments of every call.
    #[serde(default)]
    pub extra: toml::Table,
    /// Further arguments of a foreground call; none where the build knows no foreground.
    pub foreground: Option<toml::Table>,
    /// Further arguments of a background call.
    #[serde(default)]
    pub background: toml::Table,
}

/// Sends a message to a subagent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Name of the tool.
    pub tool: String,
    /// Argument that takes the subagent's id.
    pub id: String,
    /// Argument that takes the text.
    pub text: String,
    /// Finds the id in what the agent printed; one group.
    pub pattern: String,
}

/// A build that cannot do what a scenario asks.
#[derive(Debug, thiserror::Error)]
pub enum VocabularyError {
    /// The file of words cannot be read.
    #[error("tools.toml of build `{build}`: {message}")]
    Unreadable {
        /// The build.
        build: String,
        /// What is wrong with it.
        message: String,
    },
}

impl Vocabulary {
    /// Reads the words of `build`.
    pub fn read(build: &str, text: &str) -> Result<Self, VocabularyError> {
        toml::from_str(text).map_err(|error| VocabularyError::Unreadable {
            build: build.to_owned(),
            message: error.message().to_owned(),
        })
    }
}

/// A TOML table as a JSON object.
pub(super) fn object(table: &toml::Table) -> Map<String, Value> {
    match json!(table) {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
