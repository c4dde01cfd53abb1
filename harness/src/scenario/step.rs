//! The timeline of a scenario: what the model replies, what the harness waits for and does.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::expect::Place;

/// One step. Order holds within a session and across every step that is not the model's.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(
    clippy::large_enum_variant,
    reason = "a handful for a scenario, most of them the model's"
)]
pub enum Step {
    /// The reply to the next request of a session.
    Model(Model),
    /// Waits for a fact; later replies are held meanwhile.
    Gate(Gate),
    /// Leaves a note at plumb, as a stranger.
    Note(Note),
    /// Starts a launch that does not start by itself.
    Start(Named),
    /// Lets a held command go on.
    Open(Open),
    /// Sends a signal to a launch.
    Signal(Signal),
}

/// What the model says to one request: exactly one of `say`, `call`, `calls` and `fail`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The session whose request is answered; `main` when left out.
    #[serde(rename = "for")]
    pub session: Option<String>,
    /// Ends the turn with this text.
    pub say: Option<String>,
    /// Calls one tool.
    pub call: Option<Call>,
    /// Calls several tools in one message.
    pub calls: Option<Vec<Call>>,
    /// Fails in a named way (the fake model's own vocabulary).
    #[schemars(with = "Option<Anything>")]
    pub fail: Option<toml::Table>,
    /// Only on these builds; all when left out. What one build answers in a tool result, another may send as a message
    /// of its own, which needs a reply of its own.
    pub builds: Option<Vec<String>>,
}

/// One tool call: exactly one of the verbs, and what goes with it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Runs these things, one after the other, in one bash call.
    pub bash: Option<Vec<Command>>,
    /// Calls a tool by its name, or as `server:tool`.
    pub tool: Option<String>,
    /// Arguments of `tool`.
    #[schemars(with = "Option<Anything>")]
    pub arguments: Option<toml::Table>,
    /// Arguments that are folders of the scenario, by name.
    pub folders: Option<BTreeMap<String, Place>>,
    /// Delegates to a subagent: the name of a session with a parent.
    pub spawn: Option<String>,
    /// Forks into a subagent: the name of a session with a parent.
    pub fork: Option<String>,
    /// Sends a message to a subagent, which runs another turn.
    pub message: Option<String>,
    /// Text of `message`.
    pub text: Option<String>,
    /// Waits for the output of the newest background command.
    pub collect: Option<Collect>,
    /// Whether the command runs in the background.
    pub background: Option<bool>,
    /// Further arguments, passed on as they are (what a model might invent).
    #[schemars(with = "Option<Anything>")]
    pub with: Option<toml::Table>,
}

/// What `collect` waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Collect {
    /// The newest background command of the session.
    Bash,
}

/// One thing done inside a bash call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// Writes down the environment it was given, under this name.
    Probe(String),
    /// The same, from a child of the command.
    Grandchild(String),
    /// Waits until the harness opens it.
    Hold(String),
    /// Counts once under this name.
    Effect(String),
    /// Runs another launch of this scenario inside the command.
    Launch(String),
    /// Runs this shell text.
    Shell(String),
}

/// Waits for a fact.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// The fact.
    pub until: Fact,
    /// The session, launch, probe or hold that the fact is about; `main` when left out.
    pub of: Option<String>,
    /// How long it may take.
    #[serde(deserialize_with = "duration")]
    #[schemars(with = "String")]
    pub within: Duration,
}

/// A fact that a gate can wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fact {
    /// A connection of the session has declared an id at plumb.
    Declared,
    /// plumb has recorded the end of the session's own connection.
    ConnectionEnded,
    /// The probe has written.
    Probed,
    /// The hold stands and waits.
    Holding,
    /// The launch has ended.
    Exited,
}

/// Leaves a note at plumb.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// Whom it is for.
    pub to: Addressee,
    /// The text; no quotes, backslashes or line ends, since plumb quotes it.
    pub text: String,
}

/// Whom a note is for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Addressee {
    /// Whoever attaches next in this workspace.
    Next(Nobody),
    /// The plumb session that the named session has declared.
    SessionOf(String),
}

/// No further detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Nobody {
    /// Anybody at all.
    Anybody,
}

/// Names a launch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// The launch.
    pub launch: String,
}

/// Names a hold.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// The hold.
    pub hold: String,
}

/// Sends a signal.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    /// The launch.
    pub launch: String,
    /// Name of the signal without its prefix: `TERM`, `INT`, `HUP`, `KILL`.
    pub name: String,
}

/// Reads a duration such as `10s` or `400ms`.
pub(super) fn duration<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(input)?;
    let signed: jiff::SignedDuration = text.parse().map_err(|_| {
        serde::de::Error::custom(format!("`{text}` is no duration; write `10s` or `400ms`"))
    })?;
    Duration::try_from(signed)
        .map_err(|_| serde::de::Error::custom(format!("`{text}` is below zero")))
}

/// The same for an optional field.
pub(super) fn optional_duration<'de, D: Deserializer<'de>>(
    input: D,
) -> Result<Option<Duration>, D::Error> {
    duration(input).map(Some)
}

/// A table of anything, as the schema shows it.
pub(super) type Anything = serde_json::Map<String, serde_json::Value>;

/// Environment entries as a scenario writes them.
pub type Entries = BTreeMap<String, String>;
