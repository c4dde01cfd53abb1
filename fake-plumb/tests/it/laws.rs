//! Laws: what holds under every interleaving that we could think of, and under any bytes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use rustix::process::Signal;
use serde_json::{Map, Value, json};

use crate::world::{Client, World};

/// One thing that happens to the sessions of a workspace.
#[derive(Clone, Copy, Debug)]
enum Step {
    Send {
        by: usize,
    },
    Claim {
        by: usize,
    },
    /// Any other call of a session, which may carry mail as well.
    Other {
        by: usize,
    },
    Reconnect {
        who: usize,
    },
    KillServe {
        who: usize,
    },
    KillDaemon,
}

fn any_step() -> impl Strategy<Value = Step> {
    let who = 0..3_usize;
    prop_oneof![
        4 => who.clone().prop_map(|by| Step::Send { by }),
        3 => who.clone().prop_map(|by| Step::Claim { by }),
        3 => who.clone().prop_map(|by| Step::Other { by }),
        1 => who.clone().prop_map(|who| Step::Reconnect { who }),
        1 => who.prop_map(|who| Step::KillServe { who }),
        1 => Just(Step::KillDaemon),
    ]
}

/// A key that some part of the fake looks at.
fn any_key() -> impl Strategy<Value = String> {
    let known = [
        "_meta",
        "arguments",
        "name",
        "protocolVersion",
        "clientInfo",
        "capabilities",
    ];
    proptest::sample::select(known.to_vec()).prop_map(str::to_owned)
}

fn any_json() -> impl Strategy<Value = Value> {
    let words = [
        "session_start",
        "check_messages",
        "leave_note",
        "git",
        "x",
        "",
        "/",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        proptest::sample::select(words.to_vec()).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let keys = [
            "session_id",
            "workspace",
            "plumb_agent",
            "plumb_hook_proof",
            "body",
            "dev.plumbkit/namespace",
        ];
        let pairs = (
            proptest::sample::select(keys.to_vec()).prop_map(str::to_owned),
            inner.clone(),
        );
        prop_oneof![
            proptest::collection::vec(inner, 0..3).prop_map(Value::from),
            proptest::collection::vec(pairs, 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn connect(world: &World, ws: &std::path::Path, who: usize) -> (Client, String) {
    let mut client = world.client(ws);
    let packet = client.ok(
        "session_start",
        json!({ "session_id": format!("agent-{who}"), "workspace": ws }),
    );
    (client, packet)
}

/// How often each note was seen, in the order of sending.
fn arrivals(seen: &str, sent: usize) -> Vec<usize> {
    (0..sent)
        .map(|note| seen.matches(&format!("note-{note:04}")).count())
        .collect()
}

fn few() -> ProptestConfig {
    ProptestConfig {
        cases: 6,
        max_shrink_iters: 40,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(few())]

    #[test]
    fn a_note_arrives_exactly_once_whatever_happens_in_between(steps in proptest::collection::vec(any_step(), 1..25)) {
        let world = World::of("0.25");
        let ws = world.workspace("a");
        let mut seen = String::new();
        let mut clients: Vec<Client> = Vec::new();
        for who in 0..3 {
            let (client, packet) = connect(&world, &ws, who);
            clients.push(client);
            seen.push_str(&packet);
        }
        let mut sent = 0;
        for step in steps {
            match step {
                Step::Send { by } => {
                    // The receipt repeats the body, so only what follows it can be mail.
                    let receipt = clients[by].ok("leave_note", json!({ "body": format!("note-{sent:04}") }));
                    seen.push_str(receipt.split_once("next tool call.").unwrap().1);
                    sent += 1;
                }
                Step::Claim { by } => seen.push_str(&clients[by].ok("check_messages", json!({}))),
                Step::Other { by } => seen.push_str(&clients[by].ok("list_memories", json!({}))),
                Step::Reconnect { who } | Step::KillServe { who } => {
                    if matches!(step, Step::KillServe { .. }) {
                        clients[who].kill();
                    }
                    let (client, packet) = connect(&world, &ws, who);
                    clients[who] = client;
                    seen.push_str(&packet);
                }
                Step::KillDaemon => {
                    world.end_daemon(Signal::KILL);
                    // A call that reaches serve before it has noticed is in flight, and may be lost.
                    for client in &mut clients {
                        client.notified("notifications/tools/list_changed");
                    }
                }
            }
        }
        let (mut last, packet) = connect(&world, &ws, 9);
        seen.push_str(&packet);
        for _ in 0..=sent / 3 {
            seen.push_str(&last.ok("check_messages", json!({})));
        }
        prop_assert_eq!(arrivals(&seen, sent), vec![1; sent]);
    }

    #[test]
    fn two_namespaces_never_see_each_other(steps in proptest::collection::vec((0..2_usize, any_step()), 1..20)) {
        let world = World::of("0.25");
        world.start_daemon();
        let ws = world.workspace("a");
        let realms: Vec<(String, Client)> = ["red", "blue"].map(|realm| {
            let made = world.run(&["namespace", "create", "--json"]).json();
            let client = world.client_with(&ws, &[("PLUMB_NAMESPACE", made["token"].as_str().unwrap())]);
            (realm.to_owned(), client)
        }).into();
        let (names, mut clients): (Vec<String>, Vec<Client>) = realms.into_iter().unzip();
        let mut seen = [String::new(), String::new()];
        for (realm, client) in clients.iter_mut().enumerate() {
            seen[realm] += &client.ok("session_start", json!({ "session_id": "same", "workspace": ws }));
        }
        for (realm, step) in steps {
            let answer = match step {
                Step::Send { .. } => clients[realm].ok("leave_note", json!({ "body": format!("in-{}", names[realm]) })),
                Step::Claim { .. } => clients[realm].ok("check_messages", json!({})),
                Step::KillDaemon => {
                    world.end_daemon(Signal::KILL);
                    for client in &mut clients {
                        client.notified("notifications/tools/list_changed");
                    }
                    String::new()
                }
                _ => clients[realm].ok("workspace_sessions", json!({})),
            };
            seen[realm] += &answer;
        }
        for (realm, other) in [(0, 1), (1, 0)] {
            prop_assert!(!seen[realm].contains(&format!("in-{}", names[other])), "{}", seen[realm]);
            prop_assert!(!seen[realm].contains(": 2 live"), "{}", seen[realm]);
        }
    }

    #[test]
    fn any_json_in_the_place_of_parameters_leaves_serve_and_daemon_alive(
        method in prop_oneof![Just("initialize"), Just("tools/call"), Just("tools/list")],
        params in proptest::collection::vec((any_key(), any_json()), 0..6),
    ) {
        let world = World::of("0.25");
        let ws = world.workspace("a");
        let mut client = world.client(&ws);
        let params: Map<String, Value> = params.into_iter().collect();
        // Whatever is answered, something is.
        client.request(method, Value::Object(params));
        let answer = client.request("ping", json!({}));
        prop_assert!(answer.get("result").is_some());
    }

    #[test]
    fn any_bytes_on_stdin_leave_the_daemon_alive(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let world = World::of("0.25");
        let ws = world.workspace("a");
        let mut client = world.client(&ws);
        let daemon = world.daemon().unwrap();
        client.write_bytes(&bytes);
        client.write_bytes(b"\n");
        let answer = client.request("ping", json!({}));
        prop_assert!(answer.get("result").is_some());
        prop_assert!(daemon.is_alive());
        let mut raw = std::os::unix::net::UnixStream::connect(world.runtime().join("plumb.sock")).unwrap();
        std::io::Write::write_all(&mut raw, &bytes).unwrap();
        drop(raw);
        let answer = client.request("ping", json!({}));
        prop_assert!(answer.get("result").is_some());
    }
}

#[test]
fn no_reader_ever_sees_a_torn_record() {
    let world = World::of("0.25");
    let ws = world.workspace("a");
    let mut clients: Vec<_> = (0..3)
        .map(|who| world.agent(&ws, &format!("agent-{who}")))
        .collect();
    let is_over = AtomicBool::new(false);
    let reads = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0;
            while !is_over.load(Ordering::Relaxed) {
                // Panics on a record that is not whole.
                reads += world.records().len();
            }
            reads
        });
        for round in 0..60 {
            for client in &mut clients {
                client.ok(
                    "rename_session",
                    json!({ "name": format!("n{round}-{}", client.pid()) }),
                );
            }
        }
        is_over.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    });
    assert!(reads > 100, "the reader read {reads} records only");
}

#[test]
fn a_line_of_five_mebibytes_is_refused_and_the_daemon_lives() {
    let world = World::of("0.25");
    let ws = world.workspace("a");
    let mut client = world.client(&ws);
    client.write(&"x".repeat(5 * 1024 * 1024));
    let answer = client.request("ping", json!({}));
    assert!(answer.get("result").is_some());
    assert!(
        client
            .unasked
            .iter()
            .any(|frame| frame["error"]["code"] == -32700)
    );
    let mut raw =
        std::os::unix::net::UnixStream::connect(world.runtime().join("plumb.sock")).unwrap();
    raw.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
    // The daemon may close the connection before all of it is written.
    std::io::Write::write_all(&mut raw, "x".repeat(5 * 1024 * 1024).as_bytes()).ok();
    assert!(client.request("ping", json!({})).get("result").is_some());
}
