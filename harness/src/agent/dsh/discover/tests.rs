//! The order of the search, on file systems that are folders.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;

/// A machine: files with their content, and an environment.
struct Machine {
    root: TempDir,
    surroundings: Surroundings,
}

impl Machine {
    fn with(env: &[(&str, &str)], files: &[(&str, &str)]) -> Self {
        let root = TempDir::new().unwrap();
        for (path, content) in files {
            let place = root.path().join(path.trim_start_matches('/'));
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, content).unwrap();
        }
        let env: BTreeMap<_, _> = env
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        let mut surroundings = Surroundings::of_this_machine(env);
        surroundings.root = root.path().into();
        Self { root, surroundings }
    }

    fn place(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn discover(&self) -> Result<Found, String> {
        discover(&self.surroundings)
            .map_err(|error| self.without_root(&format!("{error}\nhint: {}", error.hint())))
    }

    fn without_root(&self, text: &str) -> String {
        text.replace(&self.root.path().to_string_lossy().into_owned(), "[ROOT]")
    }
}

const PACKAGE_JSON: &str = r#"{ "version": "0.1.0-rc.8", "bin": { "dsh": "lib/bin.js" } }"#;
const IN_HOME: &str = "/home/me/.dsh/profiles/node_modules/@deepseek-ai/dsh";
const IN_NPX: &str = "/home/me/.npm/_npx/aaa/node_modules/@deepseek-ai/dsh";
const IN_NPX_TOO: &str = "/home/me/.npm/_npx/bbb/node_modules/@deepseek-ai/dsh";

fn packages(folders: &[&'static str]) -> Vec<(String, &'static str)> {
    folders
        .iter()
        .flat_map(|folder| {
            [
                (format!("{folder}/package.json"), PACKAGE_JSON),
                (format!("{folder}/lib/bin.js"), ""),
            ]
        })
        .collect()
}

fn machine(env: &[(&str, &str)], folders: &[&'static str]) -> Machine {
    let files = packages(folders);
    let files: Vec<_> = files
        .iter()
        .map(|(path, content)| (path.as_str(), *content))
        .collect();
    Machine::with(env, &files)
}

#[track_caller]
fn check(machine: &Machine, executable: &str, origin: Origin) {
    let found = machine.discover().unwrap();
    assert_eq!(
        (found.executable, found.origin),
        (machine.place(executable), origin)
    );
}

#[test]
fn dsh_bin_comes_before_everything() {
    let mut files = packages(&[IN_HOME, IN_NPX]);
    files.push(("/opt/dsh".into(), ""));
    let files: Vec<_> = files
        .iter()
        .map(|(path, content)| (path.as_str(), *content))
        .collect();
    let machine = Machine::with(&[("HOME", "/home/me"), ("DSH_BIN", "/opt/dsh")], &files);
    check(&machine, "opt/dsh", Origin::DshBin);
}

#[test]
fn a_dsh_bin_that_does_not_exist_is_an_error_though_others_do() {
    let machine = machine(
        &[("HOME", "/home/me"), ("DSH_BIN", "/opt/dsh")],
        &[IN_HOME, IN_NPX],
    );
    insta::assert_snapshot!(machine.discover().unwrap_err(), @r"
    DSH_BIN names /opt/dsh, and there is no such file
    hint: name the executable of a dsh, or a pinned build: --dsh BUILD
    ");
}

#[test]
fn an_empty_dsh_bin_counts_as_unset() {
    let machine = machine(&[("HOME", "/home/me"), ("DSH_BIN", "")], &[IN_HOME]);
    check(
        &machine,
        "home/me/.dsh/profiles/node_modules/@deepseek-ai/dsh/lib/bin.js",
        Origin::ProfileTree,
    );
}

#[test]
fn the_profile_tree_comes_before_the_npx_cache_and_its_version_is_read() {
    let machine = machine(&[("HOME", "/home/me")], &[IN_HOME, IN_NPX]);
    check(
        &machine,
        "home/me/.dsh/profiles/node_modules/@deepseek-ai/dsh/lib/bin.js",
        Origin::ProfileTree,
    );
    assert_eq!(
        machine.discover().unwrap().version.as_deref(),
        Some("0.1.0-rc.8")
    );
}

#[test]
fn dsh_home_moves_the_profile_tree() {
    let machine = machine(
        &[("HOME", "/home/me"), ("DSH_HOME", "/data/dsh")],
        &[IN_HOME, "/data/dsh/profiles/node_modules/@deepseek-ai/dsh"],
    );
    check(
        &machine,
        "data/dsh/profiles/node_modules/@deepseek-ai/dsh/lib/bin.js",
        Origin::ProfileTree,
    );
}

#[test]
fn a_tilde_in_dsh_home_is_the_account_home() {
    let machine = machine(&[("HOME", "/home/me"), ("DSH_HOME", "~/.dsh")], &[IN_HOME]);
    check(
        &machine,
        "home/me/.dsh/profiles/node_modules/@deepseek-ai/dsh/lib/bin.js",
        Origin::ProfileTree,
    );
}

#[test]
fn npm_config_cache_moves_the_npx_cache() {
    let machine = machine(
        &[("HOME", "/home/me"), ("npm_config_cache", "/data/npm")],
        &[IN_NPX, "/data/npm/_npx/ccc/node_modules/@deepseek-ai/dsh"],
    );
    check(
        &machine,
        "data/npm/_npx/ccc/node_modules/@deepseek-ai/dsh/lib/bin.js",
        Origin::Npx,
    );
}

#[test]
fn several_in_the_npx_cache_are_listed_and_none_is_taken() {
    let machine = machine(&[("HOME", "/home/me")], &[IN_NPX, IN_NPX_TOO]);
    insta::assert_snapshot!(machine.discover().unwrap_err(), @r"
    the npx cache holds 2 installs of dsh:
      [ROOT]/home/me/.npm/_npx/aaa/node_modules/@deepseek-ai/dsh/lib/bin.js
      [ROOT]/home/me/.npm/_npx/bbb/node_modules/@deepseek-ai/dsh/lib/bin.js
    hint: set DSH_BIN to the one that is meant
    ");
}

#[test]
fn other_packages_in_the_npx_cache_do_not_count() {
    let mut files = packages(&[IN_NPX]);
    files.push((
        "/home/me/.npm/_npx/zzz/node_modules/other/package.json".into(),
        "{}",
    ));
    let files: Vec<_> = files
        .iter()
        .map(|(path, content)| (path.as_str(), *content))
        .collect();
    let machine = Machine::with(&[("HOME", "/home/me")], &files);
    check(
        &machine,
        "home/me/.npm/_npx/aaa/node_modules/@deepseek-ai/dsh/lib/bin.js",
        Origin::Npx,
    );
}

#[test]
fn none_anywhere_is_an_error_that_names_every_place() {
    let machine = machine(&[("HOME", "/home/me")], &[]);
    insta::assert_snapshot!(machine.discover().unwrap_err(), @r"
    no installed dsh was found; looked in:
      /home/me/.dsh/profiles/node_modules/@deepseek-ai/dsh
      /home/me/.npm/_npx/*/node_modules/@deepseek-ai/dsh
    hint: set DSH_BIN to a dsh, or name a pinned build: --dsh BUILD
    ");
}

#[test]
fn a_package_whose_program_is_gone_is_an_error_and_not_passed_over() {
    let path = format!("{IN_HOME}/package.json");
    let machine = Machine::with(&[("HOME", "/home/me")], &[(&path, PACKAGE_JSON)]);
    insta::assert_snapshot!(machine.discover().unwrap_err(), @r"
    [ROOT]/home/me/.dsh/profiles/node_modules/@deepseek-ai/dsh/package.json is not the package of a dsh that can be started: its program `lib/bin.js` is not there
    hint: install that dsh again, or set DSH_BIN to another
    ");
}

#[test]
fn a_path_that_was_given_must_be_a_file() {
    let machine = Machine::with(&[], &[("/opt/dsh", "")]);
    let given = |path: &str| at_path(&machine.surroundings, Path::new(path).into());
    assert_eq!(given("/opt/dsh").unwrap().origin, Origin::Path);
    assert_eq!(
        given("/opt").unwrap_err(),
        DiscoverError::NoSuchFile {
            named_by: "--dsh",
            path: "/opt".into()
        }
    );
}
