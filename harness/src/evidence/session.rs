//! The agent's own session logs: header, events, and which conversation a log is.
//!
//! A log is attributed by its header and by the messages in it, never by its path. A torn tail is
//! kept and marked; it is not skipped.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// One session's log.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SessionLog {
    /// The launch whose home it lay in.
    pub launch: String,
    /// The file, as an absolute path at the time of the run.
    pub file: String,
    /// The first line.
    pub header: Value,
    /// The other lines, in order.
    pub events: Vec<Value>,
    /// What was left of a last line that is no JSON.
    pub torn: Option<String>,
}

/// A log that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file cannot be opened or decompressed.
    #[error("session log `{path}`: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl SessionLog {
    /// Reads the plain text of a log.
    pub fn parse(launch: &str, file: &str, text: &str) -> Self {
        let mut lines = text.lines().filter(|line| !line.is_empty());
        let mut torn = None;
        let mut parsed = Vec::new();
        for line in lines.by_ref() {
            let Ok(value) = serde_json::from_str::<Value>(line) else {
                torn = Some(line.to_owned());
                break;
            };
            parsed.push(value);
        }
        let mut parsed = parsed.into_iter();
        Self {
            launch: launch.to_owned(),
            file: file.to_owned(),
            header: parsed.next().unwrap_or(Value::Null),
            events: parsed.collect(),
            torn,
        }
    }

    /// The id in the header.
    pub fn id(&self) -> Option<&str> {
        self.header.get("id")?.as_str()
    }

    /// The parent's id in the header.
    pub fn parent(&self) -> Option<&str> {
        self.header.get("parentSession")?.as_str()
    }

    /// The working directory in the header.
    pub fn cwd(&self) -> Option<&str> {
        self.header.get("cwd")?.as_str()
    }

    /// Events of one type.
    pub fn of_type<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events
            .iter()
            .filter(move |event| event.get("type").and_then(Value::as_str) == Some(kind))
    }

    /// The texts of the user messages, in order.
    pub fn user_texts(&self) -> Vec<String> {
        self.of_type("user/message")
            .filter_map(|event| event.pointer("/data/content"))
            .map(text_of)
            .collect()
    }

    /// The name of the conversation: of the last user message that starts with an opening, the
    /// longest opening.
    pub fn name<'a>(&self, openings: &'a [(String, String)]) -> Option<&'a str> {
        self.user_texts().iter().rev().find_map(|text| {
            openings
                .iter()
                .filter(|(_, opening)| text.starts_with(opening.as_str()))
                .max_by_key(|(_, opening)| opening.len())
                .map(|(name, _)| name.as_str())
        })
    }
}

/// The text of a message's content, which is a string or a list of parts.
pub fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part.get("text").and_then(Value::as_str))
            .collect(),
        _ => String::new(),
    }
}

/// Every session log under `root`, decompressed.
pub fn find(launch: &str, root: &Path) -> Result<Vec<(SessionLog, String)>, LogError> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("session") && name.contains(".jsonl") {
                let text = text(&path)?;
                found.push((
                    SessionLog::parse(launch, &path.display().to_string(), &text),
                    text,
                ));
            }
        }
    }
    found.sort_by(|one, other| one.0.file.cmp(&other.0.file));
    Ok(found)
}

/// The text of a log: plain, or as concatenated zstd frames of which the last may be torn.
fn text(path: &Path) -> Result<String, LogError> {
    let unreadable = |source| LogError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let bytes = std::fs::read(path).map_err(unreadable)?;
    // The magic number of a zstd frame (RFC 8878, section 3.1.1).
    if !bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    let mut decoder = zstd::Decoder::new(bytes.as_slice()).map_err(unreadable)?;
    let mut out = Vec::new();
    if let Err(error) = std::io::Read::read_to_end(&mut decoder, &mut out)
        && out.is_empty()
    {
        return Err(unreadable(error));
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

#[cfg(test)]
mod tests {
    use super::SessionLog;

    fn message(text: &str) -> String {
        serde_json::json!({"type": "user/message", "data": {"content": [{"type": "text", "text": text}]}})
            .to_string()
    }

    fn openings() -> Vec<(String, String)> {
        ["main", "child"]
            .map(|name| (name.to_owned(), format!("[{name}] Go.")))
            .to_vec()
    }

    #[test]
    fn a_fork_is_known_by_its_own_message_not_by_its_parents() {
        let text = [
            r#"{"type":"session","id":"s-2"}"#.to_owned(),
            message("[main] Go."),
            message("[child] Go. And more."),
            message("a notice"),
        ]
        .join("\n");
        let log = SessionLog::parse("main", "f", &text);
        assert_eq!(log.name(&openings()), Some("child"));
        assert_eq!(log.id(), Some("s-2"));
    }

    #[test]
    fn a_log_belongs_to_the_id_in_its_header_whatever_its_path_says() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("sessions/other/session-two/session.jsonl");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, r#"{"type":"session","id":"session-one"}"#).unwrap();
        let found = super::find("main", root.path()).unwrap();
        let ids: Vec<_> = found.iter().map(|(log, _)| log.id()).collect();
        assert_eq!(ids, [Some("session-one")]);
    }

    #[test]
    fn a_torn_tail_is_kept_and_marked() {
        let log = SessionLog::parse(
            "main",
            "f",
            "{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"us",
        );
        assert_eq!(log.torn.as_deref(), Some("{\"type\":\"us"));
        assert_eq!(log.id(), Some("s"));
    }
}
