//! Mail beyond the measured facts: preview, faults, limits, the count of the command line.

use serde_json::json;

use crate::world::World;

#[test]
fn a_preview_leaves_the_note_and_the_fault_takes_it() {
    for (faults, arrives) in [("", true), ("mail-claimed-by-preview", false)] {
        let mut world = World::of("0.25");
        world.set("FAKE_PLUMB_FAULTS", faults);
        let ws = world.workspace("a");
        world
            .agent(&ws, "sender")
            .ok("leave_note", json!({ "body": "red kite" }));
        let mut reader = world.client(&ws);
        let packet = reader.ok(
            "session_start",
            json!({ "session_id": "r", "workspace": ws, "mail": "preview" }),
        );
        assert!(!packet.contains("red kite"), "{packet}");
        assert_eq!(
            reader.ok("check_messages", json!({})).contains("red kite"),
            arrives,
            "{faults}"
        );
    }
}

#[test]
fn a_note_to_a_session_in_another_workspace_is_declined_in_an_ordinary_result() {
    let world = World::of("0.25");
    let (ws_a, ws_b) = (world.workspace("a"), world.workspace("b"));
    let _far = world.agent(&ws_b, "far");
    let name =
        world.record_where("the record", |record| record["external_id"] == "far")["name"].clone();
    let receipt = world
        .agent(&ws_a, "near")
        .ok("leave_note", json!({ "to": name, "body": "x" }));
    assert!(receipt.starts_with("Not sent:"), "{receipt}");
    assert!(!ws_a.join(".plumb/collab.db").exists());
}

#[test]
fn a_note_to_nobody_is_unplaced_and_waits_for_the_name() {
    let world = World::of("0.25");
    let ws = world.workspace("a");
    let mut sender = world.agent(&ws, "sender");
    let receipt = sender.ok(
        "leave_note",
        json!({ "to": "tall-oak", "body": "for later" }),
    );
    assert!(receipt.contains("unplaced:"), "{receipt}");
    let mut reader = world.agent(&ws, "reader");
    assert!(
        reader
            .ok("check_messages", json!({}))
            .starts_with("No messages.")
    );
    let renamed = reader.ok("rename_session", json!({ "name": "tall-oak" }));
    assert!(renamed.contains("for later"), "{renamed}");
}

#[test]
fn a_conversation_ends_after_ten_messages() {
    let world = World::of("0.25");
    let ws = world.workspace("a");
    let mut sender = world.agent(&ws, "sender");
    let note = json!({ "body": "x", "conversation_id": "c0123456789abcdef" });
    for _ in 0..10 {
        sender.ok("leave_note", note.clone());
    }
    assert!(
        sender
            .refused("leave_note", note)
            .contains("10 messages already")
    );
}

#[test]
fn a_note_expires_on_a_clock_that_can_be_sped() {
    let mut world = World::of("0.25");
    world.set("FAKE_PLUMB_CLOCK", "1e9");
    let ws = world.workspace("a");
    world
        .agent(&ws, "sender")
        .ok("leave_note", json!({ "body": "gone" }));
    assert!(
        world
            .agent(&ws, "reader")
            .ok("check_messages", json!({}))
            .starts_with("No messages.")
    );
}

#[test]
fn the_command_counts_and_does_not_claim() {
    let world = World::of("0.25");
    let ws = world.workspace("a");
    let mut reader = world.agent(&ws, "reader");
    let name = world.record_where("the record", |record| record["external_id"] == "reader")["name"]
        .clone();
    world
        .agent(&ws, "sender")
        .ok("leave_note", json!({ "to": name, "body": "red kite" }));
    for _ in 0..2 {
        let count = world
            .run(&["mail", "--external-id", "reader", "--json"])
            .json();
        assert_eq!(
            (&count["session"], &count["count"]),
            (&name, &json!(1)),
            "{count}"
        );
        assert_eq!(count["ages_seconds"].as_array().unwrap().len(), 1);
    }
    assert!(reader.ok("check_messages", json!({})).contains("red kite"));
    assert_eq!(
        world.run(&["mail", "--session", "nobody", "--json"]).code(),
        1
    );
}

#[test]
fn mail_outlives_the_daemon() {
    let world = World::of("0.25");
    let ws = world.workspace("a");
    world
        .agent(&ws, "sender")
        .ok("leave_note", json!({ "body": "red kite" }));
    world.end_daemon(rustix::process::Signal::KILL);
    let packet = world.client(&ws).ok(
        "session_start",
        json!({ "session_id": "r", "workspace": ws }),
    );
    assert!(packet.contains("red kite"), "{packet}");
}

#[test]
fn the_fault_delivers_twice() {
    let mut world = World::of("0.25");
    world.set("FAKE_PLUMB_FAULTS", "mail-twice");
    let ws = world.workspace("a");
    world
        .agent(&ws, "sender")
        .ok("leave_note", json!({ "body": "red kite" }));
    let mut reader = world.agent(&ws, "reader");
    let again = reader.ok("check_messages", json!({}));
    assert!(again.contains("red kite"), "{again}");
}
