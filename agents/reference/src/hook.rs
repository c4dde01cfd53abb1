//! Hooks: commands that are told what happens, in one of two dialects.
//!
//! A payload is built when it is sent, and names the session of the agent that it is about. A hook is told by stdin
//! alone: its environment has no managed value. Building a payload must never create or flush anything.

use std::path::PathBuf;
use std::process::Stdio;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::agent::Agent;
use crate::conversation::Birth;
use crate::environment;
use crate::fault::Fault;
use crate::host::Host;
use crate::session::event;
use crate::settings::HookRow;

/// How a payload is shaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Dialect {
    /// A transcript path is a string, `''` for none; each payload ends its line.
    ClaudeCode,
    /// A transcript path is a string, or null for none.
    Codex,
}

/// What happened.
#[derive(Debug, Clone, Copy)]
pub enum HookEvent<'a> {
    /// A session is there; no turn yet.
    SessionStart(Birth),
    /// The user said something.
    UserPromptSubmit(&'a str),
    /// A tool is about to be called.
    PreToolUse {
        /// The name of the tool.
        name: &'a str,
        /// Its arguments.
        arguments: &'a Value,
        /// The id of the call.
        call: &'a str,
    },
    /// A tool was called.
    PostToolUse {
        /// The name of the tool.
        name: &'a str,
        /// Its arguments.
        arguments: &'a Value,
        /// The id of the call.
        call: &'a str,
        /// What the model is told.
        output: &'a str,
    },
    /// A turn is over.
    Stop,
    /// A subagent begins.
    SubagentStart,
    /// A subagent has finished.
    SubagentStop,
}

impl HookEvent<'_> {
    fn name(&self) -> &'static str {
        match self {
            Self::SessionStart(_) => "SessionStart",
            Self::UserPromptSubmit(_) => "UserPromptSubmit",
            Self::PreToolUse { .. } => "PreToolUse",
            Self::PostToolUse { .. } => "PostToolUse",
            Self::Stop => "Stop",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
        }
    }

    fn tool(&self) -> Option<&str> {
        match self {
            Self::PreToolUse { name, .. } | Self::PostToolUse { name, .. } => Some(name),
            _ => None,
        }
    }
}

/// Hooks that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// The file cannot be read.
    #[error("read hooks `{path}`: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
    /// The file is not what it should be.
    #[error(
        "read hooks `{path}`: {source}; write {{\"hooks\": {{\"Stop\": [{{\"hooks\": [{{\"type\": \"command\", \"command\": \"…\"}}]}}]}}}}"
    )]
    Shape {
        /// The file.
        path: PathBuf,
        /// What the parser says.
        #[source]
        source: serde_json::Error,
    },
}

/// The configured hooks.
#[derive(Debug)]
pub struct Hooks {
    dialect: Dialect,
    groups: std::collections::BTreeMap<String, Vec<Group>>,
}

#[derive(Debug, Deserialize)]
struct File {
    hooks: std::collections::BTreeMap<String, Vec<Group>>,
}

#[derive(Debug, Deserialize)]
struct Group {
    #[serde(default)]
    matcher: String,
    hooks: Vec<Hook>,
}

#[derive(Debug, Deserialize)]
struct Hook {
    command: String,
}

impl Hooks {
    /// Reads a configuration.
    pub fn read(row: &HookRow) -> Result<Self, HookError> {
        let path = || row.file.clone();
        let text = std::fs::read_to_string(&row.file).map_err(|source| HookError::File {
            path: path(),
            source,
        })?;
        let file: File = serde_json::from_str(&text).map_err(|source| HookError::Shape {
            path: path(),
            source,
        })?;
        Ok(Self {
            dialect: row.dialect,
            groups: file.hooks,
        })
    }

    fn commands(&self, event: &HookEvent<'_>) -> Vec<String> {
        let groups = self.groups.get(event.name()).into_iter().flatten();
        let matching = groups.filter(|group| {
            event
                .tool()
                .is_none_or(|tool| matches(&group.matcher, tool))
        });
        matching
            .flat_map(|group| group.hooks.iter().map(|hook| hook.command.clone()))
            .collect()
    }
}

/// A matcher names tools, separated by `|`; nothing, `*` and `.*` mean all.
fn matches(matcher: &str, tool: &str) -> bool {
    ["", "*", ".*"].contains(&matcher) || matcher.split('|').any(|name| name == tool)
}

/// Tells every hook of an event.
pub async fn fire(host: &Rc<Host>, agent: &Rc<Agent>, event: &HookEvent<'_>) {
    let Some(hooks) = &host.hooks else { return };
    for command in hooks.commands(event) {
        let payload = payload(host, agent, event, hooks.dialect);
        agent.record(event::hook_invoked(event.name(), &command));
        let code = tell(host, agent, &command, &payload).await;
        agent.record(event::hook_result(event.name(), code));
    }
}

fn payload(host: &Host, agent: &Agent, event: &HookEvent<'_>, dialect: Dialect) -> String {
    let header = agent.header();
    let parent = header
        .parent_session
        .as_ref()
        .filter(|_| host.faults.has(Fault::HookParentId));
    let none = match (dialect, host.faults.has(Fault::HookOtherDialect)) {
        (Dialect::ClaudeCode, false) | (Dialect::Codex, true) => json!(""),
        (Dialect::Codex, false) | (Dialect::ClaudeCode, true) => Value::Null,
    };
    let mut fields = Map::new();
    fields.insert("session_id".to_owned(), json!(parent.unwrap_or(&header.id)));
    fields.insert(
        "transcript_path".to_owned(),
        host.hook_path(header).map_or(none, |path| json!(path)),
    );
    fields.insert("cwd".to_owned(), json!(host.place(header, None)));
    fields.insert("hook_event_name".to_owned(), json!(event.name()));
    let details = details(host, agent, event, dialect);
    fields.extend(details.as_object().cloned().unwrap_or_default());
    let line = Value::Object(fields).to_string();
    match dialect {
        Dialect::ClaudeCode => line + "\n",
        Dialect::Codex => line,
    }
}

/// What belongs to one event, as the published bridges send it.
fn details(host: &Host, agent: &Agent, event: &HookEvent<'_>, dialect: Dialect) -> Value {
    let mut details = match *event {
        HookEvent::SessionStart(Birth::Startup) => json!({"source": "startup"}),
        HookEvent::SessionStart(Birth::Resume) => json!({"source": "resume"}),
        HookEvent::UserPromptSubmit(prompt) => json!({"prompt": prompt}),
        HookEvent::PreToolUse {
            name,
            arguments,
            call,
        } => {
            json!({"tool_name": name, "tool_input": input(arguments, dialect), "tool_use_id": call})
        }
        HookEvent::PostToolUse {
            name,
            arguments,
            call,
            output,
        } => json!({
            "tool_name": name, "tool_input": input(arguments, dialect), "tool_use_id": call, "tool_response": output,
        }),
        HookEvent::Stop => match dialect {
            Dialect::ClaudeCode => json!({"stop_hook_active": false}),
            Dialect::Codex => json!({"stop_hook_active": false, "last_assistant_message": null}),
        },
        HookEvent::SubagentStart | HookEvent::SubagentStop => {
            json!({"agent_id": agent.header().id, "agent_type": "general-purpose"})
        }
    };
    if dialect == Dialect::Codex {
        details["model"] = json!(host.model.model());
        details["permission_mode"] = json!("default");
        if !matches!(event, HookEvent::SessionStart(_)) {
            details["turn_id"] = json!(agent.session().turns().to_string());
        }
    }
    details
}

fn input(arguments: &Value, dialect: Dialect) -> Value {
    match dialect {
        Dialect::ClaudeCode => arguments.clone(),
        Dialect::Codex => {
            json!({"command": arguments.get("command").and_then(Value::as_str).unwrap_or_default()})
        }
    }
}

/// Runs a hook with its payload; its exit code, if it came to one. What it prints is not listened to.
async fn tell(host: &Host, agent: &Agent, command: &str, payload: &str) -> Option<i32> {
    let environment = environment::inherited(&host.process.borrow(), host.revision);
    let mut child = Command::new("bash")
        .arg("-c")
        .arg(command)
        .current_dir(host.place(agent.header(), None))
        .env_clear()
        .envs(environment)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .ok()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A hook that does not read is no failure.
        stdin.write_all(payload.as_bytes()).await.ok();
    }
    child.wait().await.ok()?.code()
}
