//! The binary: its ready line, its control plane, its end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::client::{main_request, user};

/// A running program with its ready line read.
struct Program {
    child: Child,
    stdout: BufReader<ChildStdout>,
    ready: Value,
}

fn start(script: &Value, more: &[&str]) -> Program {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    std::fs::write(&path, script.to_string()).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_fake-model"))
        .arg("--script")
        .arg(&path)
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    Program {
        ready: serde_json::from_str(&line).unwrap(),
        child,
        stdout,
    }
}

impl Program {
    /// Closes stdin and waits: the exit code and the last line.
    fn end(mut self) -> (Option<i32>, Value) {
        drop(self.child.stdin.take());
        self.wait()
    }

    fn wait(mut self) -> (Option<i32>, Value) {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        (
            self.child.wait().unwrap().code(),
            serde_json::from_str(&line).unwrap(),
        )
    }

    fn url(&self, key: &str) -> (String, String) {
        let url = self.ready[key]
            .as_str()
            .unwrap()
            .strip_prefix("http://")
            .unwrap();
        let (host, path) = url.split_once('/').unwrap_or((url, ""));
        (host.to_owned(), format!("/{path}"))
    }

    fn control(&self, method: &str, path: &str) -> String {
        http(&self.url("url").0, method, path, "")
    }
}

/// One request on a connection of its own; the whole answer.
fn http(host: &str, method: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: k\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn script() -> Value {
    json!({
        "sessions": [{"name": "main", "opening": "[main]"}],
        "replies": [{"session": "main", "step": 0, "gates": ["g"], "reply": {"say": "hello"}}]
    })
}

#[test]
fn a_run_as_scripted_is_controlled_over_http_and_exits_0() {
    let program = start(&script(), &[]);
    assert_eq!(program.ready["pid"], program.child.id());
    let (host, path) = program.url("base_url");
    let body = main_request(&[user("[main] go")]).to_string();
    let asked =
        std::thread::spawn(move || http(&host, "POST", &format!("{path}/chat/completions"), &body));
    assert!(
        program
            .control("GET", "/_fake/wait/main?count=1")
            .contains("{\"requests\":1}")
    );
    assert!(
        program
            .control("POST", "/_fake/gates/main/h/open")
            .starts_with("HTTP/1.1 404")
    );
    assert!(
        program
            .control("POST", "/_fake/gates/main/g/open")
            .starts_with("HTTP/1.1 204")
    );
    assert!(asked.join().unwrap().contains("data: [DONE]"));
    let journal = program.control("GET", "/_fake/journal/main");
    // Whether the reply was held depends on who was faster, the gate or the request.
    for event in ["request", "opened", "replied"] {
        let count = journal.matches(&format!("\"event\":\"{event}\"")).count();
        assert_eq!(count, 1, "{event} in {journal}");
    }
    assert!(
        program
            .control("GET", "/_fake/report/main")
            .contains("\"requests\":1")
    );
    let (exit, last) = program.end();
    assert_eq!(
        (exit, &last["report"]["unused"], &last["strays"]),
        (Some(0), &json!([]), &json!(0))
    );
}

#[test]
fn a_reply_left_over_or_a_stray_request_exits_1() {
    let (exit, last) = start(&script(), &[]).end();
    assert_eq!(
        (exit, &last["report"]["unused"]),
        (Some(1), &json!([{"session": "main", "step": 0}]))
    );
    let program = start(&json!({"sessions": [], "replies": []}), &[]);
    let answer = http(&program.url("base_url").0, "POST", "/v1/messages", "{}");
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    let (exit, last) = program.end();
    assert_eq!((exit, &last["strays"]), (Some(1), &json!(1)));
}

#[test]
fn it_ends_with_its_owner_though_stdin_stays_open() {
    let mut owner = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let pid = owner.id().to_string();
    let program = start(
        &json!({"sessions": [], "replies": []}),
        &["--owner-pid", &pid],
    );
    drop(owner.stdin.take());
    owner.wait().unwrap();
    assert_eq!(program.wait().0, Some(0));
}

#[test]
fn a_script_that_is_not_sound_exits_2_and_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    std::fs::write(&path, r#"{"sessions": [], "replies": [], "titel": null}"#).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_fake-model"))
        .arg("--script")
        .arg(&path)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(String::from_utf8(output.stderr).unwrap(), @"fake-model: script at `titel`: unknown field `titel`, expected one of `sessions`, `replies`, `title`");
}
