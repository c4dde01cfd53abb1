//! Replays the transcript of a real plumb, frame by frame, and compares what comes back.
//!
//! Ids, names, times and paths are replaced by placeholders on both sides; nothing else is.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use regex::Regex;
use serde_json::{Value, json};

use super::tolerated;
use crate::world::{Client, World};

const TRANSCRIPT: &str = include_str!("transcript.jsonl");

/// A difference: where, what the transcript has, what came.
struct Difference {
    frame: String,
    path: String,
    expected: Value,
    got: Value,
}

impl fmt::Debug for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            frame,
            path,
            expected,
            got,
        } = self;
        write!(f, "frame {frame}, {path}: expected {expected}, got {got}")
    }
}

#[test]
fn every_frame_of_the_transcript_comes_back_but_for_the_listed_differences() {
    let world = World::for_fidelity();
    let (ws_a, ws_b) = (world.workspace("a"), world.workspace("b"));
    prepare(&ws_a);
    leave_waiting_note(&world, &ws_a);
    let hide = |text: &str| redact(text, &ws_a, &ws_b);
    let frames: Vec<Value> = TRANSCRIPT
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();

    let mut client = world.bare(&ws_a, &[]);
    let mut differences = Vec::new();
    for frame in &frames {
        let msg = &frame["msg"];
        match frame["dir"].as_str().unwrap() {
            "c2s" => {
                let line = msg.to_string().replace("<WS_A>", ws_a.to_str().unwrap());
                client.write(&line.replace("<WS_B>", ws_b.to_str().unwrap()));
            }
            "s2c" => {
                let got = client.answer(msg["id"].as_u64().unwrap());
                compare_answer(msg, got, &hide, &mut differences);
            }
            _ => compare_event(msg, &world, &mut client, &hide, &mut differences),
        }
    }
    if client
        .unasked
        .iter()
        .any(|frame| frame["method"] == "roots/list")
    {
        differences.push(difference("unasked", "/roots", &json!(0), &json!(1)));
    }
    judge(&differences);
}

/// The workspace of the transcript: a git repository with one commit and one stray file.
fn prepare(ws: &Path) {
    fs::write(ws.join("README.md"), "x\n").unwrap();
    fs::write(ws.join("main.go"), "package main\n").unwrap();
    for args in [
        &["init", "-q", "-b", "master"][..],
        &["add", "."],
        &["commit", "-q", "-m", "init"],
    ] {
        let who = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
        assert!(
            Command::new("git")
                .arg("-C")
                .arg(ws)
                .args(who)
                .args(args)
                .status()
                .unwrap()
                .success()
        );
    }
    fs::write(ws.join("x1.txt"), "x\n").unwrap();
}

fn leave_waiting_note(world: &World, ws: &Path) {
    let mut sender = world.client(ws);
    sender.ok("session_start", json!({ "workspace": ws }));
    sender.ok("leave_note", json!({ "body": "from direct socket" }));
    sender.close();
}

fn compare_answer(
    expected: &Value,
    mut got: Value,
    hide: &dyn Fn(&str) -> String,
    into: &mut Vec<Difference>,
) {
    let frame = expected["id"].to_string();
    let mut expected = expected.clone();
    if let Some(tools) = expected.pointer("/result/tools").and_then(Value::as_array) {
        let here: Vec<&str> = names(got.pointer("/result/tools").unwrap());
        let (known, absent): (Vec<Value>, Vec<Value>) = tools
            .iter()
            .cloned()
            .partition(|tool| here.contains(&tool["name"].as_str().unwrap()));
        if !absent.is_empty() {
            into.push(difference(
                &frame,
                "/absent",
                &json!(0),
                &json!(absent.len()),
            ));
        }
        expected["result"]["tools"] = Value::Array(known);
        strip_descriptions(&mut expected);
        strip_descriptions(&mut got);
    }
    walk(
        &frame,
        "",
        &hidden(&expected, hide),
        &hidden(&got, hide),
        into,
    );
}

fn compare_event(
    msg: &Value,
    world: &World,
    client: &mut Client,
    hide: &dyn Fn(&str) -> String,
    into: &mut Vec<Difference>,
) {
    let event = msg["event"].as_str().unwrap();
    let own = |record: &Value| record["external_id"] == "typed-by-model";
    match event {
        "header" => {}
        "stdin closed by client; serve exited" => {
            // The live record comes later in the file, so it is looked at here, before the end.
            let live = world.record_where("the live record", own);
            assert_eq!(live["ended_at"], "0001-01-01T00:00:00Z");
            client.close_stdin();
            assert_eq!(json!(client.wait().code()), msg["exit_code"]);
        }
        "session record while live" | "session record after close" => {
            let is_ended =
                |record: &Value| own(record) && record["ended_at"] != "0001-01-01T00:00:00Z";
            let mut got = world.record_where("the ended record", is_ended);
            let mut expected = msg["record"].clone();
            if event.ends_with("live") {
                got["ended_at"] = "0001-01-01T00:00:00Z".into();
            }
            for key in ["pid", "name", "id", "started_at"] {
                assert!(!got[key].is_null(), "{key} is missing");
                expected[key] = "[SET]".into();
                got[key] = "[SET]".into();
            }
            assert_eq!(
                keys(&expected),
                keys(&got),
                "the order of the record's fields"
            );
            walk(
                "record",
                "",
                &hidden(&expected, hide),
                &hidden(&got, hide),
                into,
            );
        }
        "serve stderr" => {
            let lines: Vec<String> = client
                .stderr()
                .lines()
                .map(|line| hide(&format!("{line}\n")))
                .collect();
            walk(
                "stderr",
                "",
                &hidden(&msg["lines"], hide),
                &json!(lines),
                into,
            );
        }
        "daemon.log lines tagged with this session id" => {
            let id = world.record_where("the record", own)["id"]
                .as_str()
                .unwrap()
                .to_owned();
            let tagged = format!("session_id={id}");
            let lines: Vec<String> = world
                .log()
                .lines()
                .filter(|line| line.contains(&tagged))
                .map(hide)
                .collect();
            walk("log", "", &hidden(&msg["lines"], hide), &json!(lines), into);
        }
        other => panic!("event {other:?} of the transcript is not compared"),
    }
}

fn judge(differences: &[Difference]) {
    let is_under = |path: &str, pattern: &str| match pattern.strip_suffix('*') {
        Some(stem) => path.starts_with(stem),
        None => path == pattern,
    };
    let is_tolerated = |seen: &Difference| {
        tolerated::ALL
            .iter()
            .any(|known| known.frame == seen.frame && is_under(&seen.path, known.path))
    };
    let strange: Vec<_> = differences
        .iter()
        .filter(|seen| !is_tolerated(seen))
        .collect();
    assert!(strange.is_empty(), "{strange:#?}");
    if std::env::var_os("FIDELITY_PLUMB").is_some() {
        return;
    }
    for known in tolerated::ALL {
        let is_used = differences
            .iter()
            .any(|seen| known.frame == seen.frame && is_under(&seen.path, known.path));
        assert!(
            is_used,
            "{} {} is no difference any more ({}): take it out",
            known.frame, known.path, known.reason
        );
    }
}

fn difference(frame: &str, path: &str, expected: &Value, got: &Value) -> Difference {
    Difference {
        frame: frame.to_owned(),
        path: path.to_owned(),
        expected: expected.clone(),
        got: got.clone(),
    }
}

fn walk(frame: &str, path: &str, expected: &Value, got: &Value, into: &mut Vec<Difference>) {
    match (expected, got) {
        (Value::Object(left), Value::Object(right)) => {
            for key in left
                .keys()
                .chain(right.keys().filter(|key| !left.contains_key(*key)))
            {
                walk(
                    frame,
                    &format!("{path}/{key}"),
                    &expected[key],
                    &got[key],
                    into,
                );
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (at, (left, right)) in left.iter().zip(right).enumerate() {
                walk(frame, &format!("{path}/{at}"), left, right, into);
            }
        }
        (left, right) if left == right => {}
        (left, right) => into.push(difference(frame, path, left, right)),
    }
}

fn hidden(value: &Value, hide: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => hide(text).into(),
        Value::Array(items) => items.iter().map(|item| hidden(item, hide)).collect(),
        Value::Object(object) => Value::Object(
            object
                .iter()
                .map(|(key, value)| (key.clone(), hidden(value, hide)))
                .collect(),
        ),
        other => other.clone(),
    }
}

/// The one table of placeholders.
fn redact(text: &str, ws_a: &Path, ws_b: &Path) -> String {
    let mut text = text
        .replace(ws_a.to_str().unwrap(), "<WS_A>")
        .replace(ws_b.to_str().unwrap(), "<WS_B>");
    for (pattern, placeholder) in [
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "[TIME]"),
        (r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d", "[TIME]"),
        (r"\b[0-9a-f]{1,12}-[0-9a-f]{8}\b", "[ID]"),
        (r"\bc[0-9a-f]{16}\b", "[CONVERSATION]"),
        (r"\b\d+s ago", "[AGE]"),
    ] {
        text = Regex::new(pattern)
            .unwrap()
            .replace_all(&text, placeholder)
            .into_owned();
    }
    text
}

fn strip_descriptions(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if object.get("description").is_some_and(Value::is_string) {
                object.remove("description");
            }
            object.values_mut().for_each(strip_descriptions);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_descriptions),
        _ => {}
    }
}

fn names(tools: &Value) -> Vec<&str> {
    tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect()
}

fn keys(object: &Value) -> Vec<&String> {
    object.as_object().unwrap().keys().collect()
}
