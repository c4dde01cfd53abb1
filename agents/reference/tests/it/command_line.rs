//! The program as it is called: what it prints, and with which code it ends.

use reference::fault::Fault;
use serde_json::{Value, json};

use super::model::{Answer, Model, call, delta, finish, say};
use super::room::{Room, logs};

#[track_caller]
fn check(answer: fn(&Value) -> Answer, arguments: &[&str], code: i32, stdout: &str, stderr: &str) {
    let room = Room::with(Model::answering(answer));
    let output = room.run(
        &[
            &["--revision", "note", "--persistence", "jsonl-plain"],
            arguments,
        ]
        .concat(),
    );
    assert_eq!(String::from_utf8_lossy(&output.stderr), stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), stdout);
    assert_eq!(output.status.code(), Some(code));
}

#[test]
fn the_last_text_is_printed() {
    check(|_| say("hello"), &["go"], 0, "hello\n", "");
}

#[test]
fn a_failure_of_the_model_is_named_and_ends_with_1() {
    check(
        |_| Answer::Status(500, "no"),
        &["go"],
        1,
        "",
        "reference: SERVER: HTTP 500: no\n",
    );
    check(
        |_| Answer::Status(401, "no"),
        &["go"],
        1,
        "",
        "reference: AUTH: HTTP 401: no\n",
    );
    check(
        |_| Answer::Stream(vec![delta(&json!({"content": "half"}))]),
        &["go"],
        1,
        "",
        "reference: TRANSPORT: the stream ended without a finish_reason\n",
    );
    check(
        |_| say(" "),
        &["go"],
        1,
        "",
        "reference: EMPTY_RESPONSE: the reply is empty\n",
    );
    check(
        |_| Answer::Stream(vec![finish("length")]),
        &["go"],
        1,
        "",
        "reference: CUT: the reply was cut: finish_reason `length`\n",
    );
}

#[test]
fn a_failure_stays_a_failure_unless_the_fault_says_otherwise() {
    check(
        |_| Answer::Status(500, "no"),
        &["--fault", "exit-zero", "go"],
        0,
        "",
        "reference: SERVER: HTTP 500: no\n",
    );
    check(
        |_| say("hello"),
        &["--fault", "exit-zero", "go"],
        0,
        "hello\n",
        "",
    );
}

#[test]
fn an_agent_that_does_nothing_asks_nothing_and_leaves_nothing() {
    let room = Room::new();
    let output = room.run(&["--revision", "note", "--fault", "do-nothing", "go"]);
    assert_eq!(
        (
            output.status.code(),
            output.stdout.as_slice(),
            output.stderr.as_slice()
        ),
        (Some(0), &b""[..], &b""[..])
    );
    assert!(room.model.requests().is_empty());
    assert!(!room.path("home/sessions").exists());
}

#[test]
fn bad_usage_ends_with_2() {
    for arguments in [
        &["--revision", "note"][..],
        &["--revision", "newest", "go"],
        &["--revision", "note", "--fault", "no-such", "go"],
        &["--revision", "note", "--no-home", "go"],
        &["--revision", "note", "--ops", "x"],
    ] {
        assert_eq!(
            Room::new().run(arguments).status.code(),
            Some(2),
            "{arguments:?}"
        );
    }
}

#[test]
fn two_homes_run_nothing() {
    let room = Room::new();
    let output = room.run(&["--revision", "note", "--skills-home", "/elsewhere", "go"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .starts_with("reference: HOME_CONFLICT: two homes: ")
    );
    assert!(room.model.requests().is_empty());
}

#[test]
fn a_session_goes_on_in_another_process_and_a_fork_of_it_does_not_touch_it() {
    let room = Room::new();
    let run = |extra: &[&str], text: &str| {
        let arguments = [
            &["--revision", "note", "--persistence", "jsonl-plain"],
            extra,
            &[text],
        ]
        .concat();
        let output = room.run(&arguments);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
    };
    let show = json!([["bash", {"command": "echo $DSH_SESSION_ID"}]]).to_string();
    run(&["--session-id", "a/b c"], &show);
    run(&["--resume", "a/b c"], "more");
    let (_, before) = logs(&room.path("home/sessions")).pop().unwrap();
    assert_eq!(before[0]["id"], "a/b c");
    assert_eq!(
        before
            .iter()
            .filter(|line| line["type"] == "turn/end")
            .count(),
        2
    );
    let result = before
        .iter()
        .find(|line| line["type"] == "tool/result")
        .unwrap();
    assert_eq!(result["data"]["message"]["content"][0]["text"], "a/b c");
    run(&["--fork", "a/b c", "--session-id", "branch"], &show);
    let logs = logs(&room.path("home/sessions"));
    assert_eq!(logs.len(), 2);
    assert_eq!(logs[0].1, before, "the source is as it was");
    let branch = &logs[1].1;
    assert_eq!(
        (branch[0]["parentSession"].as_str(), &branch[0]["isSeeded"]),
        (Some("a/b c"), &json!(true))
    );
    assert_eq!(branch[1..before.len()], before[1..]);
    let asked = room.model.requests().pop().unwrap();
    let users = asked["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "user")
        .count();
    assert_eq!(users, 3);
}

#[test]
fn a_stored_id_is_not_given_twice_and_an_unknown_one_is_not_resumed() {
    let room = Room::new();
    let run = |arguments: &[&str]| {
        let output = room.run(&[&["--revision", "note"], arguments].concat());
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    assert_eq!(run(&["--session-id", "s", "go"]).0, Some(0));
    let (code, why) = run(&["--session-id", "s", "go"]);
    assert_eq!(code, Some(1));
    assert!(
        why.starts_with("reference: SESSION: session `s` already exists"),
        "{why}"
    );
    let (code, why) = run(&["--resume", "t", "go"]);
    assert_eq!(
        (code, why.as_str()),
        (
            Some(1),
            "reference: SESSION: session `t` does not exist under this backend\n"
        )
    );
}

#[test]
fn a_command_that_is_left_behind_is_ended_and_that_is_recorded() {
    let room = Room::with(Model::answering(|body| {
        let messages = body["messages"].as_array().unwrap();
        if messages.len() > 2 {
            return say("bye");
        }
        call(
            "c",
            "bash",
            &json!({"command": "sleep 600", "run_in_background": true}),
        )
    }));
    let output = room.run(&["--revision", "note", "--persistence", "jsonl-plain", "go"]);
    assert_eq!(output.status.code(), Some(0));
    let (_, log) = logs(&room.path("home/sessions")).pop().unwrap();
    assert_eq!(log.last().unwrap()["data"]["status"], "cancelled");
}

#[test]
fn the_faults_are_listed_with_their_clauses() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_reference"))
        .args(["faults", "--json"])
        .output()
        .unwrap();
    let listed: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(listed.len(), Fault::ALL.len());
    assert_eq!(listed[0]["name"], "leak-stale");
    assert_eq!(listed[0]["clauses"], json!(["ENV-8"]));
}
