//! What a scenario expects: each with the name of its check, its clause, and one kind.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::wire::{Calls, Declared, Hook, LogLines, Pins, Records, Secrets};

/// One expectation: `check`, `clause` and exactly one kind.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Name of the check, unique in its scenario.
    pub check: String,
    /// Clauses it proves.
    pub clause: Vec<String>,
    /// Only for these revisions of the contract; all when left out.
    pub revisions: Option<Vec<String>>,
    /// Only for these builds; all when left out.
    pub builds: Option<Vec<String>>,
    /// What a probe saw.
    pub environment: Option<Environment>,
    /// What a probe must not have seen.
    pub absent: Option<Absent>,
    /// What the persisted header says.
    pub header: Option<Header>,
    /// What plumb recorded.
    pub records: Option<Records>,
    /// What was declared at plumb.
    pub declared: Option<Declared>,
    /// Which calls went to plumb.
    pub mcp: Option<Calls>,
    /// How often something physically happened.
    pub effects: Option<Effects>,
    /// What the model was sent.
    pub model_saw: Option<ModelSaw>,
    /// What a tool call of the model came back with.
    pub result: Option<ToolResult>,
    /// Two probes, holds or launches that were alive at the same time.
    pub overlap: Option<Vec<String>>,
    /// What the agent printed on its standard error.
    pub warnings: Option<Warnings>,
    /// The pinned definition of a tool, byte for byte.
    pub tool_pin: Option<ToolPin>,
    /// Words that the description of a tool has or has not.
    pub tool_words: Option<ToolWords>,
    /// The tools of the persisted request header are those of the wire.
    pub logged_tools: Option<SessionOnly>,
    /// Every tool result that went to the model is in the session's log.
    pub logged_results: Option<SessionOnly>,
    /// The pinned set of event types in the session's log.
    pub logged_events: Option<SessionOnly>,
    /// Text that no system message may contain.
    pub system_prompt: Option<SystemPrompt>,
    /// Values that must differ or be equal.
    pub compare: Option<Compare>,
    /// What a driver operation came back with.
    pub outcome: Option<DriverOutcome>,
    /// What the daemon's log says of the scenario's own sessions.
    pub log: Option<LogLines>,
    /// Rows of plumb's table of pinned workspaces.
    pub pins: Option<Pins>,
    /// How plumb's identity hook was asked for a resume proof.
    pub hook: Option<Hook>,
    /// Where the secrets of the run stand: on plumb's own wires, and nowhere else.
    pub secrets: Option<Secrets>,
}

/// A value: a literal or a reference into the evidence. Nothing is put into strings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    /// This very text.
    Is(String),
    /// The id in the persisted header of a session.
    Header(String),
    /// A folder of the scenario.
    Path(Place),
    /// What a probe saw under a key.
    Probe(ProbeKey),
    /// The file that keeps a session.
    File(String),
    /// The one id that a session declared at plumb.
    Declared(String),
    /// What the revision promises as the location of a session's transcript: its file, or nothing.
    Location(String),
    /// A value that a driver operation came back with.
    Outcome(OutcomeAt),
    /// Not there.
    Absent(Never),
    /// There, whatever it is.
    Present(Never),
}

/// No further detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Never {
    /// Written as `"always"`.
    Always,
}

/// A folder of the scenario.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Which folder.
    pub what: Folder,
    /// Of which launch; `main` when left out.
    pub launch: Option<String>,
    /// A place below it.
    pub below: Option<String>,
}

/// Folders that a value can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Folder {
    /// The home that the agent has to compute.
    Home,
    /// The working directory.
    Workspace,
    /// A second folder to work in, that no launch starts in.
    Elsewhere,
    /// Its `HOME`.
    User,
    /// The home of the explicit row.
    ExplicitHome,
}

/// A key of a probe.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeKey {
    /// The probe.
    pub of: String,
    /// The variable.
    pub key: String,
}

/// A place in the value of a driver operation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutcomeAt {
    /// The launch; `main` when left out.
    pub launch: Option<String>,
    /// The label that the operation carries.
    pub of: String,
    /// The place, as a JSON pointer.
    pub at: String,
}

/// What a probe saw.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// The probe.
    pub probe: String,
    /// Values by name.
    #[serde(default)]
    pub has: BTreeMap<String, Value>,
    /// Whether these are all the managed variables, but for those the build's folder adds.
    #[serde(default)]
    pub exactly: bool,
}

/// What a probe must not have seen.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Absent {
    /// The probe.
    pub probe: String,
    /// Names that must be missing.
    pub names: Vec<String>,
    /// A variable planted beside them that the same probe has to see.
    pub witness: String,
}

/// What the persisted header of a session says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The session.
    pub session: String,
    /// Its id.
    pub id: Option<Value>,
    /// Its parent's id.
    pub parent: Option<Value>,
    /// Its working directory.
    pub cwd: Option<Value>,
}

/// How often something physically happened.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Effects {
    /// The tool whose calls plumb carried out; or
    pub tool: Option<String>,
    /// the effect that a command counted.
    pub name: Option<String>,
    /// How often.
    pub times: usize,
}

/// What the model was sent, over all its requests, each message counted once.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelSaw {
    /// The session; every one when left out.
    pub session: Option<String>,
    /// The text.
    pub text: String,
    /// How often, over all tool results.
    pub times: usize,
}

/// What a tool call came back with.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolResult {
    /// The session.
    pub session: Option<String>,
    /// The position of the call among the session's tool calls, from 0.
    pub call: usize,
    /// Text that the result contains.
    pub contains: Option<String>,
    /// The result is, word for word, what the peer answered on the tap.
    #[serde(default)]
    pub as_answered: bool,
}

/// What the agent printed on its standard error.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Warnings {
    /// The launch; `main` when left out.
    pub launch: Option<String>,
    /// The text.
    pub text: String,
    /// How often.
    pub times: usize,
}

/// A pinned tool.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolPin {
    /// The tool.
    pub tool: String,
    /// The session; every one when left out.
    pub session: Option<String>,
}

/// Words in a tool's description.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolWords {
    /// The tool.
    pub tool: String,
    /// Words it has.
    #[serde(default)]
    pub has: Vec<String>,
    /// Words it has not.
    #[serde(default)]
    pub lacks: Vec<String>,
}

/// Names a session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionOnly {
    /// The session.
    pub session: String,
}

/// Text that no system message contains.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SystemPrompt {
    /// Text that must not occur.
    pub lacks: Vec<String>,
}

/// Values that must all differ, or all be equal.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compare {
    /// All different.
    Different(Vec<Value>),
    /// All equal.
    Equal(Vec<Value>),
}

/// What a driver operation came back with.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriverOutcome {
    /// The launch; `main` when left out.
    pub launch: Option<String>,
    /// The label that the operation carries.
    pub of: String,
    /// Whether it succeeded.
    pub ok: Option<bool>,
    /// Text of its error.
    pub error: Option<String>,
    /// Place in its value, as a JSON pointer.
    pub at: Option<String>,
    /// The value there.
    #[schemars(with = "Option<serde_json::Value>")]
    pub is: Option<toml::Value>,
    /// Entries that the list there has, beside others.
    #[schemars(with = "Option<Vec<serde_json::Value>>")]
    pub contains: Option<Vec<toml::Value>>,
    /// The value there, as a reference.
    pub value: Option<Value>,
}
