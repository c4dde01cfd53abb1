//! Namespaces: made, joined, apart from each other, and ended in each of their ways.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::world::{World, plain_error, until};

fn world() -> World {
    let world = World::of("0.25");
    world.start_daemon();
    world
}

fn create(world: &World) -> (String, String) {
    let pid = std::process::id().to_string();
    let made = world
        .run(&[
            "namespace",
            "create",
            "--ttl",
            "30m",
            "--owner-pid",
            &pid,
            "--json",
        ])
        .json();
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    (text("id"), text("token"))
}

fn state(world: &World, id: &str) -> String {
    let rows = world.run(&["namespace", "list", "--json"]).json();
    let row = rows
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["id"] == id)
        .unwrap_or_else(|| panic!("{id}: {rows}"));
    row["state"].as_str().unwrap().to_owned()
}

#[test]
fn a_namespace_is_made_listed_without_its_token_and_released_from_the_environment_or_stdin() {
    let world = world();
    let shape = regex::Regex::new("^ns-[0-9a-f]{8} nst-[A-Za-z0-9_-]{22}$").unwrap();
    for way in ["environment", "stdin"] {
        let (id, token) = create(&world);
        assert!(shape.is_match(&format!("{id} {token}")), "{id} {token}");
        assert_eq!(state(&world, &id), "active");
        let listed = world.run(&["namespace", "list", "--json"]).out();
        assert!(!listed.contains("nst-") && !world.log().contains("nst-"));
        let released = match way {
            "stdin" => world.run_with(
                &["namespace", "release", "--token-stdin", "--json"],
                &[],
                &format!("{token}\n"),
            ),
            _ => world.run_with(
                &["namespace", "release", "--json"],
                &[("PLUMB_NAMESPACE", &token)],
                "",
            ),
        };
        assert_eq!(released.json(), json!({ "id": id, "state": "revoked" }));
        assert_eq!(state(&world, &id), "revoked");
    }
    let nothing = world.run(&["namespace", "release"]);
    assert_eq!(nothing.code(), 1);
    assert!(nothing.error().contains("PLUMB_NAMESPACE"), "{nothing:?}");
}

#[test]
fn help_needs_no_daemon_and_a_list_does() {
    let world = World::of("0.25");
    let help = world.run(&["namespace", "--help"]);
    assert_eq!(help.code(), 0);
    assert!(help.out().contains("plumb namespace create"));
    let list = world.run(&["namespace", "list", "--json"]);
    assert_eq!((list.code(), list.out().as_str()), (1, ""));
    assert!(
        list.error().contains("is plumb daemon running?"),
        "{list:?}"
    );
}

#[test]
fn a_joined_connection_names_its_namespace_in_record_and_ledger() {
    let world = world();
    let ws = world.workspace("a");
    let (id, token) = create(&world);
    let mut client = world.client_with(&ws, &[("PLUMB_NAMESPACE", &token)]);
    client.ok(
        "session_start",
        json!({ "session_id": "in", "workspace": ws }),
    );
    let record = world.record_where("the record", |record| record["external_id"] == "in");
    assert_eq!(record["namespace"], id.as_str());
    assert_eq!(world.effects().last().unwrap()["namespace"], id.as_str());
    let mut outside = world.agent(&ws, "out");
    outside.ok("list_memories", json!({}));
    assert!(world.effects().last().unwrap()["namespace"].is_null());
}

#[test]
fn one_namespace_sees_nothing_of_another_nor_of_what_is_outside() {
    let world = world();
    let ws = world.workspace("a");
    let tokens: Vec<String> = (0..2).map(|_| create(&world).1).collect();
    let mut clients = vec![world.client(&ws)];
    clients.extend(
        tokens
            .iter()
            .map(|token| world.client_with(&ws, &[("PLUMB_NAMESPACE", token)])),
    );
    for client in &mut clients {
        client.ok(
            "session_start",
            json!({ "session_id": "same", "workspace": ws }),
        );
        client.ok("leave_note", json!({ "body": "for my own realm" }));
    }
    for client in &mut clients {
        let listed = client.ok("workspace_sessions", json!({}));
        assert!(listed.contains(": 1 live"), "{listed}");
        assert!(
            client
                .ok("check_messages", json!({}))
                .starts_with("No messages.")
        );
    }
    let outside = world.run(&["sessions", "--json"]).json();
    assert_eq!(outside.as_array().unwrap().len(), 1, "{outside}");
    let id = world
        .records()
        .values()
        .find_map(|record| record["namespace"].as_str().map(str::to_owned))
        .unwrap();
    let inside = world
        .run(&["sessions", "--json", "--namespace", &id])
        .json();
    assert_eq!(inside.as_array().unwrap().len(), 1, "{inside}");
}

#[test]
fn a_name_is_not_inherited_across_namespaces() {
    let world = world();
    let ws = world.workspace("a");
    world.agent(&ws, "same").close();
    let before = world.record_where("the end", |record| {
        record["ended_at"] != "0001-01-01T00:00:00Z"
    })["name"]
        .clone();
    let (_, token) = create(&world);
    let mut client = world.client_with(&ws, &[("PLUMB_NAMESPACE", &token)]);
    let packet = client.ok(
        "session_start",
        json!({ "session_id": "same", "workspace": ws }),
    );
    assert!(!packet.contains("(resumed)"), "{packet} after {before}");
}

#[test]
fn a_dead_token_ends_serve_with_an_error_that_names_no_token() {
    let world = world();
    let (id, token) = create(&world);
    assert_eq!(
        world
            .run_with(
                &["namespace", "release"],
                &[("PLUMB_NAMESPACE", &token)],
                ""
            )
            .code(),
        0
    );
    for (token, reason) in [
        (token.as_str(), "is revoked"),
        ("nst-never-was", "no namespace has this token"),
    ] {
        let cli = world.run_with(&["serve"], &[("PLUMB_NAMESPACE", token)], "");
        assert_eq!((cli.code(), cli.out().as_str()), (1, ""), "{cli:?}");
        assert!(
            cli.error().contains(reason) && !cli.error().contains(token),
            "{}",
            cli.error()
        );
    }
    assert_eq!(state(&world, &id), "revoked");
}

#[test]
fn a_release_ends_the_connections_that_had_joined() {
    let world = world();
    let ws = world.workspace("a");
    let (_, token) = create(&world);
    let mut client = world.client_with(&ws, &[("PLUMB_NAMESPACE", &token)]);
    client.ok(
        "session_start",
        json!({ "session_id": "in", "workspace": ws }),
    );
    assert_eq!(
        world
            .run_with(
                &["namespace", "release"],
                &[("PLUMB_NAMESPACE", &token)],
                ""
            )
            .code(),
        0
    );
    assert_eq!(client.wait().code(), Some(1));
    assert!(plain_error(&client.stderr()).contains("is revoked"));
    let record = world.record_where("the record", |record| record["external_id"] == "in");
    assert_ne!(record["ended_at"], "0001-01-01T00:00:00Z");
}

#[test]
fn a_namespace_expires_five_minutes_after_its_owner_on_a_clock_that_can_be_sped() {
    let mut world = World::of("0.25");
    world.set("FAKE_PLUMB_CLOCK", "3000");
    world.start_daemon();
    let mut owner = std::process::Command::new("cat")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = owner.id().to_string();
    let made = world
        .run(&[
            "namespace",
            "create",
            "--ttl",
            "10h",
            "--owner-pid",
            &pid,
            "--json",
        ])
        .json();
    let id = made["id"].as_str().unwrap();
    assert_eq!(state(&world, id), "active");
    owner.stdin.take();
    owner.wait().unwrap();
    until("expiry", || match state(&world, id).as_str() {
        "expired" => Ok(()),
        other => Err(other.to_owned()),
    });
}

#[test]
fn a_namespace_outlives_its_daemon_and_its_serve_comes_back_into_it() {
    let world = world();
    let ws = world.workspace("a");
    let (id, token) = create(&world);
    let mut client = world.client_with(&ws, &[("PLUMB_NAMESPACE", &token)]);
    client.ok(
        "session_start",
        json!({ "session_id": "in", "workspace": ws }),
    );
    world.end_daemon(rustix::process::Signal::KILL);
    client.ok("list_memories", json!({}));
    let live = |record: &Value| record["ended_at"] == "0001-01-01T00:00:00Z";
    let record = world.record_where("the live record", live);
    assert_eq!(
        (&record["namespace"], &record["external_id"]),
        (&json!(id), &json!("in"))
    );
}

#[test]
fn an_owner_that_does_not_run_is_refused_and_a_span_must_be_one() {
    let world = world();
    let cli = world.run(&["namespace", "create", "--owner-pid", "2000000000", "--json"]);
    assert_eq!(cli.code(), 1);
    assert!(cli.error().contains("is not a running process"), "{cli:?}");
    let cli = world.run(&["namespace", "create", "--ttl", "soon"]);
    assert!(
        cli.code() == 1 && cli.error().contains("is not a duration"),
        "{cli:?}"
    );
    assert!(
        !fs::read_to_string(world.data().join("namespaces.json"))
            .unwrap_or_default()
            .contains("soon")
    );
}

#[test]
fn the_faults_of_a_namespace_show() {
    let mut world = World::of("0.25");
    world.set(
        "FAKE_PLUMB_FAULTS",
        "namespace-not-revoked,record-outside-namespace",
    );
    world.start_daemon();
    let ws = world.workspace("a");
    let (id, token) = create(&world);
    let mut client = world.client_with(&ws, &[("PLUMB_NAMESPACE", &token)]);
    client.ok(
        "session_start",
        json!({ "session_id": "in", "workspace": ws }),
    );
    let record = world.record_where("the record", |record| record["external_id"] == "in");
    assert!(record.get("namespace").is_none(), "{record}");
    let released = world.run_with(
        &["namespace", "release", "--json"],
        &[("PLUMB_NAMESPACE", &token)],
        "",
    );
    assert_eq!(released.json()["state"], "revoked");
    assert_eq!(state(&world, &id), "active");
}
