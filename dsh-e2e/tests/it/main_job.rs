//! The main job: real dsh is driven, judged, and judged again from the evidence.

use crate::room::{Room, said};

#[test]
fn the_first_scenarios_pass_and_their_verdicts_are_had_again_byte_for_byte() {
    let room = Room::new();
    let run = said(&mut room.run(["--only", "text", "--only", "record", "--controls", "none"]));
    assert_eq!(run.code, Some(0), "{run}");
    for stem in ["text", "record"] {
        assert!(
            run.out.lines().any(|line| line == format!(" PASS {stem}")),
            "{run}"
        );
    }
    assert!(run.out.contains("everything is as expected"), "{run}");
    for id in ["agent/text", "plumb/record"] {
        let folder = room.evidence(id);
        let first = std::fs::read_to_string(folder.join("verdict.json")).unwrap();
        let again = said(
            room.command()
                .arg("judge")
                .arg(&folder)
                .args(["--format", "verdict"]),
        );
        assert_eq!(again.out, first, "{again}");
    }
    assert_eq!(room.processes().len(), 0, "{:?}", room.processes());
    let left: Vec<_> = std::fs::read_dir(room.path("r")).unwrap().collect();
    assert!(left.is_empty(), "the run's root stays: {left:?}");
}

#[test]
fn evidence_that_lost_a_fact_is_judged_red() {
    let room = Room::new();
    let run = said(&mut room.run(["--only", "record", "--controls", "none"]));
    assert_eq!(run.code, Some(0), "{run}");
    let folder = room.evidence("plumb/record");
    std::fs::remove_dir_all(folder.join("records")).unwrap();
    let again = said(room.command().arg("judge").arg(&folder));
    assert_eq!(again.code, Some(1), "{again}");
    assert!(
        again.out.starts_with(" FAIL record: namespace [missing]"),
        "{again}"
    );
}

#[test]
fn no_process_token_key_or_path_of_the_caller_is_in_the_evidence() {
    let room = Room::new();
    let mut command = room.run(["--only", "record", "--controls", "none"]);
    command
        .env("CALLERS_API_KEY", "planted-secret-of-the-caller")
        .env("DSH_CALLERS", "planted-dsh-of-the-caller");
    let run = said(&mut command);
    assert_eq!(run.code, Some(0), "{run}");
    let mut folders = vec![room.path("out/results")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                if !entry.path().is_symlink() {
                    folders.push(entry.path());
                }
                continue;
            }
            files += 1;
            let text = String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned();
            for secret in [
                "nst-",
                "planted-secret-of-the-caller",
                "planted-dsh-of-the-caller",
            ] {
                assert!(
                    !text.contains(secret),
                    "{secret} is in {}",
                    entry.path().display()
                );
            }
        }
    }
    assert!(
        files > 8,
        "only {files} files of evidence were looked through"
    );
}
