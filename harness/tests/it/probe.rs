//! The commands inside bash.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    process::{Command, Stdio},
};

use harness::probe::{
    effect::Effect,
    surroundings::{Bytes, Surroundings},
};

use crate::bench::verbs;

#[test]
fn a_probe_tells_every_entry_of_its_first_environment() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("probe.json");
    // `env` in between sets a name with an empty value; the lone byte is no UTF-8.
    let status = Command::new("/usr/bin/env")
        .args(["-i", "DSH_SESSION_ID=", "dsh_shell=x\ny"])
        .arg(OsStr::from_bytes(b"ODD=\xff"))
        .args([verbs().as_os_str(), OsStr::new("probe"), to.as_os_str()])
        .current_dir(dir.path())
        .status()
        .unwrap();
    assert!(status.success());

    let seen: Surroundings = serde_json::from_slice(&std::fs::read(&to).unwrap()).unwrap();

    let mut environ = seen.environ;
    environ.sort();
    let text = |text: &str| Bytes::Text(text.into());
    assert_eq!(
        environ,
        [
            text("DSH_SESSION_ID="),
            text("dsh_shell=x\ny"),
            Bytes::Base64("T0REPf8=".into())
        ]
    );
    assert_eq!(
        (seen.std_environ, seen.cwd),
        (None, Bytes::new(dir.path().as_os_str().as_bytes()))
    );
    assert_eq!(seen.parents[0].process.pid, std::process::id());
    assert_eq!(seen.argv[1], text("probe"));
    assert_eq!(
        std::fs::read_dir(dir.path()).unwrap().count(),
        1,
        "nothing is left beside it"
    );
}

#[test]
fn a_hold_lasts_until_the_file_appears() {
    let dir = tempfile::tempdir().unwrap();
    let (ready, until) = (dir.path().join("ready"), dir.path().join("until"));
    let mut held = Command::new(verbs())
        .arg("hold")
        .args([&ready, &until])
        .arg("20000")
        .spawn()
        .unwrap();
    while !ready.exists() {
        assert!(
            held.try_wait().unwrap().is_none(),
            "it ended before it was ready"
        );
    }
    assert_eq!(
        std::fs::read_to_string(&ready).unwrap(),
        format!("{}\n", held.id())
    );
    assert!(held.try_wait().unwrap().is_none());

    std::fs::write(dir.path().join("other"), "").unwrap();
    assert!(held.try_wait().unwrap().is_none());
    std::fs::write(&until, "").unwrap();

    assert_eq!(held.wait().unwrap().code(), Some(0));
}

#[test]
fn a_hold_that_was_opened_before_it_began_does_not_wait() {
    let dir = tempfile::tempdir().unwrap();
    let (ready, until) = (dir.path().join("ready"), dir.path().join("until"));
    std::fs::write(&until, "").unwrap();

    let status = Command::new(verbs())
        .arg("hold")
        .args([&ready, &until])
        .arg("20000")
        .status()
        .unwrap();

    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_forgotten_hold_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let (ready, until) = (dir.path().join("ready"), dir.path().join("until"));

    let status = Command::new(verbs())
        .arg("hold")
        .args([&ready, &until])
        .arg("30")
        .status()
        .unwrap();

    assert_eq!(status.code(), Some(3));
}

#[test]
fn effects_at_once_are_all_counted() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("effects.jsonl");
    let effect = || {
        Command::new(verbs())
            .arg("effect")
            .arg(&to)
            .arg("red kite")
            .stdin(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut pids = Vec::new();
    for mut child in (0..8).map(|_| effect()).collect::<Vec<_>>() {
        pids.push(child.id());
        assert!(child.wait().unwrap().success());
    }

    let text = std::fs::read_to_string(&to).unwrap();
    let effects: Vec<Effect> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();

    let mut told: Vec<u32> = effects.iter().map(|effect| effect.pid).collect();
    told.sort_unstable();
    pids.sort_unstable();
    assert_eq!(told, pids);
    assert!(
        effects
            .iter()
            .all(|effect| effect.n == "red kite" && effect.t.0 > 0)
    );
}
