//! However a run ends, nothing of it is left.

use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::room::{Room, find, told, wait_for};

/// Starts a run whose only scenario stands in a held bash call, and waits until it does.
fn held(room: &Room) -> Child {
    let scenarios = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/scenarios");
    let mut command = room.run([
        "--only",
        "held",
        "--controls",
        "none",
        "--scenarios",
        scenarios,
    ]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    wait_for("the held command", || {
        find(&room.path("r"), "holds/here.ready")
    });
    assert!(
        room.processes().len() >= 5,
        "a run has warden, supervisor, dsh, serve and daemon: {:?}",
        room.processes()
    );
    child
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).expect("a pid fits"))
}

#[track_caller]
fn nothing_is_left(room: &Room) {
    wait_for("the end of every process", || {
        let left = room.processes();
        if left.is_empty() {
            Ok(())
        } else {
            Err(format!("{left:#?}"))
        }
    });
}

#[test]
fn a_killed_runner_leaves_no_process() {
    let room = Room::new();
    let mut child = held(&room);
    kill(pid(&child), Signal::SIGKILL).unwrap();
    child.wait().unwrap();
    nothing_is_left(&room);
}

#[test]
fn a_killed_warden_leaves_no_process() {
    let room = Room::new();
    let mut child = held(&room);
    let warden = child_of(child.id(), "warden");
    kill(warden, Signal::SIGKILL).unwrap();
    let _ended = child.wait().unwrap();
    nothing_is_left(&room);
}

#[test]
fn a_terminated_runner_tears_down_and_says_so() {
    let room = Room::new();
    let child = held(&room);
    kill(pid(&child), Signal::SIGTERM).unwrap();
    let said = told(&child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(143), "{said}");
    assert!(said.out.contains("e2e: STOPPED: "), "{said}");
    nothing_is_left(&room);
    let left: Vec<_> = std::fs::read_dir(room.path("r")).unwrap().collect();
    assert!(left.is_empty(), "the run's root stays: {left:?}");
}

#[test]
fn a_killed_dsh_fails_its_scenario_and_its_namespace_is_released() {
    let room = Room::new();
    let child = held(&room);
    let dsh = dsh_of(&room);
    kill(dsh, Signal::SIGKILL).unwrap();
    let said = told(&child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(1), "{said}");
    assert!(said.out.contains("`main` was ended by signal 9"), "{said}");
    let facts = std::fs::read_to_string(room.evidence("probe/held").join("facts.json")).unwrap();
    let facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
    assert_eq!(facts["namespace"]["revoked"], true, "{facts:#}");
    assert_eq!(facts["empty"], true, "{facts:#}");
    nothing_is_left(&room);
}

/// The child of a process whose first argument is this verb.
fn child_of(parent: u32, verb: &str) -> Pid {
    let parent = i32::try_from(parent).expect("a pid fits");
    wait_for("a child by its verb", || {
        procfs::process::all_processes()
            .map_err(|error| error.to_string())?
            .flatten()
            .find(|process| {
                process.stat().is_ok_and(|stat| stat.ppid == parent)
                    && process
                        .cmdline()
                        .is_ok_and(|argv| argv.get(1).is_some_and(|word| word == verb))
            })
            .map(|process| Pid::from_raw(process.pid()))
            .ok_or_else(|| format!("{parent} has no child {verb}"))
    })
}

/// The process of dsh: the one that was given the profile.
fn dsh_of(room: &Room) -> Pid {
    let own_root = room.path("r");
    procfs::process::all_processes()
        .expect("/proc can be read")
        .flatten()
        .find(|process| {
            process.cwd().is_ok_and(|cwd| cwd.starts_with(&own_root))
                && process
                    .cmdline()
                    .is_ok_and(|argv| argv.get(1).is_some_and(|word| word == "--profile"))
        })
        .map(|process| Pid::from_raw(process.pid()))
        .expect("dsh runs")
}

#[test]
fn a_decoy_that_looks_like_plumbs_daemon_lives_through_a_run() {
    let room = Room::new();
    let decoy = room.path("tmp/plumb");
    std::fs::copy("/bin/sleep", &decoy).unwrap();
    let mut command = Command::new(&decoy);
    let mut decoy = command.arg("600").spawn().unwrap();
    let before = procfs::process::Process::new(i32::try_from(decoy.id()).unwrap())
        .unwrap()
        .stat()
        .unwrap()
        .starttime;
    let mut child = held(&room);
    kill(pid(&child), Signal::SIGKILL).unwrap();
    child.wait().unwrap();
    wait_for("the end of every other process", || {
        let left = room.processes();
        if left.len() <= 1 {
            Ok(())
        } else {
            Err(format!("{left:#?}"))
        }
    });
    let after = procfs::process::Process::new(i32::try_from(decoy.id()).unwrap())
        .unwrap()
        .stat()
        .unwrap();
    assert_eq!((after.starttime, after.state), (before, 'S'));
    decoy.kill().unwrap();
    decoy.wait().unwrap();
}
