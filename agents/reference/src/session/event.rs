//! The events of a session, with the data shapes of DeepSeek Harness 0.2.1.
//!
//! Made by the turn and by the tools, read by everything else. An event must never carry a `DSH_*` value of its own:
//! identity is in the header, and what a command printed is in its result.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::id;
use crate::model::reply::{Call, Reply};

/// The type of the event that begins a turn.
pub const TURN_START: &str = "turn/start";
/// The type of the event that ends a turn.
pub const TURN_END: &str = "turn/end";
/// The type of the event that holds a tool's output.
pub const TOOL_RESULT: &str = "tool/result";
/// The type of the event that holds what a request offers.
pub const REQUEST_HEADER: &str = "request/header";

/// One line after the header.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// What happened.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its number, contiguous from zero.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub time: u64,
    /// What belongs to it.
    pub data: Value,
    /// The events that it answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_event_seqs: Vec<u64>,
    /// `append` when the conversation grew by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface_op: Option<String>,
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnReason {
    /// The model said its last word.
    Completed,
    /// It could not go on.
    Failed {
        /// The kind of failure, in capitals.
        code: &'static str,
        /// What happened.
        message: String,
    },
}

/// Who wrote a user message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// The user, or the parent that delegated.
    User,
    /// The harness, about a subagent that finished.
    Notice,
    /// Another agent.
    Agent,
}

/// What became of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// It ended by itself.
    Completed,
    /// It was ended.
    Cancelled,
}

/// What a tool call belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// The turn, from 1.
    pub turn: u64,
    /// The request of that turn, from 1.
    pub step: u64,
}

fn event(kind: &str, data: Value) -> Event {
    Event {
        kind: kind.to_owned(),
        seq: 0,
        time: 0,
        data,
        source_event_seqs: Vec::new(),
        surface_op: None,
    }
}

fn surface(kind: &str, data: Value) -> Event {
    Event {
        surface_op: Some("append".to_owned()),
        ..event(kind, data)
    }
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

/// An event of a type that the contract does not know.
pub fn other(kind: &str, data: Value) -> Event {
    event(kind, data)
}

/// A turn begins.
pub fn turn_start(turn: u64) -> Event {
    event(TURN_START, json!({"turn": turn}))
}

/// A turn is over.
pub fn turn_end(turn: u64, reason: &TurnReason) -> Event {
    let reason = match reason {
        TurnReason::Completed => json!({"kind": "completed"}),
        TurnReason::Failed { code, message } => {
            json!({"kind": "error", "code": code, "message": message})
        }
    };
    event(TURN_END, json!({"turn": turn, "reason": reason}))
}

/// A request is about to be made.
pub fn step_start(at: At) -> Event {
    event("step/start", json!({"turn": at.turn, "step": at.step}))
}

/// A request and the calls in its reply are over.
pub fn step_end(at: At) -> Event {
    event("step/end", json!({"turn": at.turn, "step": at.step}))
}

/// What the model is told before everything else.
pub fn system_message(at: At, prompt: &str) -> Event {
    let message = json!({"role": "system", "content": text(prompt)});
    event(
        "system/message",
        json!({"turn": at.turn, "step": at.step, "message": message}),
    )
}

/// A message to the model.
pub fn user_message(writer: Writer, content: &str) -> Event {
    let source = match writer {
        Writer::User => json!({"kind": "user"}),
        Writer::Notice => json!({"kind": "subagent", "form": "notice"}),
        Writer::Agent => json!({"kind": "agent"}),
    };
    surface(
        "user/message",
        json!({"content": text(content), "source": source, "role": "user", "id": id::uuid()}),
    )
}

/// What a request offers besides messages: the tools without their envelope.
pub fn request_header(model: &str, tools: &[Value], reason: &str) -> Event {
    let tools: Vec<&Value> = tools
        .iter()
        .map(|tool| tool.get("function").unwrap_or(tool))
        .collect();
    let header =
        json!({"config": {"provider": "openai-compatible", "model": model}, "tools": tools});
    event(REQUEST_HEADER, json!({"header": header, "reason": reason}))
}

/// What the model answered.
pub fn assistant_message(at: At, model: &str, reply: &Reply) -> Event {
    let mut content = Vec::new();
    if !reply.reasoning.is_empty() {
        content.push(json!({"type": "reasoning", "text": reply.reasoning}));
    }
    if !reply.text.is_empty() {
        content.push(json!({"type": "text", "text": reply.text}));
    }
    content.extend(
        reply
            .calls
            .iter()
            .map(|call| json!({"type": "tool-call", "id": call.id, "name": call.name, "arguments": call.arguments})),
    );
    let source = json!({"kind": "model", "provider": "openai-compatible", "model": model});
    let message =
        json!({"role": "assistant", "content": content, "source": source, "id": id::uuid()});
    let mut data = json!({"turn": at.turn, "step": at.step, "message": message});
    if let Some(usage) = &reply.usage {
        data["usage"] = usage.clone();
    }
    surface("assistant/message", data)
}

/// A tool is about to be called.
pub fn tool_call(at: At, call: &Call) -> Event {
    let data = json!({
        "turn": at.turn, "step": at.step, "callId": call.id, "name": call.name, "arguments": call.arguments,
    });
    event("tool/call", data)
}

/// A tool's output: what the model is given, and what stays.
pub fn tool_result(at: At, call: u64, call_id: &str, output: &str, is_error: bool) -> Event {
    let message = json!({
        "role": "tool", "source": {"kind": "tool", "callId": call_id}, "toolCallId": call_id,
        "content": text(output), "isError": is_error, "id": id::uuid(),
    });
    let data = json!({"turn": at.turn, "step": at.step, "message": message});
    Event {
        source_event_seqs: vec![call],
        ..surface(TOOL_RESULT, data)
    }
}

/// A command runs as a job.
pub fn job_registered(job: &str, label: &str, call_id: &str) -> Event {
    let data =
        json!({"jobId": job, "kind": "bash", "label": label, "toolCall": {"callId": call_id}});
    event("job/registered", data)
}

/// A job is over.
pub fn job_settled(job: &str, settled: Settled, detail: &str) -> Event {
    let status = match settled {
        Settled::Completed => "completed",
        Settled::Cancelled => "cancelled",
    };
    event(
        "job/settled",
        json!({"jobId": job, "kind": "bash", "status": status, "detail": detail}),
    )
}

/// What came before was inherited.
pub fn end_seed() -> Event {
    event("session/end-seed", json!({"inherited": true}))
}

/// A hook was run.
pub fn hook_invoked(name: &str, command: &str) -> Event {
    event("hook/invoked", json!({"event": name, "command": command}))
}

/// What a hook answered.
pub fn hook_result(name: &str, code: Option<i32>) -> Event {
    event("hook/result", json!({"event": name, "exitCode": code}))
}
