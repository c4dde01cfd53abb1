//! What the fake model saw: requests by conversation, and what went wrong with its script.

use serde_json::Value;

use super::session::text_of;

/// One event of the fake model's journal, as it wrote it.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ModelEvent(pub Value);

/// One request that a conversation made.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The launch whose path it came by.
    pub launch: String,
    /// The conversation; none for a title or an unmatched request.
    pub session: Option<String>,
    /// `main`, `title` or `retry`.
    pub kind: String,
    /// When it arrived.
    pub t_us: u64,
    /// Its body.
    pub body: Value,
}

impl ModelEvent {
    /// The kind of the event.
    pub fn kind(&self) -> &str {
        self.text("event")
    }

    fn text(&self, key: &str) -> &str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// One line for a person.
    pub fn detail(&self) -> String {
        if self.kind() == "tool-drift" {
            let near = self
                .0
                .get("near")
                .map(ToString::to_string)
                .unwrap_or_default();
            return format!(
                "the script wants the tool `{}`, the request offers none or several; near: {near}",
                self.text("wanted")
            );
        }
        if self.kind() == "capture-miss" {
            return format!(
                "the history holds nothing that matches `{}`",
                self.text("pattern")
            );
        }
        for key in ["detail", "reason"] {
            if let Some(text) = self.0.get(key).and_then(Value::as_str) {
                return text.to_owned();
            }
        }
        self.0.to_string()
    }

    /// The launch whose path the request came by.
    pub fn launch(&self) -> &str {
        self.text("launch")
    }

    /// The request, if the event is one.
    pub fn request(&self) -> Option<Request> {
        if self.kind() != "request" {
            return None;
        }
        let body = match self.0.get("body") {
            Some(Value::String(text)) => serde_json::from_str(text).unwrap_or(Value::Null),
            Some(value) => value.clone(),
            None => Value::Null,
        };
        Some(Request {
            launch: self.launch().to_owned(),
            session: self
                .0
                .get("session")
                .and_then(Value::as_str)
                .map(str::to_owned),
            kind: self.text("kind").to_owned(),
            t_us: self
                .0
                .get("t_us")
                .and_then(Value::as_u64)
                .unwrap_or_default(),
            body,
        })
    }
}

impl Request {
    /// The messages of the history.
    pub fn messages(&self) -> &[Value] {
        self.body
            .get("messages")
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// The tools on offer.
    pub fn tools(&self) -> &[Value] {
        self.body
            .get("tools")
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// One tool's whole object, as it was sent.
    pub fn tool(&self, name: &str) -> Option<&Value> {
        self.tools()
            .iter()
            .find(|tool| tool.pointer("/function/name").and_then(Value::as_str) == Some(name))
    }

    /// Texts of messages with this role.
    pub fn texts(&self, role: &str) -> Vec<String> {
        self.messages()
            .iter()
            .filter(|message| message.get("role").and_then(Value::as_str) == Some(role))
            .map(|message| message.get("content").map(text_of).unwrap_or_default())
            .collect()
    }
}
