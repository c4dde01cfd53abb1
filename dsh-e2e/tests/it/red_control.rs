//! A run that has to fail: the seed's three commands as written but for the program's name, and what never counts as red.

use crate::room::{Room, said};

#[track_caller]
fn fails_as_it_has_to(variable: &str, mode: &str, symptom: &str) {
    let room = Room::new();
    let said = said(
        room.run(["--mode", mode])
            .env(variable, "0")
            .env("E2E_EXPECT", "fail")
            .env("E2E_EXPECT_FAIL_MATCH", format!("^ FAIL {mode}: ")),
    );
    assert_eq!(said.code, Some(0), "{said}");
    let line = said.out.lines().find(|line| line.contains("as it had to"));
    assert!(line.is_some_and(|line| line.contains(symptom)), "{said}");
    // Controls of the scenario itself are not run beside.
    assert!(said.out.contains("1 scenarios and 0 controls"), "{said}");
}

#[test]
fn without_the_proof_reconnect_fails_by_a_stranded_note() {
    fails_as_it_has_to("E2E_RESUME_PROOF", "reconnect", "stranded on session");
}

#[test]
fn without_the_takeover_declared_id_fails_by_the_typed_linkage() {
    let symptom = "the model's own session_id typed-by-the-model became a declared linkage";
    fails_as_it_has_to("E2E_NORMALISE", "declared-id", symptom);
    fails_as_it_has_to("E2E_NORMALISE", "declared-id-fallback", symptom);
}

#[test]
fn a_run_that_passes_where_it_had_to_fail_exits_1() {
    let room = Room::new();
    let said = said(room.run(["--mode", "text-only"]).env("E2E_EXPECT", "fail"));
    assert_eq!(said.code, Some(1), "{said}");
    assert!(
        said.out
            .contains("had to fail by any scenario, and did not"),
        "{said}"
    );
}

#[test]
fn a_refusal_is_no_red_control() {
    let room = Room::new();
    let unknown = said(room.run(["--mode", "no-such"]).env("E2E_EXPECT", "fail"));
    assert_eq!(unknown.code, Some(2), "{unknown}");
    let value = said(room.run(["--mode", "reconnect"]).env("E2E_EXPECT", "red"));
    assert_eq!(value.code, Some(2), "{value}");
    assert!(value.err.contains("E2E_EXPECT=red is not known"), "{value}");
}
