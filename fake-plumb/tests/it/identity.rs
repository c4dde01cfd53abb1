//! Identity of the newer generations: proofs, resumes, revocation, scopes, gates, rows of agents.

use std::fs;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::world::{Client, World, session_id, text};

const LIVE: &str = "0001-01-01T00:00:00Z";

/// The arguments that plumb's own hook makes of a declaration.
fn proved(world: &World, id: &str, ws: &std::path::Path) -> Value {
    let event = json!({
        "session_id": id, "hook_event_name": "PreToolUse", "tool_name": "mcp__plumb__session_start",
        "tool_input": { "workspace": ws, "detail": "brief" },
    });
    world
        .run_with(&["hooks", "run-claude"], &[], &event.to_string())
        .json()["hookSpecificOutput"]["updatedInput"]
        .clone()
}

fn declare(world: &World, id: &str, ws: &std::path::Path) -> (Client, Value) {
    let mut client = world.client(ws);
    let result = client.call("session_start", proved(world, id, ws));
    assert_eq!(result["isError"], false, "{result}");
    (client, result)
}

fn world() -> World {
    let world = World::of("0.25");
    world.start_daemon();
    world
}

fn end(world: &World, client: Client, id: &str) {
    client.close();
    world.record_where("the end", |record| {
        record["id"] == id && record["ended_at"] != LIVE
    });
}

#[test]
fn a_proved_conversation_has_its_session_again_over_and_over() {
    let world = world();
    let ws = world.workspace("a");
    let (client, result) = declare(&world, "dsh-ws-1", &ws);
    let id = session_id(&result);
    end(&world, client, &id);
    for _ in 0..3 {
        let (client, result) = declare(&world, "dsh-ws-1", &ws);
        assert_eq!(session_id(&result), id);
        assert!(text(&result).contains("(resumed)"), "{result}");
        let record = world.record_where("the record", |record| record["external_id"] == "dsh-ws-1");
        assert_eq!(
            (&record["id"], &record["ended_at"]),
            (&json!(id), &json!(LIVE))
        );
        end(&world, client, &id);
    }
}

#[test]
fn without_a_proof_the_name_comes_back_and_the_id_does_not() {
    let world = world();
    let ws = world.workspace("a");
    let (client, result) = declare(&world, "dsh-ws-1", &ws);
    let id = session_id(&result);
    end(&world, client, &id);
    let mut bare = proved(&world, "dsh-ws-1", &ws);
    for (name, value) in [
        ("plumb_hook_proof", json!("A".repeat(43))),
        ("plumb_hook_proof", Value::Null),
    ] {
        bare[name] = value;
        let result = world.client(&ws).call("session_start", bare.clone());
        assert_ne!(session_id(&result), id);
        assert!(text(&result).contains("(resumed)"), "{result}");
    }
}

#[test]
fn a_predecessor_that_lives_is_not_resumed_and_keeps_its_credential() {
    let world = world();
    let ws = world.workspace("a");
    let (first, result) = declare(&world, "dsh-ws-1", &ws);
    let id = session_id(&result);
    let (second, result) = declare(&world, "dsh-ws-1", &ws);
    let other = session_id(&result);
    assert_ne!(other, id);
    end(&world, second, &other);
    end(&world, first, &id);
    let (_third, result) = declare(&world, "dsh-ws-1", &ws);
    assert_eq!(session_id(&result), id);
}

#[test]
fn a_second_linkage_revokes_the_resume() {
    let world = world();
    let ws = world.workspace("a");
    let (mut client, result) = declare(&world, "dsh-ws-1", &ws);
    let id = session_id(&result);
    client.ok(
        "session_start",
        json!({ "session_id": "typed-by-model", "workspace": ws }),
    );
    let record = world.record_where("the record", |record| record["id"] == id.as_str());
    assert_eq!(record["health"], "shared_connection_detected");
    assert_eq!(record["external_id"], "typed-by-model");
    let log = world.log();
    let shared = log
        .lines()
        .find(|line| line.contains("shared connection detected"))
        .unwrap();
    assert!(
        shared.contains(&format!("session_id={id}")) && shared.contains("agent=typed-by-model"),
        "{shared}"
    );
    end(&world, client, &id);
    let (_next, result) = declare(&world, "dsh-ws-1", &ws);
    assert_ne!(session_id(&result), id);
}

#[test]
fn one_serve_links_one_conversation_only() {
    let world = world();
    let ws = world.workspace("a");
    let (mut client, _) = declare(&world, "dsh-ws-1", &ws);
    client.ok("session_start", proved(&world, "dsh-ws-2", &ws));
    drop(client);
    let credentials =
        fs::read_dir(world.home().join(".local/state/plumb/serve/credentials")).unwrap();
    assert_eq!(credentials.count(), 1);
}

#[test]
fn neither_stamp_proof_nor_credential_reaches_client_ledger_record_or_log() {
    let world = world();
    let ws = world.workspace("a");
    let mut seen = String::new();
    for _ in 0..2 {
        let mut client = world.client(&ws);
        let arguments = proved(&world, "dsh-ws-1", &ws);
        seen.push_str(&client.call("session_start", arguments.clone()).to_string());
        seen += &serde_json::to_string(&client.unasked).unwrap();
        client.close();
        seen += &json!([world.effects(), world.records(), world.log()]).to_string();
        for secret in [
            "rsk1-",
            arguments["plumb_hook_proof"].as_str().unwrap(),
            "resume-outcome",
        ] {
            assert!(!seen.contains(secret), "{secret} in {seen}");
        }
    }
    let folder = world.home().join(".local/state/plumb/serve/credentials");
    let stored = fs::read_dir(folder)
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    assert!(
        stored
            .into_iter()
            .all(|text| text.starts_with("rsk1-") && text.len() == 27),
        "the witness"
    );
}

#[test]
fn a_bound_note_reaches_the_resumed_session_once() {
    let world = world();
    let ws = world.workspace("a");
    let (client, result) = declare(&world, "dsh-ws-1", &ws);
    let id = session_id(&result);
    let name = world.records()[&id]["name"].as_str().unwrap().to_owned();
    let mut sender = world.agent(&ws, "sender");
    sender.ok("leave_note", json!({ "to": name, "body": "red kite" }));
    end(&world, client, &id);
    let mut client = world.client(&ws);
    let mut arguments = proved(&world, "dsh-ws-1", &ws);
    arguments["mail"] = "preview".into();
    let packet = client.ok("session_start", arguments);
    assert!(
        packet.contains("## Messages") && !packet.contains("red kite"),
        "{packet}"
    );
    assert!(client.ok("check_messages", json!({})).contains("red kite"));
    assert!(
        client
            .ok("check_messages", json!({}))
            .starts_with("No messages.")
    );
}

#[test]
fn a_refused_agent_is_gated_by_name_until_force_and_then_has_a_row_of_its_own() {
    let world = world();
    let (ws_a, ws_b) = (world.workspace("a"), world.workspace("b"));
    let mut client = world.agent(&ws_a, "one");
    let result = client.call_as(
        Some("two"),
        "session_start",
        json!({ "session_id": "two", "workspace": ws_b }),
    );
    let error = &result["_meta"]["dev.plumbkit/error"];
    assert_eq!(
        (&error["details"]["scope"], &error["remediation"]["class"]),
        (&json!("agent"), &json!("pass_force"))
    );
    let refusal = client.call_as(Some("two"), "read_file", json!({ "file_path": "go.mod" }));
    assert!(
        refusal["isError"] == true && text(&refusal).contains("\"two\""),
        "{refusal}"
    );
    assert_eq!(
        client.call_as(Some("two"), "list_memories", json!({}))["isError"],
        false
    );
    let forced = json!({ "session_id": "two", "workspace": ws_b, "force": true });
    let result = client.call_as(Some("two"), "session_start", forced);
    assert_eq!(
        result["_meta"]["dev.plumbkit/pin-scope"], "agent",
        "{result}"
    );
    assert_eq!(
        client.call_as(Some("two"), "read_file", json!({ "file_path": "go.mod" }))["isError"],
        false
    );
    let row = world.record_where("the agent's row", |record| {
        record.get("parent_id").is_some()
    });
    assert_eq!(
        (&row["external_id"], &row["folder"]),
        (&json!("two"), &json!(ws_b))
    );
    let parent = world.records()[row["parent_id"].as_str().unwrap()].clone();
    assert_eq!(parent["folder"], json!(ws_a));
    let pins = pins(&world);
    for (agent, ws) in [("one", &ws_a), ("two", &ws_b)] {
        assert!(
            pins.contains(&(agent.to_owned(), ws.to_str().unwrap().to_owned())),
            "{pins:?}"
        );
    }
    client.close();
    world.record_where("the row's end", |record| {
        record.get("parent_id").is_some() && record["ended_at"] != LIVE
    });
}

fn pins(world: &World) -> Vec<(String, String)> {
    let db = Connection::open(world.data().join("session_state.db")).unwrap();
    let mut rows = db
        .prepare("SELECT logical_agent_id, workspace FROM pinned_workspace")
        .unwrap();
    let rows = rows
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_connection_level_refusal_says_so() {
    let world = world();
    let (ws_a, ws_b) = (world.workspace("a"), world.workspace("b"));
    let mut client = world.agent(&ws_a, "one");
    let result = client.call(
        "session_start",
        json!({ "session_id": "one", "workspace": ws_b }),
    );
    assert_eq!(
        result["_meta"]["dev.plumbkit/error"]["details"]["scope"], "connection",
        "{result}"
    );
}

#[test]
fn the_newest_links_a_typed_id_of_a_stamped_declaration_without_sharing() {
    for (generation, health) in [
        ("0.25", Value::Null),
        ("0.24", json!("shared_connection_detected")),
    ] {
        let world = World::of(generation);
        let ws = world.workspace("a");
        let mut client = world.client(&ws);
        client.call_as(
            Some("stamp"),
            "session_start",
            json!({ "session_id": "stamp", "workspace": ws }),
        );
        client.call_as(
            Some("stamp"),
            "session_start",
            json!({ "session_id": "typed", "workspace": ws }),
        );
        let record = world.record_where("the record", |record| record["external_id"] == "typed");
        assert_eq!(record["health"], health, "{generation}");
    }
}

#[test]
fn an_unstamped_write_on_a_shared_connection_is_refused_in_spite_of_a_declaration() {
    let world = world();
    let ws = world.workspace("a");
    let mut client = world.agent(&ws, "one");
    client.ok(
        "session_start",
        json!({ "session_id": "two", "workspace": ws }),
    );
    for (tool, arguments) in [
        ("git", json!({ "subcommand": "status" })),
        ("check_messages", json!({})),
    ] {
        assert!(
            client
                .refused(tool, arguments)
                .starts_with("error: shared connection: "),
            "{tool}"
        );
    }
    assert_eq!(
        client.call_as(Some("one"), "check_messages", json!({}))["isError"],
        false
    );
}

#[test]
fn serve_starts_unattached_unless_it_is_told_a_workspace() {
    let world = world();
    let ws = world.workspace("a");
    let mut client = world.client(&ws);
    let refusal = client.refused("list_memories", json!({}));
    assert!(refusal.contains("call session_start first"), "{refusal}");
    assert!(
        world
            .records()
            .values()
            .all(|record| record["folder"] == "")
    );
    let mut told = world.client_with(&ws, &[("PLUMB_WORKSPACE", ws.to_str().unwrap())]);
    told.ok("list_memories", json!({}));
}

#[test]
fn the_hook_says_nothing_when_it_is_off_or_not_about_plumb() {
    let world = world();
    let event = |tool: &str, id: &str| {
        json!({ "session_id": id, "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": {} }).to_string()
    };
    let ours = "mcp__plumb__session_start";
    let off = [("PLUMB_IDENTITY_HOOK", "off")];
    for (env, stdin) in [
        (&off[..], event(ours, "s")),
        (&[], event("mcp__other__x", "s")),
        (&[], event(ours, "")),
    ] {
        let cli = world.run_with(&["hooks", "run-claude"], env, &stdin);
        assert_eq!((cli.code(), cli.out().as_str()), (0, ""), "{cli:?}");
    }
    let cli = world.run_with(&["hooks", "run-claude"], &[], &event(ours, "s"));
    assert!(
        cli.out().contains("plumb_hook_proof"),
        "the witness: {cli:?}"
    );
}

#[test]
fn the_fault_changes_the_id_on_resume() {
    let mut world = World::of("0.25");
    world.set("FAKE_PLUMB_FAULTS", "id-changed-on-resume");
    let ws = world.workspace("a");
    world.client(&ws).close();
    let (client, result) = declare(&world, "dsh-ws-1", &ws);
    let id = session_id(&result);
    end(&world, client, &id);
    let (_next, result) = declare(&world, "dsh-ws-1", &ws);
    assert_ne!(session_id(&result), id);
    assert!(text(&result).contains("(resumed)"), "{result}");
}
