//! What the model is sent: the conversation, read off the events of a session, and the tools.
//!
//! Pure. A resumed or forked session says the same as the one that it came from, because nothing but events is read.

use serde_json::{Value, json};

use crate::session::event::Event;

/// The body of a request.
pub fn body(model: &str, messages: &[Value], tools: &[Value]) -> Value {
    json!({
        "model": model,
        "messages": messages,
        "stream": true,
        "stream_options": {"include_usage": true},
        "tools": tools,
    })
}

/// The conversation as messages. A result that belongs to no call of the message before is not possible: both are
/// events of the same step.
pub fn messages(events: &[Event]) -> Vec<Value> {
    events.iter().filter_map(message).collect()
}

fn message(event: &Event) -> Option<Value> {
    let data = &event.data;
    match event.kind.as_str() {
        "system/message" => {
            Some(json!({"role": "system", "content": text(data.pointer("/message/content")?)}))
        }
        "user/message" => Some(json!({"role": "user", "content": text(data.get("content")?)})),
        "assistant/message" => Some(assistant(data.pointer("/message/content")?.as_array()?)),
        "tool/result" => {
            let message = data.get("message")?;
            let content = text(message.get("content")?);
            Some(
                json!({"role": "tool", "tool_call_id": message.get("toolCallId")?, "content": content}),
            )
        }
        _ => None,
    }
}

fn assistant(parts: &[Value]) -> Value {
    let kind = |part: &Value| {
        part.get("type")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let calls: Vec<Value> = parts
        .iter()
        .filter(|part| kind(part) == "tool-call")
        .map(call)
        .collect();
    let said: String = parts
        .iter()
        .filter(|part| kind(part) == "text")
        .filter_map(|part| part["text"].as_str())
        .collect();
    let said = if said.is_empty() {
        Value::Null
    } else {
        Value::String(said)
    };
    let mut message = json!({"role": "assistant", "content": said});
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    message
}

fn call(part: &Value) -> Value {
    let function = json!({"name": part["name"], "arguments": part["arguments"]});
    json!({"id": part["id"], "type": "function", "function": function})
}

/// The text of a list of content parts.
pub fn text(content: &Value) -> String {
    content
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|part| part.get("text")?.as_str())
        .collect()
}
