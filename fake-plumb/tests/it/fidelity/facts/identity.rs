//! Facts of identity: linkage, sharing, pins.

use serde_json::json;

use crate::world::{World, text, until};

#[test]
fn a_wrong_detail_is_refused_after_the_linkage_and_a_wrong_purpose_before() {
    let world = World::for_fidelity();
    let ws = world.workspace("a");
    let mut client = world.client(&ws);
    let arguments = json!({ "workspace": ws, "session_id": "late", "detail": "tiny" });
    let result = client.call("session_start", arguments);
    assert_eq!(
        text(&result),
        "error: session_start: detail must be \"brief\" or \"full\", got \"tiny\""
    );
    assert!(result.get("_meta").is_none(), "{result}");
    world.record_where("the linkage", |record| record["external_id"] == "late");
    let mut client = world.client(&ws);
    let refusal = client.refused(
        "session_start",
        json!({ "workspace": ws, "session_id": "early", "purpose": "no blank" }),
    );
    assert!(
        refusal.starts_with("error: session_start: invalid purpose: "),
        "{refusal}"
    );
    assert!(
        !world
            .records()
            .values()
            .any(|record| record["external_id"] == "early")
    );
}

#[test]
fn two_ids_make_a_connection_shared_and_the_last_declarer_stays_in_the_record() {
    let world = World::for_fidelity();
    let ws = world.workspace("a");
    let mut client = world.agent(&ws, "one");
    client.ok(
        "session_start",
        json!({ "session_id": "two", "workspace": ws }),
    );
    let record = world.record_where("the record", |record| record["external_id"] == "two");
    assert_eq!(record["health"], "shared_connection_detected");
}

#[test]
fn a_stamped_declaration_of_another_id_makes_the_connection_shared() {
    let world = World::for_fidelity();
    let ws = world.workspace("a");
    let mut client = world.client(&ws);
    client.call_as(
        Some("stamped"),
        "session_start",
        json!({ "session_id": "typed", "workspace": ws }),
    );
    let record = world.record_where("the record", |record| record["external_id"] == "typed");
    assert_eq!(record["health"], "shared_connection_detected");
}

#[test]
fn a_write_that_nobody_can_be_named_for_is_refused_on_a_shared_connection() {
    let world = World::for_fidelity();
    let ws = world.workspace("a");
    let mut client = world.client(&ws);
    client.ok("session_start", json!({ "workspace": ws }));
    for stamp in ["one", "two"] {
        client.call_as(Some(stamp), "list_memories", json!({}));
    }
    let result = client.call(
        "write_file",
        json!({ "file_path": "f.txt", "content": "x" }),
    );
    assert!(result.get("_meta").is_none(), "{result}");
    assert!(
        text(&result).starts_with("error: shared connection: write_file is a state-changing call"),
        "{result}"
    );
    assert!(!ws.join("f.txt").exists());
    client.ok("check_messages", json!({}));
    assert!(
        world
            .log()
            .contains("level=WARN msg=\"mcp: tool refused\" tool=write_file"),
        "{}",
        world.log()
    );
}

#[test]
fn a_connection_is_moved_by_force_only_and_a_refusal_blocks_it() {
    let world = World::for_fidelity();
    let (ws_a, ws_b) = (world.workspace("a"), world.workspace("b"));
    let mut client = world.agent(&ws_a, "one");
    let result = client.call(
        "session_start",
        json!({ "session_id": "one", "workspace": ws_b }),
    );
    let (from, to) = (ws_a.display(), ws_b.display());
    let wanted = format!(
        "error: session_start: re-pinning to {to}: refusing to re-pin this connection from {from} to {to}: "
    );
    assert!(text(&result).starts_with(&wanted), "{result}");
    assert!(result.get("_meta").is_none());
    let own = |record: &serde_json::Value| record["external_id"] == "one";
    assert_eq!(world.record_where("the record", own)["health"], "blocked");
    client.ok(
        "session_start",
        json!({ "session_id": "one", "workspace": ws_b, "force": true }),
    );
    let record = world.record_where("the record", own);
    assert!(
        record.get("health").is_none() && record["folder"] == ws_b.to_str().unwrap(),
        "{record}"
    );
}

#[test]
fn a_refused_call_leaves_nothing_and_a_linkage_can_be_had_twice() {
    let world = World::for_fidelity();
    let ws = world.workspace("a");
    let mut client = world.client(&ws);
    client.refused(
        "session_start",
        json!({ "session_id": "ghost", "workspace": ws, "mail": "preview" }),
    );
    assert!(
        !world
            .records()
            .values()
            .any(|record| record["external_id"] == "ghost")
    );
    let _one = world.agent(&ws, "twin");
    let _two = world.agent(&ws, "twin");
    until("two records with one external id", || {
        let twins = world
            .records()
            .values()
            .filter(|record| record["external_id"] == "twin")
            .count();
        if twins == 2 {
            Ok(())
        } else {
            Err(format!("{twins}"))
        }
    });
    let cli = world.run(&["mail", "--external-id", "twin", "--json"]);
    assert_eq!(cli.code(), 1, "{cli:?}");
}
