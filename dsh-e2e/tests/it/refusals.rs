//! The first failures that a user meets: each is refused with what, where and what to do, and nothing is created.

use crate::room::{Room, said};

#[track_caller]
fn refused(room: &Room, command: &mut std::process::Command, code: i32, words: &[&str]) {
    let said = said(command);
    assert_eq!(said.code, Some(code), "{said}");
    for word in words {
        assert!(said.err.contains(word), "`{word}` is not said:\n{said}");
    }
    let left: Vec<_> = std::fs::read_dir(room.path("r")).unwrap().collect();
    assert!(left.is_empty(), "something was created: {left:?}");
}

#[test]
fn an_unknown_scenario_is_named_and_the_way_to_the_list_shown() {
    let room = Room::new();
    refused(
        &room,
        &mut room.run(["--only", "no-such"]),
        2,
        &["no scenario matches `no-such`", "hint: `dsh-e2e list`"],
    );
}

#[test]
fn an_unknown_build_is_named_with_those_that_exist() {
    let room = Room::new();
    refused(
        &room,
        &mut room.run(["--dsh", "9.9"]),
        2,
        &["no dsh build is called `9.9`", "0.2.1, rc8"],
    );
}

#[test]
fn without_pip_the_way_to_get_it_is_told() {
    let room = Room::new();
    let cache = room.path("tmp/cache");
    let mut command = room.command();
    command
        .args(["run", "--cache"])
        .arg(&cache)
        .env("PATH", room.path("home"));
    refused(&room, &mut command, 2, &["pip", "hint: "]);
    assert!(!cache.join("dsh-0.2.1-0a0a4eb85a22cd93").exists());
}

#[test]
fn without_npm_the_way_to_get_it_is_told() {
    let room = Room::new();
    let mut command = room.command();
    command
        .args(["provision", "--dsh", "rc8", "--cache"])
        .arg(room.path("tmp/cache"))
        .env("PATH", room.path("home"));
    refused(&room, &mut command, 2, &["npm", "hint: "]);
}

#[test]
fn offline_without_a_cache_says_what_is_missing() {
    let room = Room::new();
    let mut command = room.command();
    command
        .args(["provision", "--dsh", "0.2.1", "--offline", "--cache"])
        .arg(room.path("tmp/cache"));
    refused(&room, &mut command, 2, &["0.2.1", "hint: "]);
}

#[test]
fn a_mistake_in_a_scenario_is_shown_at_its_place() {
    let room = Room::new();
    let file = room.path("tmp/bad.toml");
    std::fs::write(&file, "format = 1\ntitle = 't'\nwhy = 'w'\n[[step]]\ngate = { until = 'declard', within = '1s' }\n")
        .unwrap();
    let mut command = room.command();
    command.arg("check").arg(&file);
    refused(
        &room,
        &mut command,
        2,
        &["unknown variant `declard`", "declared", "bad.toml:5:"],
    );
}

#[test]
fn nothing_to_judge_is_no_success() {
    let room = Room::new();
    let mut command = room.command();
    command.arg("judge").arg(room.path("tmp"));
    refused(&room, &mut command, 4, &["there is no evidence"]);
}
