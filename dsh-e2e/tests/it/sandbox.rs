//! A run in a sandbox: the same verdicts, evidence outside, nothing else outside, and a census of plumb's daemons.
//! Where the kernel makes no namespaces for this user, that is what has to be said.

use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::room::{Room, Said, said, told, wait_for};

/// Whether this kernel makes such namespaces for this user.
pub(crate) fn is_possible() -> bool {
    let asked = Command::new("unshare")
        .args(["-Urpfmni", "--mount-proc", "--kill-child", "true"])
        .output();
    asked.is_ok_and(|answer| answer.status.success())
}

fn sandboxed(room: &Room, only: &str) -> Command {
    let scenarios = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/scenarios");
    let mut command = room.run(["--sandbox", "--only", only, "--controls", "none"]);
    if ["held", "two-daemons"].contains(&only) {
        command.args(["--scenarios", scenarios]);
    }
    command
}

/// Runs; nothing where it is not possible and has been refused for that.
fn run(room: &Room, only: &str) -> Option<Said> {
    let said = said(&mut sandboxed(room, only));
    if is_possible() {
        return Some(said);
    }
    assert_eq!(said.code, Some(2), "{said}");
    assert!(
        said.err.contains("no namespaces for this user") || said.err.contains("cannot be started"),
        "{said}"
    );
    None
}

#[test]
fn a_sandboxed_run_passes_and_leaves_its_evidence_and_nothing_else_outside() {
    let room = Room::new();
    let Some(said) = run(&room, "record") else {
        return;
    };
    assert_eq!(said.code, Some(0), "{said}");
    assert!(said.out.contains("\n PASS record\n"), "{said}");
    assert!(
        said.out.contains("1 daemons of 1 plumbs; 0 lived before"),
        "{said}"
    );
    assert!(room.evidence("plumb/record").join("verdict.json").exists());
    assert!(room.path("out/results/latest/census.json").exists());
    for empty in ["home", "tmp", "r"] {
        let left: Vec<_> = std::fs::read_dir(room.path(empty)).unwrap().collect();
        assert!(left.is_empty(), "{empty}: {left:?}");
    }
}

#[test]
fn a_second_daemon_turns_the_census_and_the_exit() {
    let room = Room::new();
    let Some(said) = run(&room, "two-daemons") else {
        return;
    };
    assert!(said.out.contains("\n PASS two-daemons\n"), "{said}");
    assert!(
        said.out.contains(" FAIL enclosure: several daemons of "),
        "{said}"
    );
    assert_eq!(said.code, Some(1), "{said}");
}

#[test]
fn a_run_that_is_to_be_signalled_ends_well_when_the_signal_ended_it_and_nothing_is_left() {
    for (signal, number) in [("TERM", 15), ("KILL", 9)] {
        let room = Room::new();
        let mut command = sandboxed(&room, "held");
        command
            .env("E2E_SIGNAL_RUNNER", signal)
            .env("E2E_SIGNAL_AFTER_MS", "3000");
        let said = said(&mut command);
        if !is_possible() {
            return;
        }
        assert_eq!(said.code, Some(0), "{said}");
        let line = format!("e2e: the run was sent signal {number}: Signalled({number})");
        assert!(said.out.contains(&line), "{said}");
        nothing_is_left(&room);
    }
}

#[test]
fn a_run_that_ended_before_its_signal_is_no_success() {
    let room = Room::new();
    let mut command = sandboxed(&room, "record");
    let said = said(
        command
            .env("E2E_SIGNAL_RUNNER", "TERM")
            .env("E2E_SIGNAL_AFTER_MS", "60000"),
    );
    if !is_possible() {
        return;
    }
    assert_eq!(said.code, Some(1), "{said}");
    assert!(
        said.out
            .contains("signal 15 was to end the run, and did not"),
        "{said}"
    );
}

/// Starts a sandboxed run that stands in a held command, and waits until it does; nothing where it is not possible.
fn held(room: &Room) -> Option<Child> {
    if !is_possible() {
        return None;
    }
    let mut command = sandboxed(room, "held");
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("the held command", || {
        let processes = room.processes();
        let is_held = processes
            .iter()
            .any(|argv| argv.contains("holds/here.ready"));
        is_held
            .then_some(())
            .ok_or_else(|| format!("{processes:#?}"))
    });
    Some(child)
}

#[track_caller]
fn nothing_is_left(room: &Room) {
    wait_for("the end of every process", || {
        let left = room.processes();
        left.is_empty()
            .then_some(())
            .ok_or_else(|| format!("{left:#?}"))
    });
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
}

#[test]
fn a_signal_from_outside_tears_down_inside() {
    let room = Room::new();
    let Some(child) = held(&room) else {
        return;
    };
    signal(&child, Signal::SIGTERM);
    let said = told(&child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(143), "{said}");
    assert!(said.out.contains("e2e: STOPPED: "), "{said}");
    nothing_is_left(&room);
}

#[test]
fn when_the_one_outside_is_killed_nothing_inside_is_left() {
    let room = Room::new();
    let Some(mut child) = held(&room) else {
        return;
    };
    signal(&child, Signal::SIGKILL);
    child.wait().unwrap();
    nothing_is_left(&room);
}
