//! Reads plumb's session records as they lie on the disk, and nothing else of plumb.
//!
//! Records are read as files, never through `plumb sessions`: that shows the living only, and every
//! listing deletes. The field that names the namespace comes from the dialect, since it is assumed.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// The time that plumb writes for a session that has not ended (measured: never absent, never null).
const LIVE: &str = "0001-01-01T00:00:00Z";

/// One record: the file's own JSON, with names for what is judged.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Record(pub Value);

/// What a directory of records holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Records {
    /// Every record that could be read, by file name.
    pub read: BTreeMap<String, Record>,
    /// Files that are no JSON: name and what is wrong.
    pub torn: Vec<String>,
}

impl Record {
    fn text(&self, key: &str) -> &str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// The session's id.
    pub fn id(&self) -> &str {
        self.text("id")
    }

    /// The session's name, to which notes are addressed.
    pub fn name(&self) -> &str {
        self.text("name")
    }

    /// The id it declared, or nothing.
    pub fn external_id(&self) -> &str {
        self.text("external_id")
    }

    /// The purpose it declared, or nothing.
    pub fn purpose(&self) -> &str {
        self.text("purpose")
    }

    /// The folder it is attached to, or nothing.
    pub fn folder(&self) -> &str {
        self.text("folder")
    }

    /// The name of the client.
    pub fn client(&self) -> &str {
        self.text("client_name")
    }

    /// When it started, as plumb wrote it.
    pub fn started_at(&self) -> &str {
        self.text("started_at")
    }

    /// Whether the connection has ended.
    pub fn ended(&self) -> bool {
        let ended = self.text("ended_at");
        !ended.is_empty() && ended != LIVE
    }

    /// Whether plumb marked the connection as shared by several agents.
    pub fn shared(&self) -> bool {
        self.text("health") == "shared_connection_detected"
    }

    /// Whether this is the row of an agent pinned elsewhere, not a connection.
    pub fn is_agent_row(&self) -> bool {
        !self.text("parent_id").is_empty()
    }

    /// The namespace, under the field that the dialect names.
    pub fn namespace(&self, field: &str) -> &str {
        self.text(field)
    }
}

/// Reads a directory of records. A directory that is not there holds none.
pub fn read(folder: &Path) -> std::io::Result<Records> {
    let mut records = Records::default();
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(records),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let is_record = Path::new(&name)
            .extension()
            .is_some_and(|kind| kind == "json");
        if name.starts_with('.') || !is_record {
            continue;
        }
        match std::fs::read(folder.join(&name)) {
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(value) => {
                    records.read.insert(name, Record(value));
                }
                Err(error) => records.torn.push(format!("{name}: {error}")),
            },
            // A listing by the daemon may delete an old one between the two calls.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::{Record, read};

    #[test]
    fn a_live_record_has_the_zero_time_and_is_not_ended() {
        let live = Record(serde_json::json!({"ended_at": "0001-01-01T00:00:00Z"}));
        let over = Record(serde_json::json!({"ended_at": "2026-11-30T18:26:15.244703332Z"}));
        assert!(!live.ended());
        assert!(over.ended());
    }

    #[test]
    fn temporary_files_are_passed_over_and_torn_ones_are_told() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".session-1.json.tmp"), "{").unwrap();
        std::fs::write(folder.path().join("a-1.json"), "{\"id\":\"a-1\"}").unwrap();
        std::fs::write(folder.path().join("b-2.json"), "{\"id\":").unwrap();
        let records = read(folder.path()).unwrap();
        assert_eq!(records.read.len(), 1);
        assert_eq!(records.torn.len(), 1);
        assert!(records.torn[0].starts_with("b-2.json"));
    }
}
