//! What the tap saw of one plumb process: its command, its frames, its end.

use serde_json::Value;

/// Who sent a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Direction {
    /// The client, to the server's standard input.
    ToServer,
    /// The server, from its standard output.
    ToClient,
}

/// One line that is JSON.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Frame {
    /// When, in microseconds of the run's clock.
    pub t_us: u64,
    /// Who sent it.
    pub direction: Direction,
    /// What it says.
    pub message: Value,
}

/// One plumb process that ran through the tap.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Tap {
    /// The file it was read from, relative to the scenario's folder.
    pub file: String,
    /// The words after the program's name.
    pub words: Vec<String>,
    /// Its variables that matter here; the token's value is hidden.
    pub env: std::collections::BTreeMap<String, String>,
    /// The name of every variable that it had.
    pub env_names: Vec<String>,
    /// When it started.
    pub started_us: u64,
    /// Its frames, in order.
    pub frames: Vec<Frame>,
    /// Lines of its standard output that are no JSON.
    pub noise: Vec<String>,
    /// Whether the namespace's token stood in one of its lines.
    pub masked: bool,
    /// How it ended, once it has.
    pub exit: Option<crate::supervise::notice::Status>,
}

/// One `tools/call` and its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// When it was sent.
    pub t_us: u64,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// Its `_meta`, if it has one.
    pub meta: Option<Value>,
    /// The whole answer, if there was one.
    pub answer: Option<Value>,
    /// When the answer came.
    pub answered_us: Option<u64>,
}

impl ToolCall {
    /// Whether the answer is a success.
    pub fn succeeded(&self) -> bool {
        self.answer
            .as_ref()
            .and_then(|answer| answer.pointer("/result"))
            .is_some_and(|result| result.get("isError") != Some(&Value::Bool(true)))
    }

    /// Whether there was an answer.
    pub fn answered(&self) -> bool {
        self.answer.is_some()
    }

    /// What the answer says to whoever asked: its text, or the message of a protocol error.
    pub fn said(&self) -> String {
        let error = self
            .answer
            .as_ref()
            .and_then(|answer| answer.pointer("/error/message")?.as_str());
        error.map_or_else(|| self.text(), str::to_owned)
    }

    /// The text of the answer.
    pub fn text(&self) -> String {
        self.answer
            .as_ref()
            .and_then(|answer| answer.pointer("/result/content"))
            .map(super::session::text_of)
            .unwrap_or_default()
    }
}

impl Tap {
    /// Whether it is an MCP server, and not another verb of the program.
    pub fn is_serve(&self) -> bool {
        self.words.first().is_some_and(|word| word == "serve")
    }

    /// The name that the client gave at `initialize`.
    pub fn client(&self) -> Option<&str> {
        self.requests("initialize")
            .find_map(|message| message.pointer("/params/clientInfo/name"))?
            .as_str()
    }

    /// Requests of one method, in order.
    pub fn requests<'a>(&'a self, method: &'a str) -> impl Iterator<Item = &'a Value> {
        self.frames
            .iter()
            .filter(|frame| frame.direction == Direction::ToServer)
            .map(|frame| &frame.message)
            .filter(move |message| message.get("method").and_then(Value::as_str) == Some(method))
    }

    /// Every `tools/call`, in order, with its answer.
    pub fn calls(&self) -> Vec<ToolCall> {
        self.frames
            .iter()
            .filter(|frame| frame.direction == Direction::ToServer)
            .filter(|frame| {
                frame.message.get("method").and_then(Value::as_str) == Some("tools/call")
            })
            .map(|frame| {
                let id = frame.message.get("id");
                let answer = self
                    .frames
                    .iter()
                    .filter(|other| other.direction == Direction::ToClient)
                    .find(|other| {
                        other.message.get("method").is_none() && other.message.get("id") == id
                    });
                let params = frame.message.get("params").cloned().unwrap_or_default();
                ToolCall {
                    t_us: frame.t_us,
                    tool: params
                        .get("name")
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                        .to_owned(),
                    arguments: params.get("arguments").cloned().unwrap_or_default(),
                    meta: params.get("_meta").cloned(),
                    answer: answer.map(|answer| answer.message.clone()),
                    answered_us: answer.map(|answer| answer.t_us),
                }
            })
            .collect()
    }

    /// The ids that were declared over this connection and accepted, in order.
    pub fn declared(&self) -> Vec<String> {
        self.calls()
            .iter()
            .filter(|call| call.tool == "session_start" && call.succeeded())
            .filter_map(|call| {
                call.arguments
                    .get("session_id")?
                    .as_str()
                    .map(str::to_owned)
            })
            .collect()
    }
}
