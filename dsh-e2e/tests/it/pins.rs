//! The bash tool as each pinned build sends it is the reviewed one, byte for byte.
//!
//! The reviewed file is the pin itself: `agents/dsh/<build>/bash-tool.snap.json`, which the judge compares with every
//! request. After a change of build, `INSTA_UPDATE=always cargo test -p dsh-e2e --test it pins` writes it anew, and the
//! difference is read before it is committed.

use std::path::Path;
use std::process::Command;

use harness::evidence::Evidence;
use harness::judge::pretty;

/// Variables of the caller that would choose another subject.
const STEERING: [&str; 2] = ["DSH_BIN", "PLUMB_BIN"];

/// The bash tool in the first request of a run of `env/bash`, as it is pinned.
fn sent_by(build: &str) -> String {
    let out = tempfile::tempdir().unwrap();
    let mut run = Command::new(env!("CARGO_BIN_EXE_dsh-e2e"));
    run.args(["run", "--dsh", build, "--only", "env/bash"])
        .args(["--controls", "none", "--out"])
        .arg(out.path());
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("E2E_") || STEERING.contains(&text.as_ref()) {
            run.env_remove(&name);
        }
    }
    // Its verdict does not matter here: with a stale pin it has to be red.
    let told = run.output().unwrap();
    let evidence = Evidence::read(&out.path().join("latest").join(build).join("env/bash"));
    let requests = evidence
        .map(|evidence| evidence.requests_of(Some("main")))
        .unwrap_or_default();
    let tool = requests.first().and_then(|request| request.tool("bash"));
    let Some(tool) = tool else {
        panic!(
            "{build} offered no bash tool:\n{}{}",
            String::from_utf8_lossy(&told.stdout),
            String::from_utf8_lossy(&told.stderr)
        );
    };
    pretty(tool)
}

/// Compares what the build sends with its pin.
#[track_caller]
fn check(build: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/dsh");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder.join(build));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_description("The bash tool, keys in the order sent");
    settings.bind(|| insta::assert_binary_snapshot!("bash-tool.json", sent_by(build).into_bytes()));
}

#[test]
fn the_bash_tool_of_0_2_1_is_the_reviewed_one() {
    check("0.2.1");
}

#[test]
fn the_bash_tool_of_rc8_is_the_reviewed_one() {
    check("rc8");
}
