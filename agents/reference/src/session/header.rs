//! The header of a session: who it is, where it works, and where it came from.
//!
//! Written once, as the first line of the log, in the shape of DeepSeek Harness 0.2.1. It must never change afterwards.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::id::SessionId;

/// The version of the log's format.
const FORMAT: u32 = 4;

/// What kind of line this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Line {
    /// The first one.
    Session,
}

/// The first line of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Always `session`.
    #[serde(rename = "type")]
    pub line: Line,
    /// The version of the log's format.
    pub version: u32,
    /// The id of the session.
    pub id: SessionId,
    /// When it was created, in milliseconds since 1970.
    pub created_at: u64,
    /// The directory that it works in; none when it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The session that it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<SessionId>,
    /// `subagent` when it was delegated to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Whether it starts with events of its parent.
    pub is_seeded: bool,
    /// How many delegations lie above it.
    pub delegation_depth: u32,
}

impl Header {
    /// A session that came from nowhere.
    pub fn root(id: SessionId, cwd: Option<String>) -> Self {
        Self {
            line: Line::Session,
            version: FORMAT,
            id,
            created_at: now_ms(),
            cwd,
            parent_session: None,
            origin: None,
            is_seeded: false,
            delegation_depth: 0,
        }
    }

    /// A child that was delegated to; it works where its parent does unless told otherwise.
    pub fn child_of(parent: &Self, id: SessionId, cwd: Option<String>) -> Self {
        Self {
            parent_session: Some(parent.id.clone()),
            origin: Some("subagent".to_owned()),
            delegation_depth: parent.delegation_depth + 1,
            ..Self::root(id, cwd.or_else(|| parent.cwd.clone()))
        }
    }

    /// A branch that inherits its source's turns; it is no deeper than its source.
    pub fn fork_of(source: &Self, id: SessionId, cwd: Option<String>) -> Self {
        Self {
            parent_session: Some(source.id.clone()),
            is_seeded: true,
            delegation_depth: source.delegation_depth,
            ..Self::root(id, cwd.or_else(|| source.cwd.clone()))
        }
    }
}

/// Milliseconds since 1970; zero if the clock stands before that.
pub fn now_ms() -> u64 {
    let elapsed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}
