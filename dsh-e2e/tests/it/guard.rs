//! Refusals before a run, end to end: exit 2, the reason, what to do, and nothing created.

use std::path::Path;

use crate::world::World;

const CI: (&str, &str) = ("GITHUB_ACTIONS", "true");

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_real_plumb_is_used_only_where_a_sign_says_that_the_machine_is_separate() {
    let world = World::new();
    let plumb = world.stand_in();
    world.forget("namespace --help");
    let is_container = harness::host::CONTAINER_MARKERS
        .iter()
        .any(|marker| Path::new(marker).exists());
    if is_container {
        // Here the marker admits it; what refuses is the next question.
        world.refused(
            &["run", "--plumb", text(&plumb)],
            &[],
            "a build without namespaces",
        );
    } else {
        let part = "neither GITHUB_ACTIONS=true (it is not set)";
        world.refused(&["run", "--plumb", text(&plumb)], &[], part);
        world.refused(
            &["run"],
            &[("PLUMB_BIN", text(&plumb)), ("PLUMB_NAMESPACE", "nst-1")],
            "which proves nothing",
        );
        assert_eq!(world.calls(), [""; 0], "the plumb was started");
    }
}

#[test]
fn an_unknown_isolation_and_two_plumbs_are_refused() {
    let world = World::new();
    let plumb = world.stand_in();
    world.refused(
        &["run"],
        &[("E2E_ISOLATION", "none")],
        "E2E_ISOLATION is `none`, which is no isolation",
    );
    world.refused(
        &["run", "--plumb", text(&plumb)],
        &[CI, ("PLUMB_BIN", "/bin/true")],
        "name two plumbs",
    );
    world.refused(
        &["run", "--plumb", "fake"],
        &[CI, ("PLUMB_BIN", text(&plumb))],
        "name two plumbs",
    );
    assert_eq!(world.calls(), [""; 0]);
}

#[test]
fn a_plumb_that_is_not_there_is_refused() {
    let world = World::new();
    world.refused(&["run", "--plumb", "real"], &[CI], "no `plumb` is on PATH");
    world.refused(
        &["run", "--plumb", "no/plumb"],
        &[CI],
        "--plumb: no program is there: ",
    );
    world.refused(
        &["run"],
        &[CI, ("PLUMB_BIN", "/no/plumb")],
        "PLUMB_BIN: no program is there: /no/plumb",
    );
    world.refused(&["run", "--plumb", "/"], &[CI], "no program is there: /");
}

#[test]
fn a_build_without_namespaces_an_older_daemon_and_no_daemon_are_told_apart() {
    let world = World::new();
    let plumb = world.stand_in();
    let args = ["run", "--plumb", text(&plumb)];
    world.fail(
        "namespace list --json",
        "✗ error\n ┊ control socket unavailable — is plumb\n ┊ daemon running?\n",
    );
    world.refused(&args, &[CI], "no plumb daemon answers: ");
    world.fail(
        "namespace list --json",
        "✗ error\n ┊ unknown command\n ┊ \"namespace-list\"\n",
    );
    world.refused(&args, &[CI], "an older build left it running: ");
    world.fail("namespace list --json", "permission denied\n");
    world.refused(&args, &[CI], "cannot list them: Code(1): permission denied");
    world.forget("namespace --help");
    world.refused(&args, &[CI], "a build without namespaces: ");
    world.answer("namespace --help", "Usage:\n  plumb [command]\n");
    world.refused(&args, &[CI], "a build without namespaces: ");
}

#[test]
fn a_plumb_is_told_the_accounts_own_places_and_nothing_else() {
    let world = World::new();
    let plumb = world.stand_in();
    world.fail("namespace list --json", "not running");
    let env = [
        CI,
        ("XDG_DATA_HOME", "/d"),
        ("PLUMB_NAMESPACE", "nst-1"),
        ("DEEPSEEK_API_KEY", "sk-1"),
    ];
    world.refused(
        &["run", "--plumb", text(&plumb)],
        &env,
        "no plumb daemon answers",
    );
    let told = std::fs::read_to_string(world.path("plumb/environment")).unwrap();
    let mut names: Vec<&str> = told
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    // The shell itself sets these.
    names.retain(|name| !matches!(*name, "PWD" | "OLDPWD" | "SHLVL" | "_"));
    assert_eq!(names, ["HOME", "PATH", "XDG_DATA_HOME"]);
}

#[test]
fn a_dry_run_prints_commands_and_paths_and_touches_nothing() {
    let world = World::new();
    let plumb = world.stand_in();
    for (args, part) in [
        (
            vec!["run", "--dry-run", "--only", "record"],
            "plumb: the built-in one",
        ),
        (
            vec![
                "run",
                "--dry-run",
                "--only",
                "record",
                "--plumb",
                text(&plumb),
            ],
            "named by --plumb; ",
        ),
    ] {
        let before = world.listing();
        let told = world.call(&args, &[CI]);
        assert_eq!(told.exit, Some(0), "{told}");
        assert!(told.out.contains(part), "{told}");
        for line in [
            "namespace create --ttl 30m --owner-pid <pid> --json\n",
            " namespace release --json (the token in PLUMB_NAMESPACE)\n",
            "/w/tmp/dse-<random>/s0/ and ",
            "/w/cwd/e2e-results/<time>-<pid>/0.2.1/plumb/record/ (plumb/record)\n",
            "/w/home/.cache/dsh-e2e/ (a build that is not there yet)\n",
        ] {
            assert!(told.out.contains(line), "no `{line}` in {told}");
        }
        assert_eq!(world.listing(), before);
    }
    assert_eq!(world.calls(), [""; 0]);
}

#[test]
fn a_dry_run_is_refused_where_the_run_would_be() {
    let world = World::new();
    world.refused(
        &["run", "--dry-run", "--plumb", "real"],
        &[CI],
        "no `plumb` is on PATH",
    );
}
