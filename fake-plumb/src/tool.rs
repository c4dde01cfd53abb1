//! The tools: what a call may use, what it gives back, and which function carries it out.
//!
//! Called by [`crate::daemon::call`] after the guard. A tool that the fake has not is never imitated.

mod files;
mod git;
mod mail;
mod memory;
mod packet;
mod project;
mod session_start;
mod sessions;

use std::path::PathBuf;

use serde_json::{Map, Value};

pub(crate) use project::Project;

use crate::daemon::Daemon;
use crate::daemon::conn::Conn;
use crate::identity::AgentId;
use crate::mcp::failure::{Envelope, Failure, Remedy};

/// One call on its way to its tool.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) daemon: &'a Daemon,
    pub(crate) conn: &'a Conn,
    pub(crate) tool: &'static str,
    /// Whom the call is attributed to.
    pub(crate) agent: Option<AgentId>,
    /// The stamp it carried, in `_meta` or in its arguments.
    pub(crate) stamp: Option<AgentId>,
    /// `params._meta`.
    pub(crate) meta: Map<String, Value>,
    pub(crate) arguments: Map<String, Value>,
}

/// Whether waiting mail may still be appended to an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MailBlock {
    MayFollow,
    /// The tool dealt with mail itself, or must not touch it.
    Settled,
}

/// A successful answer.
#[derive(Debug)]
pub(crate) struct Success {
    pub(crate) text: String,
    pub(crate) meta: Map<String, Value>,
    pub(crate) mail: MailBlock,
}

impl Success {
    /// Text without `_meta`.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            meta: Map::new(),
            mail: MailBlock::MayFollow,
        }
    }
}

impl Call<'_> {
    /// A string argument that is not empty.
    pub(crate) fn str(&self, name: &str) -> Option<&str> {
        self.arguments
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    }

    fn flag(&self, name: &str) -> bool {
        self.arguments
            .get(name)
            .and_then(Value::as_bool)
            .unwrap_or(false)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.arguments.get(name).and_then(Value::as_u64)
    }

    /// Where the call works, if anywhere.
    pub(crate) fn root(&self) -> Option<PathBuf> {
        self.conn
            .state()
            .identities
            .root_of(self.agent.as_ref())
            .map(std::path::Path::to_owned)
    }

    /// Where the call works, or the refusal to work nowhere.
    fn attached_root(&self) -> Result<PathBuf, Failure> {
        self.root()
            .ok_or_else(|| Failure::plain(format!("{}: {DETACHED}", self.tool)))
    }

    fn invalid(&self, text: String) -> Failure {
        Failure {
            text,
            envelope: Some(Envelope::invalid_arguments(self.tool)),
        }
    }

    fn failed(&self, kind: &'static str, remedy: Remedy, text: String) -> Failure {
        let operation = self.tool.to_owned();
        Failure {
            text,
            envelope: Some(Envelope {
                kind,
                operation,
                remedy,
                scope: None,
            }),
        }
    }
}

/// What a connection without a workspace is told (facts, section 5).
const DETACHED: &str = "workspace not yet attached — call session_start first";

/// Carries a call out.
pub(crate) async fn run(call: &mut Call<'_>) -> Result<Success, Failure> {
    match call.tool {
        "session_start" => session_start::run(call),
        "leave_note" => mail::leave_note(call),
        "check_messages" => mail::check_messages(call).await,
        "rename_session" => sessions::rename(call),
        "workspace_sessions" => sessions::list(call),
        "daemon_info" => Ok(sessions::daemon_info(call)),
        "list_memories" => memory::list(call),
        "read_memory" => memory::read(call),
        "write_memory" => memory::write(call),
        "read_file" => files::read(call),
        "write_file" => files::write(call),
        "file_status" => files::status(call),
        "find_files" => files::find(call),
        "git" => git::run(call).await,
        other => Err(Failure::plain(format!("{other}: not in the fake"))),
    }
}

/// Claims what waits for the caller and renders it; empty if nothing waits.
pub(crate) fn mail_block(call: &Call<'_>) -> String {
    mail::claimed_block(call)
}
