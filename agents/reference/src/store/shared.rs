//! The shared backend: one log for all sessions of a root, each line beside the id of its session.
//!
//! Like a database, it has no file for one session, so there is no honest answer to where a session's log is.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::StoreError;
use super::jsonl::failed;
use crate::session::Session;
use crate::session::event::Event;
use crate::session::header::Header;
use crate::session::id::SessionId;

/// The backend over its configuration.
#[derive(Debug, Clone, Copy)]
pub struct Shared<'a> {
    /// Where the log lies.
    pub root: &'a Path,
}

impl Shared<'_> {
    /// Appends a session's events from one on, and gives how many are durable then.
    pub fn append(&self, session: &Session, from: usize) -> Result<usize, StoreError> {
        let id = &session.header().id;
        let header = (from == 0).then(|| json!(session.header()));
        let events = session.events().get(from..).unwrap_or_default();
        let lines = header
            .into_iter()
            .chain(events.iter().map(|event| json!(event)));
        let text: Vec<String> = lines
            .map(|line| format!("{}\n", json!({"session": id, "line": line})))
            .collect();
        let path = self.path();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(self.root)
            .map_err(failed("create", self.root))?;
        let mut options = OpenOptions::new();
        let mut file = options
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed("open", &path))?;
        file.write_all(text.concat().as_bytes())
            .map_err(failed("append to", &path))?;
        Ok(session.events().len())
    }

    /// How many events of a session are durable.
    pub fn count(&self, id: &SessionId) -> Result<usize, StoreError> {
        Ok(self.lines(id)?.len().saturating_sub(1))
    }

    /// A session as it was stored.
    pub fn load(&self, id: &SessionId) -> Result<Session, StoreError> {
        let mut lines = self.lines(id)?.into_iter();
        let (at, first) = lines
            .next()
            .ok_or_else(|| StoreError::Unknown { id: id.clone() })?;
        let header: Header = self.typed(at, first)?;
        let events: Vec<Event> = lines
            .map(|(at, line)| self.typed(at, line))
            .collect::<Result<_, _>>()?;
        Ok(Session::stored(header, events))
    }

    fn path(&self) -> PathBuf {
        self.root.join("all-sessions.jsonl")
    }

    /// The lines of one session, each with its number; a last line without an end was never durable.
    fn lines(&self, id: &SessionId) -> Result<Vec<(usize, Value)>, StoreError> {
        let path = self.path();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed("read", &path)(error)),
        };
        let mut found = Vec::new();
        for (at, line) in text
            .split_inclusive('\n')
            .enumerate()
            .filter(|(_, line)| line.ends_with('\n'))
        {
            let mut line: Value =
                self.typed(at + 1, serde_json::from_str(line).unwrap_or(Value::Null))?;
            if line.get("session").and_then(Value::as_str) == Some(id.as_str()) {
                found.push((at + 1, line["line"].take()));
            }
        }
        Ok(found)
    }

    fn typed<T: serde::de::DeserializeOwned>(
        &self,
        line: usize,
        value: Value,
    ) -> Result<T, StoreError> {
        serde_json::from_value(value).map_err(|error| StoreError::Line {
            path: self.path(),
            line,
            what: error.to_string(),
        })
    }
}
