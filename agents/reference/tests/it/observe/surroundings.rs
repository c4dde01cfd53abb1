//! What commands see, in every way that one is started.

use serde_json::{Value, json};

use reference::settings::Persistence;

use super::{Seen, Subject};
use crate::room::{Room, SHOW, hosted};

fn bash(session: Option<&str>, command: &str) -> Value {
    let mut op = json!({"op": "tool", "name": "bash", "arguments": {"command": command}});
    if let Some(session) = session {
        op["session"] = json!(session);
    }
    op
}

fn background(session: &str, command: &str, job: &str) -> Value {
    let mut op = bash(Some(session), command);
    op["arguments"]["run_in_background"] = json!(true);
    op["as"] = json!(job);
    op
}

fn show(session: &str) -> Value {
    bash(Some(session), SHOW)
}

/// One host: every kind of call, overlapping and following each other.
#[expect(
    clippy::too_many_lines,
    reason = "one list of observations, in the order in which they are made"
)]
pub(crate) fn look(subject: Subject<'_>, seen: &mut Seen) {
    let room = Room::new();
    seen.root(&room);
    for id in ["id-main", "id-child", "id-fork", "id-second"] {
        seen.call(id, &id[3..]);
    }
    let gate = room.path("gate").display().to_string();
    let typed = json!({"command": format!("{SHOW}; echo stdin=$(cat)"), "stdin": "typed", "env": {"TYPED": "typed", "DSH_SESSION_ID": "typed"}});
    let told = json!([["bash", {"command": SHOW}]]).to_string();
    let explicit = json!({
        "op": "env_entry", "command": SHOW, "env": {"DSH_SHELL": "caller", "PLAIN": "caller"},
        "dsh_env": {"DSH_SHELL": "1", "DSH_MY_TOKEN": "fresh"},
    });
    let counting = json!({"op": "register", "contributor": "c", "variables": ["DSH_COUNT"], "behaviour": "counting"});
    let counted = "echo count=$DSH_COUNT";
    let wait = format!(
        "until [ -e {gate} ]; do sleep 0.01; done; {counted}; echo session=$DSH_SESSION_ID"
    );
    let script: Vec<(&str, Value)> = vec![
        ("", json!({"op": "process_env"})),
        (
            "created",
            json!({"op": "create", "session": "main", "id": "id-main"}),
        ),
        (
            "first",
            json!({"op": "prompt", "session": "main", "text": told}),
        ),
        ("agentless", bash(None, SHOW)),
        ("", background("main", SHOW, "bg")),
        ("background", json!({"op": "job_output", "job": "bg"})),
        (
            "typed",
            json!({"op": "tool", "name": "bash", "session": "main", "arguments": typed}),
        ),
        ("explicit", explicit),
        ("", bash(Some("main"), "export DSH_SESSION_ID=own")),
        ("after-override", show("main")),
        (
            "spawned",
            json!({"op": "spawn", "session": "child", "from": "main", "id": "id-child"}),
        ),
        ("child", show("child")),
        (
            "forked",
            json!({"op": "fork", "session": "fork", "from": "main", "id": "id-fork"}),
        ),
        ("fork", show("fork")),
        (
            "",
            json!({"op": "create", "session": "second", "id": "id-second"}),
        ),
        (
            "",
            json!({"op": "prompt", "session": "second", "text": "hello"}),
        ),
        ("interleaved", show("main")),
        ("", counting),
        ("", background("main", &wait, "held")),
        ("later", bash(Some("second"), counted)),
        ("", json!({"op": "touch", "path": gate})),
        ("held", json!({"op": "job_output", "job": "held"})),
        ("", json!({"op": "dispose_contributor", "contributor": "c"})),
        (
            "skill",
            json!({"op": "tool", "name": "skill", "arguments": {"name": "greet"}}),
        ),
        ("located", json!({"op": "locate", "session": "second"})),
        (
            "",
            json!({"op": "create", "session": "late", "id": "id-late"}),
        ),
        ("located-late", json!({"op": "locate", "session": "late"})),
        ("", json!({"op": "dispose", "session": "main"})),
        (
            "",
            json!({"op": "resume", "session": "main", "from": "main"}),
        ),
        ("resumed", show("main")),
        ("", json!({"op": "persistence_swap", "disabled": true})),
        ("unloaded", show("main")),
        (
            "",
            json!({"op": "persistence_stub", "stub": "s", "kind": "sqlite", "path": "/db"}),
        ),
        ("stub", show("main")),
        ("", json!({"op": "persistence_unstub", "stub": "s"})),
        (
            "",
            json!({"op": "persistence_swap", "config": {"root": "../other", "compression": "none"}}),
        ),
        ("swapped", show("main")),
        ("process", json!({"op": "process_env"})),
    ];
    let operations: Vec<Value> = script.iter().map(|(_, op)| op.clone()).collect();
    let outcomes = room.execute(room.settings(subject.revision, subject.faults), &operations);
    for ((name, op), outcome) in script.iter().zip(&outcomes) {
        let value = &outcome["value"];
        match (*name, op["op"].as_str().unwrap()) {
            ("", _) => {}
            ("process", _) => seen.json("process/changed", &value["changed"]),
            ("later", _) => seen.put("count/later", value["text"].as_str().unwrap()),
            ("held", _) => seen.put("count/held", value["text"].as_str().unwrap()),
            ("skill", _) => seen.put("skill", value["text"].as_str().unwrap()),
            (name, "create" | "spawn" | "fork") => {
                let header = &value["header"];
                seen.json(
                    &format!("{name}/header"),
                    &json!([header["id"], header["parentSession"], header["cwd"]]),
                );
            }
            (name, "prompt") => seen.variables(name, value["results"][0]["text"].as_str().unwrap()),
            (name, "locate") => {
                let facts = ["offered_by", "location", "exists", "unchanged"]
                    .map(|fact| value[fact].clone());
                seen.json(&format!("{name}/answer"), &json!(facts));
            }
            (name, "env_entry") => seen.variables(name, value["stdout"].as_str().unwrap()),
            (name, _) => {
                seen.variables(
                    name,
                    value["text"]
                        .as_str()
                        .unwrap_or_default()
                        .split("\n[status")
                        .next()
                        .unwrap(),
                );
            }
        }
    }
}

/// Other hosts: another process, a harness inside a harness, other backends, odd ids.
pub(crate) fn look_elsewhere(subject: Subject<'_>, seen: &mut Seen) {
    let room = Room::new();
    seen.root(&room);
    let honest = room.settings(subject.revision, &[]);
    room.execute(
        honest,
        &[
            json!({"op": "create", "session": "a", "id": "id-old"}),
            json!({"op": "prompt", "session": "a", "text": "hello"}),
        ],
    );
    let one = |name: &str, seen: &mut Seen, settings, begin: Value| {
        let outcomes = room.execute(settings, &[begin, show("a")]);
        let text = outcomes[1]["value"]["text"].as_str();
        seen.variables(name, text.unwrap_or_else(|| panic!("{name}: {outcomes:?}")));
    };
    let settings = || room.settings(subject.revision, subject.faults);
    let create = |id: &str| json!({"op": "create", "session": "a", "id": id});
    one(
        "elsewhere",
        seen,
        settings(),
        json!({"op": "resume", "session": "a", "id": "id-old"}),
    );
    let mut nested = settings();
    nested.environment.insert("DSH_SHELL".into(), "1".into());
    nested
        .environment
        .insert("DSH_SESSION_ID".into(), "outer".into());
    one("nested", seen, nested, create("id-inner"));
    for (name, persistence) in [
        ("shared", Persistence::Shared),
        ("unkept", Persistence::None),
    ] {
        let mut settings = settings();
        settings.persistence = persistence;
        one(name, seen, settings, create(name));
    }
    one("odd", seen, settings(), create("id/odd é"));
    one(
        "no-cwd",
        seen,
        settings(),
        json!({"op": "create", "session": "a", "id": "id-nowhere", "no_cwd": true}),
    );
    let gate = room.path("open").display().to_string();
    let steps = json!([["bash", {"command": "true"}], ["bash", {"command": format!("until [ -e {gate} ]; do sleep 0.01; done")}]]);
    let outcomes = hosted(settings(), async |host| {
        room.outcomes(
            &host,
            &[
                create("id-open"),
                json!({"op": "prompt", "session": "a", "text": "hello"}),
                json!({"op": "prompt_start", "session": "a", "text": steps.to_string()}),
                json!({"op": "until", "session": "a", "event": "tool/call", "count": 2}),
                json!({"op": "open_file", "session": "a"}),
                json!({"op": "touch", "path": gate}),
                json!({"op": "wait", "session": "a"}),
            ],
        )
        .await
    })
    .unwrap();
    let events = outcomes[4]["value"]["events"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let last = events.last().map(|event| event["type"].clone());
    seen.json("open-turn/last-durable", &json!(last));
}
