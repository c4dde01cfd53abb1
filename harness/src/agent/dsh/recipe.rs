//! How a build of dsh is driven: flags, environment, tool names, logs. The second half of
//! `build.toml`.
//!
//! Read by staging, planning and judging. It must never hold what was not seen in a run of that
//! build.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

/// How the executable is started.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Launch {
    /// The flag before a profile's name.
    pub profile_flag: String,
    /// The flag before a file of patch rows; it can be repeated and stands before the task.
    pub patch_flag: String,
    /// The flag that turns standard output into JSON events, where the build has one.
    pub json_flag: Option<String>,
    /// The flag before the id of a session to resume, where the build has one.
    pub resume_flag: Option<String>,
    /// The variable that names the shared folder into which the executable unpacks itself.
    pub native_cache_var: Option<String>,
    /// Whether another build may use a home of this one.
    pub homes: Homes,
    /// What must stand in its environment besides the home, the key and the account's own names.
    pub env: BTreeMap<String, String>,
}

/// Which builds may use a home in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Homes {
    /// Only this one: another build's log cannot be resumed, or is rewritten.
    OwnBuildOnly,
    /// Any.
    AnyBuild,
}

/// What happens between the start and the end of a process.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Boot {
    /// Parts of a line on stderr that mean: something that was configured is not there.
    pub warnings: Vec<String>,
    /// What a plugin row does that cannot be mounted.
    pub broken_row: BrokenRow,
    /// What two rows with one id do.
    pub duplicate_row: DuplicateRow,
    /// How many processes one MCP row starts.
    pub mcp_starts: u32,
    /// Whether the headless runner waits for subagents in the background.
    pub waits_for_subagents: Waits,
}

/// What a plugin row does that cannot be mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BrokenRow {
    /// The boot fails with exit status 1, before any request.
    Fatal,
    /// One of [`Boot::warnings`] on stderr, exit status 0.
    Warning,
}

/// What two rows with one id do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DuplicateRow {
    /// The boot fails and names the id.
    Fatal,
    /// One is mounted and nothing is said.
    MountedOnce,
}

/// Whether a headless run ends while a subagent is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waits {
    /// It waits, and takes another turn for each answer.
    Yes,
    /// It ends with its own last turn.
    No,
}

/// What a bash command finds in its environment.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Child {
    /// The exact `DSH_*` names of a call that belongs to an agent.
    pub with_agent: BTreeSet<String>,
    /// The exact `DSH_*` names of a call without one.
    pub without_agent: BTreeSet<String>,
    /// The name that joins `with_agent` under the jsonl backend.
    pub jsonl_location: Option<String>,
    /// The terminal settings that the harness puts there itself.
    pub terminal: BTreeMap<String, String>,
}

/// How the session log lies on the disk.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Log {
    /// The names a log file can have, in a folder of its session.
    pub file_names: BTreeSet<String>,
    /// The `version` in its header line.
    pub header_version: u32,
    /// An empty file beside it that is no log.
    pub lock_name: Option<String>,
    /// The event types of the pinned bash turn, sorted.
    #[serde(default)]
    pub event_types: Vec<String>,
    /// The types of rows into which the log packs a run of others; how many there are depends on the stream.
    #[serde(default)]
    pub packed_types: Vec<String>,
}

/// The names of tools and of their arguments.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Tools {
    /// What stands before the server's name in the name of an MCP tool.
    pub mcp_prefix: String,
    /// What stands between the server's name and the tool's.
    pub mcp_separator: String,
    /// The file of this build's folder that holds the bash tool as it goes over the wire.
    pub bash_pin: String,
    /// Runs a command.
    pub bash: BashTool,
    /// Reads a background job.
    pub job_output: JobOutputTool,
    /// Ends a background job.
    pub job_kill: JobKillTool,
    /// Starts a subagent.
    pub spawn: SubagentTool,
    /// Starts a subagent that inherits the conversation.
    pub fork: SubagentTool,
    /// Gives a subagent another turn.
    pub message: MessageTool,
    /// Lists the subagents.
    pub list_agents: ListAgentsTool,
}

/// The bash tool; most fields name an argument.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct BashTool {
    /// The tool's name.
    pub name: String,
    /// The command, a string.
    pub command: String,
    /// What it is for, a string that must not be blank.
    pub description: String,
    /// Whether it runs in the background, a boolean.
    pub background: String,
    /// The folder it runs in, a string.
    pub workdir: String,
    /// Its limit in milliseconds, a number.
    pub timeout_ms: String,
    /// What stands before the job's id in the result of a background call.
    pub started: String,
    /// What happens at that limit.
    pub on_timeout: OnTimeout,
}

/// What happens to a command at its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnTimeout {
    /// It is ended by SIGTERM.
    Kills,
    /// It lives on as a background job.
    MovesToBackground,
}

/// The tool that reads a background job.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct JobOutputTool {
    /// The tool's name.
    pub name: String,
    /// The job's id, a string.
    pub id: String,
    /// Whether to wait for its end, a boolean.
    pub wait: String,
}

/// The tool that ends a background job.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct JobKillTool {
    /// The tool's name.
    pub name: String,
    /// The job's id, a string.
    pub id: String,
}

/// A tool that starts a subagent.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct SubagentTool {
    /// The tool's name.
    pub name: String,
    /// The child's task, a string.
    pub prompt: String,
    /// What it is for, a string.
    pub description: String,
    /// Whether it runs in the background, a boolean; absent where nothing can be asked.
    pub background: Option<String>,
    /// Where it runs when nothing is asked.
    pub unasked: Ground,
    /// What stands before an id in the result of a background call.
    pub started: String,
}

/// Whether a call returns with the work done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ground {
    /// It does, and the result is the answer.
    Foreground,
    /// It returns at once, and the answer comes later.
    Background,
}

/// The tool that gives a subagent another turn.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct MessageTool {
    /// The tool's name.
    pub name: String,
    /// The subagent's id, a string.
    pub to: String,
    /// What to tell it, a string.
    pub text: String,
}

/// The tool that lists subagents.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct ListAgentsTool {
    /// The tool's name.
    pub name: String,
    /// The word in its answer for a subagent that has finished its turn.
    pub idle: String,
}
