//! A raw HTTP client and the request bodies of an agent. Used by every test here; it interprets nothing that a test asserts.

use std::time::Duration;

use fake_model::{Event, Events, FakeModel, Tenant, What};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long a test waits for a fact that must come.
const DEADLINE: Duration = Duration::from_secs(10);

/// A server with one tenant.
pub(crate) struct Setup {
    pub(crate) model: FakeModel,
    pub(crate) tenant: Tenant,
    pub(crate) events: Events,
}

/// An answer, as bytes and in parts.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    /// The chunks of a chunked body, or the body as one.
    pub(crate) chunks: Vec<String>,
    /// Whether the body came to its proper end.
    pub(crate) is_whole: bool,
}

impl Setup {
    pub(crate) async fn new(script: &Value) -> Self {
        let model = FakeModel::start().await.unwrap();
        let mut tenant = model.tenant("t", script).unwrap();
        let events = tenant.take_events().unwrap();
        Self {
            model,
            tenant,
            events,
        }
    }

    /// The next event of this kind; those before it are dropped.
    pub(crate) async fn event(&mut self, name: &str) -> Value {
        within(name, async {
            loop {
                let event = self.events.recv().await.expect("the journal ended");
                let value = serde_json::to_value(&event).unwrap();
                if value["event"] == name {
                    return value;
                }
            }
        })
        .await
    }

    /// What is in the journal by now.
    pub(crate) fn seen(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.events.try_recv()).collect()
    }

    /// Posts a chat request on a connection of its own.
    pub(crate) async fn chat(&self, body: &Value) -> Answer {
        self.post("/chat/completions", body).await
    }

    pub(crate) async fn post(&self, below: &str, body: &Value) -> Answer {
        let mut stream = self.connect().await;
        send(&mut stream, &self.path(below), body).await;
        receive(&mut stream).await
    }

    pub(crate) fn path(&self, below: &str) -> String {
        format!("/t/{}/v1{below}", self.tenant.name())
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.model.url().trim_start_matches("http://"))
            .await
            .unwrap()
    }
}

/// Waits for a fact that must come.
pub(crate) async fn within<T>(what: &str, fact: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, fact)
        .await
        .unwrap_or_else(|_| panic!("{what} not seen in {DEADLINE:?}"))
}

pub(crate) async fn send(stream: &mut TcpStream, path: &str, body: &Value) {
    let body = body.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nAuthorization: Bearer secret\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
}

/// Reads one answer, to its end or to the end of the connection.
pub(crate) async fn receive(stream: &mut TcpStream) -> Answer {
    within("the answer", async {
        let mut bytes = Vec::new();
        loop {
            if let Some(answer) = parse(&bytes)
                && answer.is_whole
            {
                return answer;
            }
            let mut buffer = [0; 16 << 10];
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => {
                    return parse(&bytes).unwrap_or(Answer {
                        status: 0,
                        head: String::new(),
                        chunks: Vec::new(),
                        is_whole: false,
                    });
                }
                Ok(read) => bytes.extend_from_slice(&buffer[..read]),
            }
        }
    })
    .await
}

fn parse(bytes: &[u8]) -> Option<Answer> {
    let text = std::str::from_utf8(bytes).expect("whole code points a write");
    let (head, mut rest) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let mut answer = Answer {
        status,
        head: head.to_owned(),
        chunks: Vec::new(),
        is_whole: false,
    };
    if let Some(length) = answer.header("content-length") {
        answer.is_whole = rest.len() == length.parse::<usize>().ok()?;
        answer.chunks.push(rest.to_owned());
        return Some(answer);
    }
    while let Some((size, tail)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a chunk size");
        if size == 0 {
            answer.is_whole = tail == "\r\n";
            break;
        }
        let Some(chunk) = tail.get(..size) else { break };
        answer.chunks.push(chunk.to_owned());
        let Some(after) = tail.get(size + 2..) else {
            break;
        };
        rest = after;
    }
    Some(answer)
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(": "))
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    }

    /// The JSON of each frame; `[DONE]` and broken frames as strings.
    pub(crate) fn frames(&self) -> Vec<Value> {
        self.chunks
            .iter()
            .map(|chunk| {
                let data = chunk
                    .strip_prefix("data: ")
                    .and_then(|rest| rest.strip_suffix("\n\n"))
                    .expect("one frame a chunk");
                serde_json::from_str(data).unwrap_or_else(|_| Value::String(data.to_owned()))
            })
            .collect()
    }

    /// The text that the content deltas make.
    pub(crate) fn text(&self) -> String {
        self.frames()
            .iter()
            .filter_map(|frame| frame["choices"][0]["delta"]["content"].as_str())
            .collect()
    }

    /// The arguments of each call, put together by index.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let mut calls: Vec<String> = Vec::new();
        for frame in self.frames() {
            let delta = &frame["choices"][0]["delta"]["tool_calls"][0];
            if let Some(arguments) = delta["function"]["arguments"].as_str() {
                let index = usize::try_from(delta["index"].as_u64().unwrap()).unwrap();
                calls.resize_with(calls.len().max(index + 1), String::new);
                calls[index].push_str(arguments);
            }
        }
        calls
    }

    pub(crate) fn error(&self) -> String {
        let body: Value = serde_json::from_str(&self.chunks.concat()).unwrap();
        body["error"]["message"].as_str().unwrap().to_owned()
    }
}

/// A main request with these messages, as dsh sends it.
pub(crate) fn main_request(messages: &[Value]) -> Value {
    json!({
        "model": "fake-model",
        "messages": messages,
        "stream": true,
        "stream_options": {"include_usage": true},
        "store": false,
        "max_completion_tokens": 32768,
        "tools": [tool("bash"), tool("mcp__plumb__list_memories"), tool("subagent")],
    })
}

pub(crate) fn tool(name: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "description": "d", "parameters": {"type": "object", "properties": {}}}})
}

pub(crate) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

pub(crate) fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

pub(crate) fn call(id: &str, name: &str) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}]})
}

pub(crate) fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

/// A script of one session `main`, opened by `[main]`, with these replies.
pub(crate) fn main_script(replies: &[Value]) -> Value {
    let replies: Vec<Value> = replies
        .iter()
        .enumerate()
        .map(|(step, reply)| json!({"session": "main", "step": step, "reply": reply}))
        .collect();
    json!({"sessions": [{"name": "main", "opening": "[main]"}], "replies": replies, "title": "A title"})
}

/// The names of the events.
pub(crate) fn names(events: &[Event]) -> Vec<String> {
    events
        .iter()
        .map(|event| {
            serde_json::to_value(event).unwrap()["event"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect()
}

/// The names of the laws that were broken.
pub(crate) fn laws(events: &[Event]) -> Vec<fake_model::Law> {
    events
        .iter()
        .filter_map(|event| match &event.what {
            What::Violation(breach) => Some(breach.law),
            _ => None,
        })
        .collect()
}
