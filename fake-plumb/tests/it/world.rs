//! A private world for one test: HOME, workspaces, the program, and the end of the daemon it may have started.
//!
//! Nothing outside of the temporary folder is written. The daemon is found by its own pidfile and ended on drop,
//! on failure too; no test signals a process that it has not found that way.

mod cli;
mod client;
mod daemon;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

pub(crate) use cli::{Cli, plain_error};
pub(crate) use client::Client;
pub(crate) use daemon::Daemon;

/// How long a test waits for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// One test's world.
pub(crate) struct World {
    dir: tempfile::TempDir,
    program: PathBuf,
    env: BTreeMap<String, String>,
}

impl World {
    /// The fake of a generation, in a root of its own.
    pub(crate) fn of(generation: &str) -> Self {
        Self::with(PathBuf::from(env!("CARGO_BIN_EXE_fake-plumb")), generation)
    }

    /// The program under the fidelity suite: any plumb, or the fake as the measured generation.
    pub(crate) fn for_fidelity() -> Self {
        let program = std::env::var_os("FIDELITY_PLUMB").map(PathBuf::from);
        Self::with(
            program.unwrap_or_else(|| env!("CARGO_BIN_EXE_fake-plumb").into()),
            "0.17",
        )
    }

    fn with(program: PathBuf, generation: &str) -> Self {
        let dir = tempfile::Builder::new().prefix("fp").tempdir().unwrap();
        let home = dir.path().join("h");
        let mut env = BTreeMap::from([
            ("PATH".to_owned(), std::env::var("PATH").unwrap()),
            ("HOME".to_owned(), home.to_str().unwrap().to_owned()),
            ("TMPDIR".to_owned(), dir.path().to_str().unwrap().to_owned()),
            ("PLUMB_ACCOUNT_AUTHORITY".to_owned(), "false".to_owned()),
            ("FAKE_PLUMB_AS".to_owned(), generation.to_owned()),
        ]);
        for (name, folder) in [
            ("CONFIG", ".config"),
            ("DATA", ".local/share"),
            ("STATE", ".local/state"),
            ("CACHE", ".cache"),
        ] {
            let folder = home.join(folder);
            fs::create_dir_all(&folder).unwrap();
            env.insert(
                format!("XDG_{name}_HOME"),
                folder.to_str().unwrap().to_owned(),
            );
        }
        Self { dir, program, env }
    }

    /// Sets a variable for every process started from now on.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> &mut Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn unset(&mut self, name: &str) -> &mut Self {
        self.env.remove(name);
        self
    }

    /// A folder with a project marker, canonical.
    pub(crate) fn workspace(&self, name: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("go.mod"), "module x\n").unwrap();
        fs::canonicalize(path).unwrap()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("h")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.home().join(".local/share/plumb")
    }

    pub(crate) fn runtime(&self) -> PathBuf {
        self.home().join(".cache/plumb")
    }

    /// A command of the program, with this world's environment and nothing else.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .env_clear()
            .envs(&self.env)
            .current_dir(self.dir.path());
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Cli {
        self.run_with(args, &[], "")
    }

    pub(crate) fn run_with(&self, args: &[&str], env: &[(&str, &str)], stdin: &str) -> Cli {
        let mut child = self
            .command(args)
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(stdin.as_bytes())
            .unwrap();
        Cli(child.wait_with_output().unwrap())
    }

    /// Starts this world's daemon.
    #[track_caller]
    pub(crate) fn start_daemon(&self) {
        let cli = self.run(&["restart", "--force"]);
        assert_eq!(cli.code(), 0, "{cli:?}");
    }

    /// A serve in `workspace` that has shaken hands.
    pub(crate) fn client(&self, workspace: &Path) -> Client {
        self.client_with(workspace, &[])
    }

    pub(crate) fn client_with(&self, workspace: &Path, env: &[(&str, &str)]) -> Client {
        let mut client = self.bare(workspace, env);
        client.shake_hands();
        client
    }

    /// A serve that nobody has spoken to.
    pub(crate) fn bare(&self, workspace: &Path, env: &[(&str, &str)]) -> Client {
        let mut command = self.command(&["serve"]);
        command.current_dir(workspace).envs(env.iter().copied());
        Client::spawn(command)
    }

    /// A serve that has declared itself.
    pub(crate) fn agent(&self, workspace: &Path, id: &str) -> Client {
        let mut client = self.client(workspace);
        client.ok(
            "session_start",
            json!({ "session_id": id, "workspace": workspace, "detail": "brief" }),
        );
        client
    }

    /// Every record, by id. Each must be whole whenever it is read.
    pub(crate) fn records(&self) -> BTreeMap<String, Value> {
        let mut records = BTreeMap::new();
        for entry in fs::read_dir(self.data().join("sessions"))
            .into_iter()
            .flatten()
        {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if name.starts_with('.') || path.extension().is_none_or(|end| end != "json") {
                continue;
            }
            let Ok(text) = fs::read_to_string(&path) else {
                continue;
            };
            let record = serde_json::from_str(&text)
                .unwrap_or_else(|e| panic!("torn record {name}: {e}: {text:?}"));
            records.insert(name.trim_end_matches(".json").to_owned(), record);
        }
        records
    }

    /// The record that `wanted` picks, once there is exactly one.
    pub(crate) fn record_where(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        until(what, || {
            let mut found: Vec<_> = self
                .records()
                .into_values()
                .filter(|record| wanted(record))
                .collect();
            if found.len() == 1 {
                Ok(found.remove(0))
            } else {
                Err(format!("{} records", found.len()))
            }
        })
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.home().join(".local/state/plumb/daemon.log")).unwrap_or_default()
    }

    /// What was carried out, in order.
    pub(crate) fn effects(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.home().join(".local/state/plumb/effects.jsonl"))
            .unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The daemon of this world, by its own pidfile.
    pub(crate) fn daemon(&self) -> Option<Daemon> {
        let pid = fs::read_to_string(self.runtime().join("plumb.pid"))
            .ok()?
            .parse()
            .ok()?;
        Daemon::look(pid)
    }

    /// Sends a signal to this world's daemon and waits until it is gone.
    pub(crate) fn end_daemon(&self, signal: Signal) {
        let Some(daemon) = self.daemon() else { return };
        daemon.signal(signal);
        until("end of the daemon", || {
            if daemon.is_alive() {
                Err(format!("{daemon:?} lives"))
            } else {
                Ok(())
            }
        });
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let Some(daemon) = self.daemon() else { return };
        daemon.signal(Signal::KILL);
        let deadline = Instant::now() + PATIENCE;
        while daemon.is_alive() && Instant::now() < deadline {
            std::thread::yield_now();
        }
    }
}

/// The text of a tool result.
pub(crate) fn text(result: &Value) -> String {
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text: {result}"))
        .to_owned()
}

/// The record id that a `session_start` result names.
pub(crate) fn session_id(result: &Value) -> String {
    result["_meta"]["dev.plumbkit/session-id"]
        .as_str()
        .unwrap_or_else(|| panic!("no id: {result}"))
        .to_owned()
}

/// Waits for a fact, with a deadline and what was seen last.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match look() {
            Ok(seen) => return seen,
            Err(seen) => assert!(
                Instant::now() < deadline,
                "{what} not seen in {PATIENCE:?}; last seen: {seen}"
            ),
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
