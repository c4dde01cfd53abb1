//! `--dsh installed`: each place of the plugin's readme, and what is said when there is none, several or another one.

use std::path::Path;

use crate::room::{Room, said};

/// Puts a package of dsh there, whose program is a script.
fn install(modules: &Path, version: &str) {
    let package = modules.join("@deepseek-ai/dsh");
    std::fs::create_dir_all(&package).unwrap();
    let manifest = format!(r#"{{"version": "{version}", "bin": {{"dsh": "bin.js"}}}}"#);
    std::fs::write(package.join("package.json"), manifest).unwrap();
    std::fs::write(package.join("bin.js"), "#!/bin/sh\n").unwrap();
}

#[track_caller]
fn refused(command: &mut std::process::Command, words: &[&str]) {
    let said = said(command);
    assert_eq!(said.code, Some(2), "{said}");
    for word in words {
        assert!(said.err.contains(word), "`{word}` is not said:\n{said}");
    }
}

#[test]
fn nowhere_names_every_place_that_was_looked_at() {
    let room = Room::new();
    let places = [
        room.path("home/.dsh/profiles/node_modules/@deepseek-ai/dsh"),
        room.path("home/.npm/_npx/*/node_modules/@deepseek-ai/dsh"),
    ];
    let places = places.map(|place| place.display().to_string());
    refused(
        &mut room.run(["--dsh", "installed"]),
        &[&places[0], &places[1], "hint: set DSH_BIN"],
    );
}

#[test]
fn several_in_the_cache_of_npx_are_all_named_and_none_is_chosen() {
    let room = Room::new();
    for key in ["a1", "b2"] {
        install(
            &room.path("home/.npm/_npx").join(key).join("node_modules"),
            "0.1.0-rc.8",
        );
    }
    refused(
        &mut room.run(["--dsh", "installed"]),
        &[
            "2 installs",
            "_npx/a1/",
            "_npx/b2/",
            "hint: set DSH_BIN to the one that is meant",
        ],
    );
    // The profile tree comes before.
    install(&room.path("home/.dsh/profiles/node_modules"), "7.7.7");
    refused(
        &mut room.run(["--dsh", "installed"]),
        &[
            "dsh 7.7.7 is no pinned build",
            "--contract note, located or rfc",
        ],
    );
}

#[test]
fn a_variable_that_names_nothing_or_another_one_is_refused() {
    let room = Room::new();
    let nowhere = room.path("home/no-dsh");
    refused(
        room.run([""; 0]).env("DSH_BIN", &nowhere),
        &["DSH_BIN names", "no such file"],
    );
    refused(
        room.run(["--dsh", "0.2.1"]).env("DSH_BIN", &nowhere),
        &[
            "--dsh names 0.2.1, and DSH_BIN names",
            "hint: unset DSH_BIN",
        ],
    );
}

#[test]
fn the_list_shows_what_is_installed_and_where() {
    let room = Room::new();
    let list = |room: &Room| said(room.command().args(["list", "--builds"]));
    let none = list(&room);
    assert!(
        none.out.contains("installed: no installed dsh was found"),
        "{none}"
    );
    install(&room.path("home/.npm/_npx/a1/node_modules"), "0.1.0-rc.8");
    let one = list(&room);
    let line = "installed: version 0.1.0-rc.8, in the npx cache ";
    assert!(one.out.contains(line), "{one}");
    assert!(
        one.out
            .starts_with("0.2.1: version 0.2.1-rc.2, revision note\n"),
        "{one}"
    );
}

#[test]
fn a_dsh_that_the_variable_names_is_driven_like_the_pinned_build_of_its_version() {
    let room = Room::new();
    let first = said(&mut room.run(["--only", "agent/text", "--controls", "none"]));
    assert_eq!(first.code, Some(0), "{first}");
    let line = first
        .err
        .lines()
        .find(|line| line.starts_with("    /"))
        .unwrap();
    let mut command = room.run(["--only", "agent/text", "--controls", "none"]);
    let said = said(command.env("DSH_BIN", line.trim()));
    assert_eq!(said.code, Some(0), "{said}");
    assert!(said.out.contains("dsh 0.2.1\n PASS text\n"), "{said}");
}
