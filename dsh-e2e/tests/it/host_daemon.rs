//! The owner's opt-in to their own daemon, end to end. The owner's daemon is played by this test process, listed by a
//! stand-in for plumb, and once by the fake plumb's real daemon; a pinned build is never fetched, so that a run that is
//! accepted ends at the next refusal.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::world::{Told, World};

/// A world with a stand-in whose one daemon is this process, and the variables of an owner who names it.
struct Host {
    world: World,
    plumb: String,
    pid: String,
    _socket: UnixListener,
}

impl Host {
    fn new() -> Self {
        let world = World::new();
        let plumb = world.stand_in().display().to_string();
        let socket = UnixListener::bind(world.path("plumb/plumb.sock")).unwrap();
        let pid = std::process::id().to_string();
        let host = Self {
            world,
            plumb,
            pid,
            _socket: socket,
        };
        host.listed(
            &format!("{}  yes", host.pid),
            &format!("OK: daemon PID {} owns its socket", host.pid),
        );
        host
    }

    fn listed(&self, rows: &str, verdict: &str) {
        self.world.answer(
            "debug daemons",
            &format!("logo\n\nPID  AUTHORITY\n{rows}\n\n{verdict}\n"),
        );
    }

    /// The owner's variables with another PID.
    fn env<'a>(&'a self, pid: &'a str) -> Vec<(&'a str, &'a str)> {
        vec![("PLUMB_BIN", &self.plumb), ("DSH_E2E_HOST_DAEMON", pid)]
    }

    /// What an accepted run says before it is refused for the build that it may not fetch.
    #[track_caller]
    fn accepted(&self) -> Told {
        let told = self.world.call(
            &["run", "--offline", "--only", "record"],
            &self.env(&self.pid),
        );
        let line = format!(
            "e2e: a real plumb is used: the owner named daemon PID {} for this run; plumb binary {}, \
             plumb v0.26.0 (stand-in); isolation namespace\n",
            self.pid, self.plumb
        );
        assert!(told.err.contains(&line), "{told}");
        told
    }

    #[track_caller]
    fn refused(&self, part: &str) {
        self.world
            .refused(&["run", "--offline"], &self.env(&self.pid), part);
    }
}

#[test]
fn the_named_daemon_is_accepted_with_binary_and_version_and_the_opt_in_reaches_no_child() {
    let host = Host::new();
    let told = host.accepted();
    assert_eq!(told.exit, Some(2), "{told}");
    let environment = std::fs::read_to_string(host.world.path("plumb/environment")).unwrap();
    assert!(
        environment.contains("HOME="),
        "the witness: an environment was written"
    );
    assert!(
        !environment.contains("DSH_E2E_HOST_DAEMON") && !environment.contains("PLUMB_BIN"),
        "{environment}"
    );
}

#[test]
fn an_opt_in_that_is_no_plain_pid_is_refused_before_the_plumb_is_asked() {
    let host = Host::new();
    for value in ["048103", " 48103", "48103 ", "+1", "true", "0", ""] {
        host.world
            .refused(&["run"], &host.env(value), "no plain decimal PID");
    }
    assert_eq!(host.world.calls(), [""; 0]);
}

#[test]
fn what_may_not_stand_beside_the_opt_in_is_refused_before_the_plumb_is_asked() {
    let host = Host::new();
    let mut env = host.env(&host.pid);
    host.world
        .refused(&["run", "--repeat", "2"], &env, "the opt-in is for one run");
    host.world
        .refused(&["run", "--jobs", "4"], &env, "one scenario at a time");
    env.extend([("E2E_ISOLATION", "daemon"), ("GITHUB_ACTIONS", "true")]);
    host.world
        .refused(&["run"], &env, "which a host run never does");
    host.world.refused(
        &["run"],
        &[("DSH_E2E_HOST_DAEMON", &host.pid)],
        "the built-in plumb is used",
    );
    assert_eq!(host.world.calls(), [""; 0]);
}

#[test]
fn a_listing_that_does_not_bear_the_opt_in_out_is_refused() {
    let host = Host::new();
    let (row, ok) = (
        format!("{}  yes", host.pid),
        format!("OK: daemon PID {} owns its socket", host.pid),
    );
    host.listed("", "UNKNOWN: no daemon is running");
    host.refused("it lists 0 daemons, not exactly one");
    host.listed(&format!("{row}\n1  no"), "VIOLATION: 2 daemons are running");
    host.refused("it lists 2 daemons, not exactly one");
    host.listed("1  yes", "OK: daemon PID 1 owns its socket");
    host.refused("the daemon is PID 1, not PID ");
    host.listed(&row, &ok.replace("OK", "VIOLATION"));
    host.refused("its verdict is `VIOLATION: ");
    host.listed(&row, &ok.replace("OK", "UNKNOWN"));
    host.refused("its verdict is `UNKNOWN: ");
    host.listed(&row.replace("yes", "no"), &ok);
    host.refused("does not hold the launch authority: AUTHORITY is `no`");
    host.listed(&row, &ok.replace("owns its socket", "is alive"));
    host.refused("it is not said that daemon PID ");
    host.world.answer(
        "debug daemons",
        "Usage:\n  plumb debug [command]\n\nCommands:\n  heap  mem\n",
    );
    host.refused("a plumb that is too old prints its help");
    host.world.fail("debug daemons", "✗ error: boom\n");
    host.refused("`plumb debug daemons` ended with Code(1): ✗ error: boom");
}

#[test]
fn the_opt_in_needs_the_capability_probe_too() {
    let host = Host::new();
    host.world
        .fail("namespace list --json", "control socket unavailable");
    host.refused("no plumb daemon answers");
}

/// A daemon of the fake plumb, under an account of its own; killed at the end.
struct FakeDaemon {
    child: Child,
}

impl Drop for FakeDaemon {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Starts one and waits until it answers.
fn fake_daemon(world: &World, plumb: &Path) -> FakeDaemon {
    let fake = |words: &[&str]| {
        let mut command = Command::new(plumb);
        command
            .args(words)
            .env_clear()
            .env("HOME", world.path("account"))
            .stdin(Stdio::null());
        command
    };
    assert!(
        fake(&["service", "install"])
            .stdout(Stdio::null())
            .status()
            .unwrap()
            .success()
    );
    let child = fake(&["daemon"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let daemon = FakeDaemon { child };
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !fake(&["namespace", "list", "--json"])
        .output()
        .unwrap()
        .status
        .success()
    {
        assert!(
            std::time::Instant::now() < deadline,
            "the fake's daemon does not answer"
        );
    }
    daemon
}

/// The fake plumb by path, told where its account is by a wrapper, as a real one knows it by itself.
fn fake_by_path(world: &World) -> std::path::PathBuf {
    let at = world.path("fake");
    std::fs::create_dir_all(&at).unwrap();
    std::fs::create_dir_all(world.path("account")).unwrap();
    symlink(env!("CARGO_BIN_EXE_dsh-e2e"), at.join("fake-plumb")).unwrap();
    symlink(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stand-ins/fake-plumb"),
        at.join("plumb"),
    )
    .unwrap();
    at.join("plumb")
}

#[test]
fn the_fake_plumb_given_by_path_is_held_to_the_same_rules_as_a_real_one() {
    let world = World::new();
    let plumb = fake_by_path(&world);
    let plumb_text = plumb.display().to_string();
    let args = ["run", "--offline", "--plumb", plumb_text.as_str()];
    world.refused(
        &args,
        &[("GITHUB_ACTIONS", "true")],
        "no plumb daemon answers",
    );
    let daemon = fake_daemon(&world, &plumb);
    let pid = daemon.child.id().to_string();
    let told = world.call(&args, &[("DSH_E2E_HOST_DAEMON", &pid)]);
    let line = format!("e2e: a real plumb is used: the owner named daemon PID {pid} for this run");
    assert!(told.err.contains(&line), "{told}");
    world.refused(
        &args,
        &[("DSH_E2E_HOST_DAEMON", "1")],
        &format!("the daemon is PID {pid}, not PID 1"),
    );
}
