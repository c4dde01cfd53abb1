//! The acceptance matrix with the built-in plumb given by path, as a real one: rows that pass, fail and are not run.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use crate::room::{Room, Said, said};
use crate::sandbox::is_possible;

/// A plumb of the given generation that takes a folder of the sandbox for its account's home.
fn plumb(room: &Room, generation: &str) -> PathBuf {
    let folder = room.path("tmp").join(generation);
    std::fs::create_dir_all(&folder).unwrap();
    // The shipped binary is the built-in plumb under that name.
    std::fs::copy(env!("CARGO_BIN_EXE_dsh-e2e"), folder.join("fake-plumb")).unwrap();
    let script = folder.join("plumb");
    let text = format!(
        "#!/bin/sh\nhere=$(dirname \"$0\")\nexport FAKE_PLUMB_AS={generation} FAKE_PLUMB_ACCOUNT_HOME=\"$here/../account\"\n\
         exec \"$here/fake-plumb\" \"$@\"\n"
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    script
}

/// Runs rows in sandboxes on a machine that says that it may.
fn rows(room: &Room, names: &[&str]) -> Said {
    let mut command: Command = room.run([""; 0]);
    let cache = command.get_args().nth(2).unwrap().to_owned();
    command = room.command();
    command
        .args(["matrix", "--in", "sandbox", "--plumb"])
        .arg(plumb(room, "0.25"));
    command.arg("--plumb-old").arg(plumb(room, "0.17"));
    command
        .arg("--cache")
        .arg(cache)
        .arg("--out")
        .arg(room.path("out/matrix"));
    for name in names {
        command.args(["--row", name]);
    }
    said(command.env("PLUMB_SEPARATE_ENV", "vm"))
}

fn row(room: &Room, name: &str) -> serde_json::Value {
    let file = room.path("out/matrix/latest").join(name).join("row.json");
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn a_timeout_a_refusal_and_a_signal_pass_and_each_leaves_its_account() {
    let room = Room::new();
    let said = rows(&room, &["timeout", "kill", "old-plumb"]);
    if !is_possible() {
        assert_eq!(said.code, Some(1), "{said}");
        return;
    }
    assert_eq!(said.code, Some(0), "{said}");
    assert!(
        said.out.ends_with(&format!(
            "evidence: {}\n",
            room.path("out/matrix/latest")
                .canonicalize()
                .unwrap()
                .display()
        )),
        "{said}"
    );
    for name in ["timeout", "kill", "old-plumb"] {
        assert!(said.out.contains(&format!(" PASS {name} (")), "{said}");
        assert_eq!(row(&room, name)["standing"], "passed");
    }
}

#[test]
fn a_row_that_could_not_run_is_not_run_and_no_success() {
    let room = Room::new();
    let said = rows(&room, &["daemon-term"]);
    assert_eq!(said.code, Some(1), "{said}");
    assert!(
        said.out.starts_with(" NOT RUN daemon-term: error: "),
        "{said}"
    );
    assert!(row(&room, "daemon-term")["standing"]["not-run"].is_string());
}

#[test]
fn the_plan_starts_nothing_and_an_unknown_row_or_the_owners_opt_in_is_refused() {
    let room = Room::new();
    let plan = said(room.command().args(["matrix", "--plan"]));
    assert_eq!(plan.code, Some(0), "{plan}");
    assert!(plan.out.contains("term: TERM to the runner"), "{plan}");
    assert!(plan.err.contains("old-plumb is left out"), "{plan}");
    let unknown = said(
        room.command()
            .args(["matrix", "--plumb", "x", "--row", "no-such"]),
    );
    assert_eq!(unknown.code, Some(2), "{unknown}");
    assert!(unknown.err.contains("no row `no-such`"), "{unknown}");
    let owner = said(
        room.command()
            .args(["matrix", "--plumb", "x"])
            .env("DSH_E2E_HOST_DAEMON", "48103"),
    );
    assert_eq!(owner.code, Some(2), "{owner}");
    assert!(
        owner.err.contains("never runs at the owner's own daemon"),
        "{owner}"
    );
    let left: Vec<_> = std::fs::read_dir(room.path("out")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
