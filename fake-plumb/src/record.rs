//! The session record: what plumb writes about one connection, field by field.
//!
//! Written by the daemon, read back by the listing commands. No reader outside this crate shares this type.

pub(crate) mod file;
pub(crate) mod name;
pub(crate) mod registry;

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::namespace::NamespaceId;
use crate::time;

/// Names a record: the low 48 bits of its start in nanoseconds, and eight random hex digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct SessionId(String);

impl SessionId {
    /// Makes the id of a session that starts now.
    pub(crate) fn new(started: Timestamp) -> Self {
        let low = started.as_nanosecond() & 0xffff_ffff_ffff;
        Self(format!(
            "{low:x}-{:08x}",
            u32::from_be_bytes(crate::resume::random())
        ))
    }

    pub(crate) fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a session is not well; the value of `health`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Health {
    Blocked,
    SharedConnectionDetected,
}

/// One record, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) id: SessionId,
    pub(crate) name: String,
    /// The daemon's pid, not serve's.
    pub(crate) pid: u32,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) daemon_version: String,
    /// Empty until attached, then `none`: the fake has no language server.
    pub(crate) language: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) detected_language: Option<String>,
    /// The canonical root, empty until attached.
    pub(crate) folder: String,
    pub(crate) adapter: String,
    #[serde(with = "stamp")]
    pub(crate) started_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) external_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) purpose: Option<String>,
    /// The zero time while live.
    #[serde(with = "time::end")]
    pub(crate) ended_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) protocol_offered: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) protocol_answered: Option<String>,
    /// A JSON text in a string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_capabilities: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) health: Option<Health>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) health_message: Option<String>,
    /// The root has no project marker.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) synthetic: bool,
    /// The connection of an agent that is pinned elsewhere than it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parent_id: Option<SessionId>,
    /// The namespace the connection joined ([`crate::assumed`], A2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<NamespaceId>,
}

impl Record {
    /// The record of a connection that was just accepted.
    pub(crate) fn accepted(name: String, daemon_version: &str) -> Self {
        let started_at = Timestamp::now();
        Self {
            id: SessionId::new(started_at),
            name,
            pid: std::process::id(),
            daemon_version: daemon_version.to_owned(),
            language: String::new(),
            detected_language: None,
            folder: String::new(),
            adapter: String::new(),
            started_at,
            external_id: None,
            purpose: None,
            ended_at: None,
            client_name: None,
            client_version: None,
            protocol_offered: None,
            protocol_answered: None,
            client_capabilities: None,
            health: None,
            health_message: None,
            synthetic: false,
            parent_id: None,
            namespace: None,
        }
    }

    pub(crate) fn is_live(&self) -> bool {
        self.ended_at.is_none()
    }
}

/// Serde for a point in time.
mod stamp {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(at: &Timestamp, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(at)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        String::deserialize(from)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_golden_record_of_a_real_plumb_is_read_and_written_back_the_same() {
        let real = r#"{"id":"e59b7e377676-53f28c37","name":"polar-ridge","pid":8028,"daemon_version":"dev","language":"none","detected_language":"go","folder":"/ws","adapter":"","started_at":"2026-11-30T18:20:07.414246069Z","external_id":"agent-one","purpose":"dsh","ended_at":"0001-01-01T00:00:00Z","client_name":"dsh-mcp-client","client_version":"0.1.0","protocol_offered":"2025-06-18","protocol_answered":"2024-11-05","client_capabilities":"{}","health":"shared_connection_detected","health_message":"m"}"#;
        let record: Record = serde_json::from_str(real).unwrap();
        assert!(record.is_live());
        assert_eq!(serde_json::to_string(&record).unwrap(), real);
    }

    #[test]
    fn a_fresh_record_has_the_fields_of_a_bare_socket_dial() {
        let json = serde_json::to_value(Record::accepted("a-b".into(), "dev")).unwrap();
        let keys: Vec<_> = json
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        insta::assert_snapshot!(keys.join(" "), @"id name pid daemon_version language folder adapter started_at ended_at");
    }
}
