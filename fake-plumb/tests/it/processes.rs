//! Processes: who starts, ends and describes the daemon, and whom nobody may touch.

use std::fs;
use std::os::unix::process::CommandExt;

use rustix::process::Signal;
use serde_json::json;

use crate::world::{Client, Daemon, World, plain_error, until};

#[test]
fn restart_starts_one_replaces_one_and_stop_ends_it() {
    let world = World::of("0.25");
    assert!(
        world
            .run(&["stop"])
            .out()
            .ends_with("Daemon is not running.\n")
    );
    let cli = world.run(&["restart", "--force"]);
    assert!(
        cli.out()
            .ends_with("Daemon is not running — starting a fresh one.\nDaemon restarted.\n"),
        "{cli:?}"
    );
    let first = world.daemon().unwrap();
    let cli = world.run(&["restart"]);
    let wanted = format!(
        "Stopping daemon (PID {}) ... stopped.\nDaemon restarted.\n",
        first.pid
    );
    assert!(cli.out().ends_with(&wanted), "{cli:?}");
    let second = world.daemon().unwrap();
    assert!(second != first && !first.is_alive());
    let cli = world.run(&["stop"]);
    assert!(cli.code() == 0 && !second.is_alive(), "{cli:?}");
}

#[test]
fn stop_refuses_without_a_terminal_while_sessions_live() {
    let world = World::of("0.25");
    let ws = world.workspace("a");
    let _client = world.agent(&ws, "one");
    for verb in ["stop", "restart"] {
        let cli = world.run(&[verb]);
        assert_eq!((cli.code(), cli.out().as_str()), (1, ""), "{cli:?}");
        let wanted =
            format!("refusing to {verb} the daemon without confirmation: stdin is not a terminal.");
        assert!(cli.error().contains(&wanted), "{}", cli.error());
    }
    assert!(world.daemon().unwrap().is_alive());
    assert_eq!(world.run(&["stop", "--force"]).code(), 0);
}

#[test]
fn stop_touches_no_daemon_of_another_root_and_no_stranger_in_a_stale_pidfile() {
    let (world, other) = (World::of("0.25"), World::of("0.25"));
    other.start_daemon();
    let theirs = other.daemon().unwrap();
    fs::create_dir_all(world.runtime()).unwrap();
    fs::write(world.runtime().join("plumb.pid"), theirs.pid.to_string()).unwrap();
    assert!(
        world
            .run(&["stop", "--force"])
            .out()
            .ends_with("Daemon is not running.\n")
    );
    assert!(theirs.is_alive());
    fs::remove_file(world.runtime().join("plumb.pid")).unwrap();
}

#[test]
fn a_second_daemon_leaves_with_one_line_and_exit_0() {
    let world = World::of("0.25");
    world.start_daemon();
    let cli = world.run(&["daemon"]);
    assert_eq!((cli.code(), cli.out().as_str()), (0, ""));
    assert!(cli.error().contains("another daemon is running"), "{cli:?}");
}

#[test]
fn the_daemon_has_its_own_session_and_the_name_that_serve_was_called_by() {
    let world = World::of("0.25");
    let ws = world.workspace("a");
    let mut command = world.command(&["serve"]);
    command.arg0("another-name").current_dir(&ws);
    let mut client = Client::spawn(command);
    client.shake_hands();
    let pid = world.daemon().unwrap().pid;
    let argv = fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    assert_eq!(argv, b"another-name\0daemon\0");
    assert_eq!(
        fs::read_link(format!("/proc/{pid}/cwd")).unwrap(),
        std::path::Path::new("/")
    );
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit_once(')').unwrap().1;
    // Fields after the name: state, parent, group, session.
    assert_eq!(fields.split_whitespace().nth(3).unwrap(), pid.to_string());
}

#[test]
fn the_middle_generation_has_proofs_and_mail_and_no_namespaces() {
    let world = World::of("0.24");
    let ws = world.workspace("a");
    let mut client = world.client(&ws);
    client.ok(
        "session_start",
        json!({ "session_id": "one", "workspace": ws, "mail": "preview" }),
    );
    for command in ["namespace", "service"] {
        let cli = world.run(&[command]);
        assert!(
            cli.code() == 1 && cli.error().contains("unknown command"),
            "{cli:?}"
        );
    }
    let event = json!({
        "session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "mcp__plumb__session_start", "tool_input": {},
    });
    let cli = world.run_with(&["hooks", "run-claude"], &[], &event.to_string());
    assert!(cli.out().contains("plumb_hook_proof"), "{cli:?}");
}

#[test]
fn account_authority_needs_a_profile_and_then_says_ok() {
    let mut world = World::of("0.25");
    let home = world.home();
    world
        .unset("PLUMB_ACCOUNT_AUTHORITY")
        .set("FAKE_PLUMB_ACCOUNT_HOME", home.to_str().unwrap());
    world
        .set("HOME", "/nowhere")
        .set("XDG_DATA_HOME", "/nowhere");
    let ws = world.workspace("a");
    for args in [&["restart", "--force"][..], &["daemon"], &["serve"]] {
        let cli = world.run(args);
        assert_eq!(cli.code(), 1, "{cli:?}");
        assert!(
            cli.error().contains("no service profile"),
            "{}",
            cli.error()
        );
    }
    assert_eq!(world.run(&["service", "install"]).code(), 0);
    assert!(world.daemon().is_none(), "install starts nothing");
    world.start_daemon();
    let pid = world.daemon().unwrap().pid;
    let daemons = world.run(&["debug", "daemons"]);
    assert_eq!(daemons.code(), 0);
    let verdict = format!("OK: daemon PID {pid} holds the launch authority and owns its socket\n");
    assert!(daemons.out().ends_with(&verdict), "{daemons:?}");
    let shown = world.run(&["service", "show", "--json"]).json();
    assert_eq!(
        shown["session_dir"],
        json!(home.join(".local/share/plumb/sessions"))
    );
    world.agent(&ws, "one").close();
    assert_eq!(world.records().len(), 1);
}

#[test]
fn nothing_is_done_in_the_accounts_own_folders() {
    let mut world = World::of("0.25");
    world.unset("PLUMB_ACCOUNT_AUTHORITY");
    for args in [
        &["restart", "--force"][..],
        &["daemon"],
        &["serve"],
        &["sessions"],
        &["service", "install"],
    ] {
        let cli = world.run(args);
        assert_eq!(cli.code(), 1, "{cli:?}");
        assert!(
            cli.error().contains("FAKE_PLUMB_ACCOUNT_HOME"),
            "{}",
            cli.error()
        );
    }
}

#[test]
fn two_daemons_are_a_violation_and_the_second_ends_with_the_first() {
    let mut world = World::of("0.25");
    world.set("FAKE_PLUMB_FAULTS", "two-daemons");
    world.start_daemon();
    let second = until("the second pidfile", || {
        let pid = fs::read_to_string(world.runtime().join("plumb.2.pid"))
            .ok()
            .and_then(|pid| pid.parse().ok());
        pid.and_then(Daemon::look).ok_or_else(|| "none".to_owned())
    });
    let daemons = world.run(&["debug", "daemons"]).out();
    let first = world.daemon().unwrap().pid;
    let wanted = format!(
        "VIOLATION: 2 daemons are running, PID {first}, PID {}\n",
        second.pid
    );
    assert!(daemons.ends_with(&wanted), "{daemons}");
    world.end_daemon(Signal::KILL);
    until("the end of the second", || {
        if second.is_alive() {
            Err("alive".to_owned())
        } else {
            Ok(())
        }
    });
}

#[test]
fn a_daemon_that_ignores_term_lives_on() {
    let mut world = World::of("0.25");
    world.set("FAKE_PLUMB_FAULTS", "term-ignored");
    let ws = world.workspace("a");
    let mut client = world.client(&ws);
    let daemon = world.daemon().unwrap();
    daemon.signal(Signal::TERM);
    client.request("ping", json!({}));
    assert!(daemon.is_alive());
}

#[test]
fn serve_exits_0_on_term_and_its_record_ends() {
    let world = World::of("0.25");
    let ws = world.workspace("a");
    for signal in [Signal::TERM, Signal::KILL] {
        let mut client = world.agent(&ws, "one");
        let id = world.record_where("the live record", |record| {
            record["ended_at"] == "0001-01-01T00:00:00Z"
        })["id"]
            .clone();
        Daemon::look(client.pid()).unwrap().signal(signal);
        let status = client.wait();
        assert_eq!(
            status.code(),
            if signal == Signal::TERM {
                Some(0)
            } else {
                None
            }
        );
        world.record_where("the end", |record| {
            record["id"] == id && record["ended_at"] != "0001-01-01T00:00:00Z"
        });
    }
}

#[test]
fn serve_without_reconnecting_ends_with_its_daemon() {
    let world = World::of("0.25");
    let ws = world.workspace("a");
    let mut client = world.client_with(&ws, &[("PLUMB_PROXY_RECONNECT", "0")]);
    world.end_daemon(Signal::KILL);
    assert_eq!(client.wait().code(), Some(1));
    assert!(plain_error(&client.stderr()).contains("reconnecting is off"));
    assert!(world.daemon().is_none());
}

#[test]
fn a_socket_path_that_is_too_long_is_named_with_its_length() {
    let mut world = World::of("0.25");
    let long = world.home().join("x".repeat(120));
    world.set("XDG_CACHE_HOME", long.to_str().unwrap());
    let cli = world.run(&["serve"]);
    assert_eq!(cli.code(), 1);
    let length = long.join("plumb/plumb.sock").as_os_str().len();
    assert!(
        cli.error().contains(&format!("has {length} bytes")),
        "{}",
        cli.error()
    );
}

#[test]
fn generations_and_faults_that_nobody_knows_are_refused() {
    let world = World::of("0.25");
    let cli = world.run(&["version", "--as", "0.18"]);
    assert!(
        cli.code() == 1 && cli.error().contains("0.17, 0.24 or 0.25"),
        "{cli:?}"
    );
    let cli = world.run_with(&["serve"], &[("FAKE_PLUMB_FAULTS", "mail-thrice")], "");
    assert!(
        cli.code() == 1 && cli.error().contains("\"mail-thrice\" is not known"),
        "{cli:?}"
    );
    assert!(
        world
            .run(&["version", "--as", "0.17"])
            .out()
            .contains("plumb 0.17.2 ")
    );
    assert!(world.run(&["version"]).out().contains("plumb v0.25.2 "));
}

#[test]
fn assumptions_are_listed_by_number() {
    let list = World::of("0.25").run(&["assumptions", "--json"]).json();
    assert_eq!(list[0]["id"], "A1");
    assert!(
        list.as_array()
            .unwrap()
            .iter()
            .all(|row| row["what"].as_str().is_some_and(|what| !what.is_empty()))
    );
}

#[test]
fn serve_says_that_the_daemon_is_of_another_version() {
    let world = World::of("0.24");
    let ws = world.workspace("a");
    let _client = world.client(&ws);
    let cli = world.run(&["serve", "--as", "0.25"]);
    assert!(
        cli.error()
            .contains("plumb: warning: connected daemon is 0.24.0 but this binary is 0.25.2"),
        "{cli:?}"
    );
}
