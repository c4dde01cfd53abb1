//! Facts of mail: next, bound, stranded, parked.

use std::time::{Duration, Instant};

use serde_json::json;

use super::LIVE;
use crate::world::{World, session_id, text};

#[test]
fn a_bound_note_strands_when_the_name_comes_back_under_a_new_id() {
    let world = World::for_fidelity();
    let ws = world.workspace("a");
    let mut agent = world.client(&ws);
    let declared = json!({ "session_id": "agent", "workspace": ws });
    let first = session_id(&agent.call("session_start", declared.clone()));
    let name = world.records()[&first]["name"].as_str().unwrap().to_owned();
    let mut sender = world.client(&ws);
    sender.ok("session_start", json!({ "workspace": ws }));
    let receipt = sender.ok("leave_note", json!({ "to": name, "body": "red kite" }));
    assert!(
        receipt.starts_with(&format!("Message sent to session {name} (")),
        "{receipt}"
    );
    assert!(receipt.contains("bound to:"), "{receipt}");
    agent.close();
    world.record_where("the end", |record| {
        record["id"] == first.as_str() && record["ended_at"] != LIVE
    });
    let mut heir = world.client(&ws);
    let result = heir.call("session_start", declared);
    assert!(
        text(&result).contains(&format!("Session:  {name} (resumed)")),
        "{result}"
    );
    assert_ne!(session_id(&result), first);
    assert!(
        heir.ok("check_messages", json!({}))
            .starts_with("No messages.")
    );
}

#[test]
fn mail_comes_with_any_successful_result_once_and_never_to_its_author() {
    let world = World::for_fidelity();
    let ws = world.workspace("a");
    let mut sender = world.agent(&ws, "sender");
    sender.ok("leave_note", json!({ "body": "M-NEXT-1" }));
    assert!(!sender.ok("list_memories", json!({})).contains("from "));
    let mut reader = world.client(&ws);
    let packet = reader.ok(
        "session_start",
        json!({ "workspace": ws, "session_id": "reader" }),
    );
    assert!(
        packet.contains("## Messages") && packet.contains("(to next arrival)"),
        "{packet}"
    );
    assert_eq!(packet.matches("M-NEXT-1").count(), 1);
    sender.ok("leave_note", json!({ "body": "M-NEXT-2" }));
    let listed = reader.ok("list_memories", json!({}));
    assert!(
        listed.contains("\n\n[Messages — 1 new, addressed to you by another agent."),
        "{listed}"
    );
    assert!(!reader.ok("check_messages", json!({})).contains("M-NEXT"));
}

#[test]
fn a_parked_wait_wakes_with_the_note() {
    let world = World::for_fidelity();
    let ws = world.workspace("a");
    let mut sender = world.agent(&ws, "sender");
    let mut reader = world.agent(&ws, "reader");
    let parked = reader.send_call("check_messages", json!({ "wait_seconds": 15 }));
    reader.request("ping", json!({}));
    let sent = Instant::now();
    sender.ok("leave_note", json!({ "body": "wake" }));
    let answer = reader.answer(parked);
    assert!(text(&answer["result"]).contains("\"wake\""), "{answer}");
    assert!(sent.elapsed() < Duration::from_secs(3));
}
