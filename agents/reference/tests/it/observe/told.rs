//! What the model is told, what is logged, what hooks get, and what becomes of calls.

use std::collections::BTreeSet;

use reference::hook::Dialect;
use reference::settings::{HookRow, Persistence};
use serde_json::{Value, json};

use super::{Seen, Subject};
use crate::mcp::server;
use crate::room::{Room, logs};

pub(crate) fn look(subject: Subject<'_>, seen: &mut Seen) {
    wire_and_log(subject, seen);
    for (name, dialect) in [
        ("claude-code", Dialect::ClaudeCode),
        ("codex", Dialect::Codex),
    ] {
        for (kept, persistence) in [
            ("jsonl", Persistence::JsonlPlain),
            ("unkept", Persistence::None),
        ] {
            hooks(
                subject,
                seen,
                &format!("hook/{name}/{kept}"),
                &HookSetup {
                    dialect,
                    persistence,
                },
            );
        }
    }
}

fn wire_and_log(subject: Subject<'_>, seen: &mut Seen) {
    let room = Room::new();
    seen.root(&room);
    let (row, calls) = server(&room);
    let mut settings = room.settings(subject.revision, subject.faults);
    settings.mcp = vec![row];
    let command = format!("echo x >> {}; echo hello", room.path("effects").display());
    let steps = json!([["bash", {"command": command}], ["mcp__box__count", {}], ["subagent", {"prompt": "child"}]]);
    let outcomes = room.execute(
        settings,
        &[
            json!({"op": "create", "session": "main", "id": "id-told"}),
            json!({"op": "prompt", "session": "main", "text": steps.to_string()}),
        ],
    );
    let results = &outcomes[1]["value"]["results"];
    seen.json(
        "call/bash",
        &json!([results[0]["text"], results[0]["isError"]]),
    );
    seen.json("call/remote", &results[1]["text"]);
    let lines = |path| {
        std::fs::read_to_string(path)
            .unwrap_or_default()
            .lines()
            .count()
    };
    seen.put(
        "call/bash-effects",
        &lines(room.path("effects")).to_string(),
    );
    seen.put("call/remote-effects", &lines(calls).to_string());
    let requests = room.model.requests();
    let root_request = requests
        .iter()
        .find(|body| body["messages"][1]["content"] != "child")
        .unwrap();
    let child_request = requests
        .iter()
        .find(|body| body["messages"][1]["content"] == "child")
        .unwrap();
    seen.json("wire/system", &root_request["messages"][0]["content"]);
    seen.json("wire/bash", &root_request["tools"][0]);
    seen.json("wire/bash-child", &child_request["tools"][0]);
    let logs = logs(&room.path("home/sessions"));
    let is_root = |log: &&Vec<Value>| log[0]["delegationDepth"] == 0;
    let main = logs.iter().map(|(_, log)| log).find(is_root).unwrap();
    let child = logs
        .iter()
        .map(|(_, log)| log)
        .find(|log| !is_root(log))
        .unwrap();
    seen.json("log/id", &main[0]["id"]);
    seen.put(
        "log/child-names-parent",
        &child[0]["parentSession"].is_string().to_string(),
    );
    let types: BTreeSet<&str> = main[1..]
        .iter()
        .map(|line| line["type"].as_str().unwrap())
        .collect();
    seen.json("log/types", &json!(types));
    let header = main
        .iter()
        .find(|line| line["type"] == "request/header")
        .unwrap();
    let sent: Vec<&Value> = root_request["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["function"])
        .collect();
    seen.put(
        "log/tools-as-sent",
        &(header["data"]["header"]["tools"] == json!(sent)).to_string(),
    );
    let result = main
        .iter()
        .find(|line| line["type"] == "tool/result")
        .unwrap();
    seen.json("log/result", &result["data"]["message"]["content"]);
}

#[derive(Debug)]
struct HookSetup {
    dialect: Dialect,
    persistence: Persistence,
}

fn hooks(subject: Subject<'_>, seen: &mut Seen, name: &str, setup: &HookSetup) {
    let room = Room::new();
    seen.root(&room);
    let told = room.path("told");
    let hook = format!(
        "shopt -s nullglob; cat >> {0}; echo >> {0}; files=({1}/sessions/*/*/*.jsonl); echo ${{#files[@]}} >> {2}",
        told.display(),
        room.path("home").display(),
        room.path("files").display()
    );
    let group = json!([{"hooks": [{"type": "command", "command": hook}]}]);
    let file = room.path("hooks.json");
    std::fs::write(
        &file,
        json!({"hooks": {"SessionStart": group, "PreToolUse": group}}).to_string(),
    )
    .unwrap();
    let mut settings = room.settings(subject.revision, subject.faults);
    settings.hooks = Some(HookRow {
        file,
        dialect: setup.dialect,
    });
    settings.persistence = setup.persistence;
    room.execute(
        settings,
        &[
            json!({"op": "create", "session": "main", "id": "id-hooked"}),
            json!({"op": "spawn", "session": "child", "from": "main", "id": "id-hooked-child"}),
            json!({"op": "prompt", "session": "main", "text": json!([["bash", {"command": "true"}]]).to_string()}),
        ],
    );
    let text = std::fs::read_to_string(&told).unwrap();
    let payloads: Vec<Value> = text
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(payloads.len(), 3, "{text}");
    for (event, payload) in ["start", "child-start", "call"].iter().zip(&payloads) {
        seen.json(&format!("{name}/{event}/session"), &payload["session_id"]);
        seen.json(&format!("{name}/{event}/path"), &payload["transcript_path"]);
        let keys: Vec<&String> = payload.as_object().unwrap().keys().collect();
        seen.json(&format!("{name}/{event}/keys"), &json!(keys));
    }
    let files = std::fs::read_to_string(room.path("files")).unwrap();
    seen.put(
        &format!("{name}/files-before-a-turn-ended"),
        &files.replace('\n', " "),
    );
}
