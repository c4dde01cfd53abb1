//! The wire of the newer generations, the ledger, the tools that are not there, and the faults of the wire.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::world::{World, text, until};

#[test]
fn a_tool_that_the_fake_has_not_is_never_imitated() {
    let world = World::of("0.25");
    let ws = world.workspace("a");
    let mut client = world.agent(&ws, "one");
    assert_eq!(
        client.refused("run_task", json!({})),
        "error: run_task: not in the fake"
    );
    let before = world.effects().len();
    let answer = client.request(
        "tools/call",
        json!({ "name": "no_such_tool", "arguments": {} }),
    );
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    assert_eq!(world.effects().len(), before, "nothing was carried out");
}

#[test]
fn the_ledger_has_one_line_for_each_call_that_was_carried_out() {
    let world = World::of("0.25");
    let ws = world.workspace("a");
    let mut client = world.agent(&ws, "one");
    client.ok("write_memory", json!({ "name": "m", "content": "x" }));
    client.refused("list_memories", json!({ "unknown": 1 }));
    client.ok("list_memories", json!({}));
    let effects = world.effects();
    let tools: Vec<_> = effects
        .iter()
        .map(|effect| effect["tool"].as_str().unwrap())
        .collect();
    assert_eq!(tools, ["session_start", "write_memory", "list_memories"]);
    assert_eq!(
        effects[1]["arguments"],
        json!({ "name": "m", "content": "x" })
    );
    assert_eq!(effects[1]["agent"], "one");
    let record = effects[1]["record"].as_str().unwrap();
    assert!(world.records().contains_key(record));
}

#[test]
fn a_file_tool_works_in_the_workspace_and_not_outside() {
    let world = World::of("0.25");
    let ws = world.workspace("a");
    let mut client = world.agent(&ws, "one");
    client.ok(
        "write_file",
        json!({ "file_path": "sub/f.txt", "content": "red\nblue\n", "create_dirs": true }),
    );
    let read = client.ok("read_file", json!({ "path": "sub/f.txt", "start_line": 2 }));
    assert!(
        read.starts_with("note: interpreted \"path\" as \"file_path\""),
        "{read}"
    );
    assert!(read.ends_with("blue\n") && !read.contains("red"), "{read}");
    assert_eq!(
        client.ok("find_files", json!({ "pattern": "*.txt" })),
        "sub/f.txt\n"
    );
    std::os::unix::fs::symlink(world.home(), ws.join("out")).unwrap();
    for path in ["../escape", "out/escape", "/etc/hostname"] {
        let result = client.call("write_file", json!({ "file_path": path, "content": "x" }));
        assert_eq!(
            result["_meta"]["dev.plumbkit/error"]["kind"], "workspace_boundary",
            "{path}: {result}"
        );
    }
    assert!(!world.home().join("escape").exists());
}

#[test]
fn death_in_mid_call_leaves_the_effect_and_no_answer() {
    let mut world = World::of("0.25");
    world.set("FAKE_PLUMB_FAULTS", "death-mid-call");
    let ws = world.workspace("a");
    let mut client = world.agent(&ws, "one");
    client.send_call(
        "write_file",
        json!({ "file_path": "f.txt", "content": "x" }),
    );
    while let Some(frame) = client.read() {
        assert!(frame.get("result").is_none(), "an answer came: {frame}");
    }
    assert_eq!(client.wait().code(), Some(1));
    assert!(ws.join("f.txt").exists());
    assert_eq!(world.effects().last().unwrap()["tool"], "write_file");
}

#[test]
fn a_banner_comes_before_the_handshake() {
    let mut world = World::of("0.25");
    world.set("FAKE_PLUMB_FAULTS", "banner-on-stdout");
    let ws = world.workspace("a");
    assert_eq!(world.bare(&ws, &[]).read_text(), "Starting…");
}

#[test]
fn a_slow_initialize_is_slow() {
    let mut world = World::of("0.25");
    world.set("FAKE_PLUMB_FAULTS", "slow-initialize");
    let ws = world.workspace("a");
    let start = Instant::now();
    world.client(&ws);
    assert!(start.elapsed() > Duration::from_secs(2));
}

#[test]
fn the_list_changes_at_once() {
    let mut world = World::of("0.25");
    world.set("FAKE_PLUMB_FAULTS", "list-changed-at-once");
    let ws = world.workspace("a");
    let mut client = world.client(&ws);
    client.request("ping", json!({}));
    assert!(
        client
            .unasked
            .iter()
            .any(|frame| frame["method"] == "notifications/tools/list_changed")
    );
}

#[test]
fn connection_lines_are_untagged_only_under_the_fault() {
    for (faults, is_tagged) in [("", true), ("log-untagged", false)] {
        let mut world = World::of("0.25");
        world.set("FAKE_PLUMB_FAULTS", faults);
        let ws = world.workspace("a");
        world.agent(&ws, "one").close();
        assert!(world.log().contains("daemon: session attached"));
        assert_eq!(world.log().contains("session_id="), is_tagged, "{faults}");
    }
}

#[test]
fn a_torn_record_can_be_seen_only_under_the_fault() {
    let mut world = World::of("0.25");
    world.set("FAKE_PLUMB_FAULTS", "torn-record");
    let ws = world.workspace("a");
    let mut client = world.client(&ws);
    client.send_call(
        "session_start",
        json!({ "session_id": "one", "workspace": ws }),
    );
    let sessions = world.data().join("sessions");
    until("a torn record", || {
        let is_torn = std::fs::read_dir(&sessions).unwrap().any(|entry| {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            path.extension().is_some_and(|end| end == "json")
                && serde_json::from_str::<serde_json::Value>(&text).is_err()
        });
        if is_torn {
            Ok(())
        } else {
            Err("all whole".to_owned())
        }
    });
}

#[test]
fn a_client_root_attaches_a_connection_that_has_no_workspace() {
    let world = World::of("0.25");
    let ws = world.workspace("a");
    let mut client = world.client(&ws);
    let request = client.read().unwrap();
    assert_eq!(
        (&request["id"], &request["method"]),
        (&json!("srv-1"), &json!("roots/list"))
    );
    let root = format!("file://{}", ws.display());
    client.write(
        &json!({ "jsonrpc": "2.0", "id": "srv-1", "result": { "roots": [{ "uri": root }] } })
            .to_string(),
    );
    client.ok("list_memories", json!({}));
    assert_eq!(
        world.record_where("the record", |record| record["folder"] != "")["folder"],
        json!(ws)
    );
}

#[test]
fn an_argument_stamp_is_lifted_and_speaks_for_the_call() {
    let world = World::of("0.24");
    let ws = world.workspace("a");
    let mut client = world.agent(&ws, "one");
    let result = client.call("list_memories", json!({ "plumb_agent": "two" }));
    assert_eq!(result["isError"], false, "{}", text(&result));
    assert_eq!(world.effects().last().unwrap()["agent"], "two");
    assert_eq!(world.effects().last().unwrap()["arguments"], json!({}));
}
