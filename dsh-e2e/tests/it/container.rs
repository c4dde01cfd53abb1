//! `container/e2e` with a stand-in for the engine: what it builds and what it starts.

use std::process::{Command, Stdio};

use crate::room::{Room, said};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../container/e2e");

/// A program that writes its words down, one call a line.
fn stand_in(room: &Room, name: &str) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = room.path("tmp").join(name);
    let calls = room.path("tmp/calls");
    let text = format!(
        "#!/bin/sh\necho {name} \"$@\" >>'{}'\nexit ${{CODE:-0}}\n",
        calls.display()
    );
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn script(room: &Room) -> Command {
    let mut command = Command::new(SCRIPT);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("TMPDIR", room.path("tmp"))
        .env("CONTAINER_ENGINE", stand_in(room, "engine"))
        .env("DSH_E2E", stand_in(room, "suite"))
        .current_dir(room.path("out"))
        .stdin(Stdio::null());
    command
}

#[test]
fn the_engine_builds_and_runs_with_the_plumb_and_the_words_of_the_run() {
    let room = Room::new();
    let plumb = stand_in(&room, "plumb");
    let done = said(
        script(&room)
            .arg("--plumb")
            .arg(&plumb)
            .args(["--mode", "reconnect"]),
    );
    assert_eq!(done.code, Some(0), "{done}");
    let calls = std::fs::read_to_string(room.path("tmp/calls")).unwrap();
    let calls: Vec<&str> = calls.lines().collect();
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert!(
        calls[0].starts_with("suite provision --cache "),
        "{calls:?}"
    );
    assert!(calls[1].contains("--build-arg BASE="), "{calls:?}");
    assert!(
        calls[2].starts_with("engine run --init --rm --network none "),
        "{calls:?}"
    );
    assert!(
        calls[2].contains(&format!("--volume {}:/plumb/plumb:ro ", plumb.display())),
        "{calls:?}"
    );
    assert!(calls[2].ends_with(" dsh-e2e --mode reconnect"), "{calls:?}");
}

#[test]
fn without_a_plumb_it_says_how_it_is_called() {
    let room = Room::new();
    let done = said(script(&room).args(["--plumb", "/nowhere/plumb"]));
    assert_eq!(done.code, Some(2), "{done}");
    assert!(done.err.contains("container/e2e --plumb BIN"), "{done}");
}

#[test]
fn how_the_container_ends_is_how_it_ends_and_its_files_are_gone() {
    let room = Room::new();
    let plumb = stand_in(&room, "plumb");
    let done = said(script(&room).env("CODE", "4").arg("--plumb").arg(&plumb));
    assert_eq!(done.code, Some(4), "{done}");
    let left = std::fs::read_dir(room.path("tmp")).unwrap().flatten();
    let left: Vec<_> = left.filter(|entry| entry.path().is_dir()).collect();
    assert!(left.is_empty(), "{left:?}");
}
