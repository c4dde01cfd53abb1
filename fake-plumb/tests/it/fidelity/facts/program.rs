//! Facts of the program: its commands, its files, its processes.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::LIVE;
use crate::world::{World, session_id};

#[test]
fn debug_daemons_exits_0_with_the_help_of_debug_and_a_flag_is_unknown() {
    let world = World::for_fidelity();
    let cli = world.run(&["debug", "daemons"]);
    assert_eq!(cli.code(), 0, "{cli:?}");
    for word in ["heap", "lsp", "mem", "stacks"] {
        assert!(cli.out().contains(word), "{cli:?}");
    }
    let cli = world.run(&["debug", "daemons", "--json"]);
    assert_eq!(cli.code(), 1);
    assert!(cli.error().contains("unknown flag: --json"), "{cli:?}");
}

#[test]
fn namespace_service_and_note_are_unknown_commands_with_an_empty_stdout() {
    let world = World::for_fidelity();
    let lines: [&[&str]; 5] = [
        &["namespace"],
        &["namespace", "--help"],
        &["namespace", "list", "--json"],
        &["service", "show"],
        &["note"],
    ];
    for args in lines {
        let cli = world.run(args);
        assert_eq!((cli.code(), cli.out().as_str()), (1, ""), "{cli:?}");
        let wanted = format!("unknown command \"{}\" for \"plumb\"", args[0]);
        assert!(cli.error().contains(&wanted), "{cli:?}");
    }
    let cli = world.run(&["serve", "--namespace", "tok"]);
    assert_eq!(cli.code(), 1);
    assert!(cli.error().contains("unknown flag: --namespace"), "{cli:?}");
}

#[test]
fn human_output_has_the_logo_on_stdout_and_json_has_none() {
    let world = World::for_fidelity();
    let out = world.run(&["sessions"]).out();
    assert!(
        out.contains('\x1b') && out.contains("No active sessions."),
        "{out:?}"
    );
    assert_eq!(world.run(&["sessions", "--json"]).json(), json!([]));
    assert!(world.run(&["version", "--json"]).json()["version"].is_string());
    assert!(
        world
            .run(&["version"])
            .out()
            .lines()
            .last()
            .unwrap()
            .starts_with("plumb ")
    );
}

#[test]
fn the_daemon_leaves_its_files_with_their_modes_and_takes_them_away_at_a_clean_end() {
    let world = World::for_fidelity();
    let ws = world.workspace("a");
    world.agent(&ws, "one").close();
    let pid = fs::read_to_string(world.runtime().join("plumb.pid")).unwrap();
    assert_eq!(pid, world.daemon().unwrap().pid.to_string());
    let mode = |path: std::path::PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(world.data()), 0o700);
    assert_eq!(mode(world.data().join("sessions")), 0o755);
    assert_eq!(mode(world.runtime().join("plumb.pid")), 0o600);
    for id in world.records().keys() {
        assert_eq!(
            mode(world.data().join("sessions").join(format!("{id}.json"))),
            0o600
        );
    }
    world.end_daemon(rustix::process::Signal::TERM);
    for gone in [
        "plumb.sock",
        "plumb.ctrl.sock",
        "plumb.pid",
        "plumb.version",
    ] {
        assert!(!world.runtime().join(gone).exists(), "{gone}");
    }
    assert!(world.runtime().join("plumb.daemon.lock").exists());
}

#[test]
fn six_serves_at_once_start_one_daemon() {
    let world = World::for_fidelity();
    let ws = world.workspace("a");
    let mut clients: Vec<_> = (0..6).map(|_| world.bare(&ws, &[])).collect();
    for client in &mut clients {
        client.shake_hands();
    }
    let daemon = world.daemon().unwrap().pid;
    let mut pids: Vec<_> = world
        .records()
        .values()
        .map(|record| record["pid"].as_i64().unwrap())
        .collect();
    pids.dedup();
    assert_eq!(pids, [i64::from(daemon)]);
    assert_eq!(world.log().matches("daemon: ready").count(), 1);
}

#[test]
fn after_a_killed_daemon_serve_has_the_session_again_and_its_declaration_is_lost() {
    let world = World::for_fidelity();
    let ws = world.workspace("a");
    let mut client = world.client(&ws);
    let id = session_id(&client.call(
        "session_start",
        json!({ "session_id": "agent", "workspace": ws, "purpose": "dsh" }),
    ));
    let parked = client.send_call("check_messages", json!({ "wait_seconds": 30 }));
    client.request("ping", json!({}));
    world.end_daemon(rustix::process::Signal::KILL);
    let answer = client.answer(parked);
    assert_eq!(answer["error"]["code"], -32000);
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .starts_with("plumb daemon restarted mid-request; "),
        "{answer}"
    );
    let listed = client.ok("list_memories", json!({}));
    assert!(
        listed.contains("# plumb-note: plumb daemon reconnected (now "),
        "{listed}"
    );
    assert!(
        client
            .unasked
            .iter()
            .any(|frame| frame["method"] == "notifications/tools/list_changed")
    );
    let record = world.record_where("the adopted record", |record| {
        record["id"] == id.as_str() && record["ended_at"] == LIVE
    });
    assert!(
        record.get("external_id").is_none() && record.get("purpose").is_none(),
        "{record}"
    );
    assert_eq!(record["folder"], ws.to_str().unwrap());
    assert!(world.log().contains(&format!("adopted={id}")));
}

#[test]
fn the_claude_hook_of_this_generation_is_silent_before_a_tool() {
    let world = World::for_fidelity();
    let _daemon = world.client(&world.workspace("a"));
    let event = |name: &str| {
        json!({ "session_id": "s-1", "hook_event_name": name, "tool_name": "mcp__plumb__session_start", "tool_input": {} }).to_string()
    };
    for stdin in [event("PreToolUse"), "not json".to_owned(), String::new()] {
        let cli = world.run_with(&["hooks", "run-claude"], &[], &stdin);
        assert_eq!((cli.code(), cli.out().as_str()), (0, ""), "{cli:?}");
    }
    let cli = world.run_with(&["hooks", "run-claude"], &[], &event("SessionStart"));
    assert_eq!(cli.code(), 0);
    assert!(cli.out().contains("\"s-1\""), "{cli:?}");
}
