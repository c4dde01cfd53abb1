//! A tiny OpenAI-compatible server for tests: a user message says, as JSON, what the model does next.
//!
//! `[["bash", {"command": "ls"}], ["bash", {…}]]` is one call after the other; anything else is answered with `done`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// What the server answers.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// These events.
    Stream(Vec<Value>),
    /// A refusal.
    Status(u16, &'static str),
}

/// A server; it ends with the test process.
#[derive(Debug)]
pub(crate) struct Model {
    port: u16,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Model {
    /// A server that does what user messages say.
    pub(crate) fn obedient() -> Self {
        Self::answering(obey)
    }

    /// A server that answers each request by a function.
    pub(crate) fn answering(answer: fn(&Value) -> Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests: Arc<Mutex<Vec<Value>>> = Arc::default();
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                std::thread::spawn(move || serve(&stream, answer, &seen));
            }
        });
        Self { port, requests }
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// The bodies of all requests so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }
}

/// One piece of a reply.
pub(crate) fn delta(delta: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

/// The last piece of a reply.
pub(crate) fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

/// A reply of text.
pub(crate) fn say(text: &str) -> Answer {
    Answer::Stream(vec![
        delta(&json!({"role": "assistant", "content": text})),
        finish("stop"),
    ])
}

/// A reply that calls one tool; its arguments come in two pieces.
pub(crate) fn call(id: &str, name: &str, arguments: &Value) -> Answer {
    let text = arguments.to_string();
    let (head, rest) = text.split_at(1);
    let first = json!({"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": head}});
    let second = json!({"index": 0, "function": {"arguments": rest}});
    let pieces = [first, second].map(|piece| delta(&json!({"tool_calls": [piece]})));
    Answer::Stream(pieces.into_iter().chain([finish("tool_calls")]).collect())
}

fn obey(body: &Value) -> Answer {
    let messages = body["messages"].as_array().unwrap();
    let last = messages
        .iter()
        .rposition(|message| message["role"] == "user")
        .unwrap();
    let told = messages[last]["content"].as_str().unwrap();
    let steps: Vec<(String, Value)> = serde_json::from_str(told).unwrap_or_default();
    let done = messages[last..]
        .iter()
        .filter(|message| message["role"] == "assistant")
        .count();
    match steps.get(done) {
        Some((name, arguments)) => call(&format!("call-{last}-{done}"), name, arguments),
        None => say("done"),
    }
}

fn serve(stream: &TcpStream, answer: fn(&Value) -> Answer, seen: &Mutex<Vec<Value>>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let body: Value = serde_json::from_slice(&body).unwrap();
        let answer = answer(&body);
        seen.lock().unwrap().push(body);
        let text = match answer {
            Answer::Status(status, body) => {
                format!(
                    "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                )
            }
            Answer::Stream(events) => {
                let events: Vec<String> = events
                    .iter()
                    .map(|event| format!("data: {event}\n\n"))
                    .collect();
                let body = events.concat() + "data: [DONE]\n\n";
                format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                )
            }
        };
        let mut stream = stream;
        if stream.write_all(text.as_bytes()).is_err() {
            return;
        }
    }
}
