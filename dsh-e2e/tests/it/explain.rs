//! `explain` answers for every failure class and every scenario, and names the choices for anything else.

use assert_cmd::Command;

/// Standard output and error and the exit code of `explain WHAT`.
fn explain(what: &str) -> (String, String, Option<i32>) {
    let told = Command::new(env!("CARGO_BIN_EXE_dsh-e2e"))
        .args(["explain", what])
        .env_clear()
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(told.stdout), text(told.stderr), told.status.code())
}

#[test]
fn a_class_is_explained_by_its_code() {
    let (out, _, exit) = explain("no-boot");
    assert_eq!(exit, Some(0));
    assert!(out.starts_with("## no-boot\n"), "{out}");
}

#[test]
fn a_scenario_is_explained_by_its_id_and_by_its_stem() {
    let by_id = explain("plumb/record");
    assert_eq!(by_id.2, Some(0));
    assert!(by_id.0.starts_with("## plumb/record\n"), "{}", by_id.0);
    assert_eq!(explain("record"), by_id);
}

#[test]
fn anything_else_is_refused_with_the_choices() {
    let (out, err, exit) = explain("no-such-thing");
    assert_eq!((out.as_str(), exit), ("", Some(2)));
    assert!(err.contains("wrong-value"), "{err}");
}
