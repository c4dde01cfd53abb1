//! The facts of the measured plumb that the transcript does not show, one test each.
//!
//! Each holds for the real 0.17 build too; nothing here depends on how the fake is made.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::world::{World, session_id, text, until};

const LIVE: &str = "0001-01-01T00:00:00Z";

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

#[test]
fn the_claude_hook_of_this_generation_is_silent_before_a_tool() {
    let world = World::for_fidelity();
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
