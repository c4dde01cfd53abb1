//! Daemon isolation: a plumb that is there, with a private home and a daemon for each scenario, which is shown gone.
//!
//! The fake is given by path under its own name, so that nothing here looks like an owner's daemon.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::room::{Room, Said, said};

/// Runs one scenario of real dsh in daemon isolation.
fn isolated(room: &Room, plumb: &Path, jobs: &[&str]) -> Said {
    said(
        room.run(["--mode", "record", "--controls", "none", "--plumb"])
            .arg(plumb)
            .args(jobs)
            .env("PLUMB_SEPARATE_ENV", "vm")
            .env("E2E_ISOLATION", "daemon")
            // Where a session manager has left the account's own folders, plumb would go back to them.
            .env("TSM_ORIG_XDG_DATA_HOME", room.path("home/data")),
    )
}

/// The fake as a program of its own: its daemon is started from the file that is its executable.
fn fake(room: &Room) -> PathBuf {
    let program = room.path("fake-plumb");
    std::fs::copy(env!("CARGO_BIN_EXE_dsh-e2e"), &program).unwrap();
    program
}

#[test]
fn a_scenario_has_a_daemon_of_its_own_which_is_shown_gone() {
    let room = Room::new();
    let said = isolated(&room, &fake(&room), &["--jobs", "2"]);
    assert_eq!(said.code, Some(0), "{said}");
    assert!(said.err.contains("; isolation daemon"), "{said}");
    assert!(said.err.contains("1 at a time"), "{said}");
    let facts = std::fs::read_to_string(room.evidence("plumb/record/facts.json")).unwrap();
    let facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
    assert_eq!(facts["private_daemon"]["gone"], true, "{facts:#}");
    assert_eq!(facts["namespace"], serde_json::Value::Null);
    assert_eq!(std::fs::read_dir(room.path("r")).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(room.path("home")).unwrap().count(), 0);
    assert!(room.processes().is_empty(), "{:?}", room.processes());
}

#[test]
fn a_daemon_that_cannot_be_shown_gone_fails_its_scenario_and_its_home_stays() {
    let room = Room::new();
    let fake = fake(&room);
    std::fs::create_dir(room.path("odd")).unwrap();
    // Called as what it starts: `ps` would tell another name to be something else than a daemon of this plumb.
    let program = room.path("odd/fake-plumb");
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = serve ] && echo many > \"$HOME/other.pid\"\nexec {} \"$@\"\n",
        fake.display()
    );
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let said = isolated(&room, &program, &[]);
    assert_eq!(said.code, Some(1), "{said}");
    let line = " FAIL record: namespace [not-stopped] the private daemon is not over: ";
    assert!(said.out.contains(line), "{said}");
    assert!(said.out.contains("`many` is no PID"), "{said}");
    let kept = std::fs::read_dir(room.path("r")).unwrap().count();
    assert_eq!(kept, 1, "the run's root is kept");
}
