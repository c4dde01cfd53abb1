//! Conversations: what overlaps, what is told to whom, and what is kept.

use reference::revision::Revision;
use serde_json::{Value, json};

use super::room::{Room, logs};

fn prompt(steps: &Value) -> Value {
    json!({"op": "prompt", "session": "main", "text": steps.to_string()})
}

#[test]
fn a_subagent_has_its_own_id_and_its_answer_comes_back() {
    let room = Room::new();
    let task = json!([["bash", {"command": "echo $DSH_SESSION_ID"}]]).to_string();
    let outcomes = room.execute(
        room.settings(Revision::Note, &[]),
        &[
            json!({"op": "create", "session": "main"}),
            prompt(&json!([["subagent", {"prompt": task}]])),
        ],
    );
    assert_eq!(outcomes[1]["value"]["results"][0]["text"], "done");
    let logs = logs(&room.path("home/sessions"));
    let child = logs
        .iter()
        .map(|(_, log)| log)
        .find(|log| log[0]["delegationDepth"] == 1)
        .unwrap();
    assert_eq!(child[0]["parentSession"], outcomes[0]["value"]["id"]);
    assert_eq!(child[0]["cwd"], outcomes[0]["value"]["header"]["cwd"]);
    let printed = child
        .iter()
        .find(|line| line["type"] == "tool/result")
        .unwrap();
    assert_eq!(
        printed["data"]["message"]["content"][0]["text"],
        child[0]["id"]
    );
}

#[test]
fn a_background_subagent_tells_its_parent_and_can_be_spoken_to_again() {
    let room = Room::new();
    let steps = json!([["subagent", {"prompt": "hello", "run_in_background": true}]]);
    let outcomes = room.execute(
        room.settings(Revision::Note, &[]),
        &[
            json!({"op": "create", "session": "main"}),
            prompt(&steps),
            json!({"op": "until", "session": "main", "event": "turn/end", "count": 2}),
        ],
    );
    let started = outcomes[1]["value"]["results"][0]["text"].as_str().unwrap();
    assert!(started.starts_with("started subagent "), "{started}");
    assert_eq!(outcomes[2]["ok"], true, "{}", outcomes[2]);
    let told = room.model.requests().pop().unwrap();
    let notice = told["messages"]
        .as_array()
        .unwrap()
        .iter()
        .rfind(|message| message["role"] == "user")
        .unwrap();
    assert!(
        notice["content"]
            .as_str()
            .unwrap()
            .contains("finished. Its closing message:\ndone"),
        "{notice}"
    );
}

#[test]
fn two_prompts_overlap_and_each_command_reads_its_own_id() {
    let room = Room::new();
    let gate = room.path("gate");
    let wait = format!(
        "touch {0}-$DSH_SESSION_ID; until [ -e {0}-one ] && [ -e {0}-two ]; do sleep 0.01; done; echo $DSH_SESSION_ID",
        gate.display()
    );
    let text = json!([["bash", {"command": wait}]]).to_string();
    let start = |name: &str| json!({"op": "prompt_start", "session": name, "text": text});
    let outcomes = room.execute(
        room.settings(Revision::Located, &[]),
        &[
            json!({"op": "create", "session": "one", "id": "one"}),
            json!({"op": "create", "session": "two", "id": "two"}),
            start("one"),
            start("two"),
            json!({"op": "wait", "session": "one"}),
            json!({"op": "wait", "session": "two"}),
        ],
    );
    assert_eq!(outcomes[4]["value"]["results"][0]["text"], "one");
    assert_eq!(outcomes[5]["value"]["results"][0]["text"], "two");
}

#[test]
fn a_live_session_is_not_resumed_and_a_disposed_one_is() {
    let room = Room::new();
    let resume = json!({"op": "resume", "session": "again", "from": "main"});
    let outcomes = room.execute(
        room.settings(Revision::Note, &[]),
        &[
            json!({"op": "create", "session": "main"}),
            prompt(&json!([])),
            resume.clone(),
            json!({"op": "dispose", "session": "main"}),
            resume,
        ],
    );
    assert_eq!(outcomes[2]["ok"], false);
    assert_eq!(outcomes[4]["value"]["id"], outcomes[0]["value"]["id"]);
    assert_eq!(
        outcomes[4]["value"]["header"],
        outcomes[0]["value"]["header"]
    );
}

#[test]
fn one_failing_operation_does_not_stop_the_list_unless_it_is_fatal() {
    let room = Room::new();
    let list = json!([{"op": "nonsense"}, {"op": "create", "session": "a"}, {"op": "wait", "session": "b", "fatal": true}, {"op": "create", "session": "c"}]);
    let (ops, out) = (room.path("list.json"), room.path("outcomes.jsonl"));
    std::fs::write(&ops, list.to_string()).unwrap();
    let output = room.run(&[
        "--revision",
        "rfc",
        "--ops",
        ops.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(1));
    let text = std::fs::read_to_string(&out).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        lines
            .iter()
            .map(|line| line["ok"].as_bool())
            .collect::<Vec<_>>(),
        [Some(false), Some(true), Some(false), None]
    );
    assert_eq!(lines[3], json!({"done": false, "fatal": "wait"}));
}
