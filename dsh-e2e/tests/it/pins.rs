//! The bash tool as each pinned build sends it is the reviewed one, byte for byte.
//!
//! The reviewed file is the pin itself: `agents/dsh/<build>/bash-tool.snap.json`, which the judge compares with every
//! request. After a change of build, `INSTA_UPDATE=always cargo test -p dsh-e2e --test it pins` writes it anew, and the
//! difference is read before it is committed.

use std::path::Path;

use harness::evidence::Evidence;
use harness::judge::pretty;

use crate::room::{Room, said};

/// The bash tool in the first request of a run of `env/bash`, as it is pinned.
fn sent_by(build: &str) -> String {
    let room = Room::new();
    // Its verdict does not matter here: with a stale pin it has to be red.
    let said = said(&mut room.run(["--dsh", build, "--only", "env/bash", "--controls", "none"]));
    let folder = room.path("out/results/latest").join(build).join("env/bash");
    Evidence::read(&folder)
        .ok()
        .and_then(|evidence| evidence.requests("main").first()?.tool("bash").map(pretty))
        .unwrap_or_else(|| panic!("{build} offered no bash tool: {said}"))
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
