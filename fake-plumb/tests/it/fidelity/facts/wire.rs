//! Facts of the wire: framing, order, ends, revisions, refusals.

use std::time::{Duration, Instant};

use serde_json::json;

use super::LIVE;
use crate::world::{World, text};

#[test]
fn a_closed_stdin_ends_serve_at_once_and_the_record_when_its_call_ends() {
    let world = World::for_fidelity();
    let ws = world.workspace("a");
    let mut client = world.agent(&ws, "one");
    client.send_call("check_messages", json!({ "wait_seconds": 2 }));
    client.request("ping", json!({}));
    let closed = Instant::now();
    client.close_stdin();
    assert_eq!(client.wait().code(), Some(0));
    assert!(
        closed.elapsed() < Duration::from_secs(1),
        "serve waited for the call"
    );
    let record = world.record_where("the record", |record| record["external_id"] == "one");
    assert_eq!(record["ended_at"], LIVE, "the call is still in flight");
    world.record_where("the ended record", |record| {
        record["external_id"] == "one" && record["ended_at"] != LIVE
    });
    assert!(
        closed.elapsed() > Duration::from_millis(1500),
        "the record ended before its call"
    );
}

#[test]
fn requests_piped_in_with_an_end_are_carried_out_and_not_answered() {
    let world = World::for_fidelity();
    let ws = world.workspace("a");
    world.client(&ws).close();
    let call = |id: u64, tool: &str, arguments| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
    let piped = format!(
        "{}\n{}\n",
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} }),
        call(
            2,
            "session_start",
            json!({ "session_id": "piped", "workspace": ws })
        )
    );
    let cli = world.run_with(&["serve"], &[], &piped);
    assert_eq!((cli.code(), cli.out().as_str()), (0, ""), "{cli:?}");
    world.record_where("the piped declaration", |record| {
        record["external_id"] == "piped"
    });
}

#[test]
fn what_is_not_json_gets_a_null_id_and_a_batch_gets_nothing() {
    let world = World::for_fidelity();
    let ws = world.workspace("a");
    let mut client = world.client(&ws);
    client.write("}{");
    client.write(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#);
    let answer = client.request("ping", json!({}));
    assert!(answer.get("result").is_some());
    let parse_errors: Vec<_> = client
        .unasked
        .iter()
        .filter(|frame| frame["error"]["code"] == -32700)
        .collect();
    assert_eq!(parse_errors.len(), 1, "{:?}", client.unasked);
    assert!(parse_errors[0]["id"].is_null());
}

#[test]
fn answers_come_as_calls_end_and_a_cancellation_is_ignored() {
    let world = World::for_fidelity();
    let ws = world.workspace("a");
    let mut client = world.agent(&ws, "one");
    let slow = client.send_call("check_messages", json!({ "wait_seconds": 1 }));
    client.write(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": slow } }).to_string(),
    );
    client.ok("list_memories", json!({}));
    let sent = Instant::now();
    let answer = client.answer(slow);
    assert!(
        text(&answer["result"]).starts_with("No messages (waited 1s)."),
        "{answer}"
    );
    assert!(
        sent.elapsed() > Duration::from_millis(500),
        "the cancellation took effect"
    );
}

#[test]
fn a_call_before_initialize_is_served() {
    let world = World::for_fidelity();
    let ws = world.workspace("a");
    let mut client = world.bare(&ws, &[]);
    let answer = client.request("tools/list", json!({}));
    assert!(answer["result"]["tools"].is_array());
}

#[test]
fn whatever_revision_is_offered_the_old_one_is_answered() {
    let world = World::for_fidelity();
    let ws = world.workspace("a");
    for offered in ["2024-11-05", "2025-11-25", "garbage"] {
        let mut client = world.bare(&ws, &[]);
        let answer = client.request("initialize", json!({ "protocolVersion": offered }));
        assert_eq!(answer["result"]["protocolVersion"], "2024-11-05");
        let keys: Vec<_> = answer["result"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        assert_eq!(
            keys,
            [
                "protocolVersion",
                "capabilities",
                "serverInfo",
                "instructions"
            ]
        );
    }
}

#[test]
fn an_unknown_method_is_not_found() {
    let world = World::for_fidelity();
    let ws = world.workspace("a");
    let answer = world.client(&ws).request("server/discover", json!({}));
    assert_eq!(
        answer["error"],
        json!({ "code": -32601, "message": "method not found: server/discover" })
    );
}

#[test]
fn stamps_inside_the_arguments_are_unknown_parameters() {
    let world = World::for_fidelity();
    let ws = world.workspace("a");
    let mut client = world.client(&ws);
    for key in ["plumb_agent", "dev.plumbkit/logical-agent"] {
        let refusal = client.refused("session_start", json!({ "workspace": ws, key: "x" }));
        assert!(
            refusal.contains(&format!("unknown parameter \"{key}\"")),
            "{refusal}"
        );
    }
}
