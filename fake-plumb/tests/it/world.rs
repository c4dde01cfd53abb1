//! A private world for one test: HOME, workspaces, the program, and the end of the daemon it may have started.
//!
//! Nothing outside of the temporary folder is written. The daemon is found by its own pidfile and ended on drop,
//! on failure too; no test signals a process that it has not found that way.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};

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

/// A process by pid and start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Daemon {
    pub(crate) pid: i32,
    started: u64,
}

impl Daemon {
    pub(crate) fn look(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?;
        let started = fields.nth(18)?.parse().ok()?;
        (!matches!(state, "Z" | "X")).then_some(Self { pid, started })
    }

    pub(crate) fn is_alive(self) -> bool {
        Self::look(self.pid) == Some(self)
    }

    pub(crate) fn signal(self, signal: Signal) {
        if self.is_alive() {
            kill_process(Pid::from_raw(self.pid).unwrap(), signal).ok();
        }
    }
}

/// What a command did; prints itself when a test fails.
#[derive(Debug)]
#[must_use]
pub(crate) struct Cli(Output);

impl Cli {
    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().expect("a command ends by itself")
    }

    /// stdout as it is.
    pub(crate) fn out(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    /// stdout of a command that must succeed, as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code(), 0, "{self:?}");
        serde_json::from_str(&self.out()).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// stderr without colours, gutters and line ends: the message of an error block on one line.
    pub(crate) fn error(&self) -> String {
        plain_error(&String::from_utf8_lossy(&self.0.stderr))
    }
}

/// Takes colours, gutters and line ends out of an error block.
pub(crate) fn plain_error(text: &str) -> String {
    let text = regex::Regex::new("\x1b\\[[0-9;]*m")
        .unwrap()
        .replace_all(text, "")
        .into_owned();
    let words = text
        .lines()
        .map(|line| line.trim().trim_start_matches('┊').trim());
    words
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// One MCP client over one serve.
#[derive(Debug)]
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next: u64,
    /// What came that no request of ours asked for.
    pub(crate) unasked: Vec<Value>,
}

impl Client {
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (say, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if say.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
            next: 0,
            unasked: Vec::new(),
        }
    }

    pub(crate) fn shake_hands(&mut self) -> Value {
        let params = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "it", "version": "1" },
        });
        let answer = self.request("initialize", params);
        self.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        answer
    }

    /// Writes a line as it is.
    pub(crate) fn write(&mut self, line: &str) {
        self.stdin
            .as_mut()
            .unwrap()
            .write_all(format!("{line}\n").as_bytes())
            .unwrap();
    }

    pub(crate) fn write_bytes(&mut self, bytes: &[u8]) {
        // A program that has had enough of us may have closed the pipe.
        self.stdin.as_mut().unwrap().write_all(bytes).ok();
    }

    /// The next line, whatever it is.
    #[track_caller]
    pub(crate) fn read_text(&mut self) -> String {
        self.lines
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|error| panic!("no line: {error}"))
    }

    /// Waits for a notification of that method.
    #[track_caller]
    pub(crate) fn notified(&mut self, method: &str) {
        loop {
            let frame = self
                .read()
                .unwrap_or_else(|| panic!("no {method}; {:?}", self.child.try_wait()));
            if frame["method"] == method {
                return;
            }
            self.unasked.push(frame);
        }
    }

    /// The next line as JSON, or nothing once the stream has ended.
    pub(crate) fn read(&mut self) -> Option<Value> {
        Some(serde_json::from_str(&self.lines.recv_timeout(PATIENCE).ok()?).unwrap())
    }

    pub(crate) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.write(
            &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string(),
        );
        id
    }

    pub(crate) fn send_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.send(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }

    /// Reads up to the answer to `id`.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        loop {
            let frame = self
                .read()
                .unwrap_or_else(|| panic!("no answer to {id}; {:?}", self.child.try_wait()));
            if frame["id"] == id && frame.get("method").is_none() {
                return frame;
            }
            self.unasked.push(frame);
        }
    }

    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Calls a tool and gives its result.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.call_as(None, tool, arguments)
    }

    /// Calls a tool with a stamp in `_meta`.
    #[track_caller]
    pub(crate) fn call_as(&mut self, stamp: Option<&str>, tool: &str, arguments: Value) -> Value {
        let mut params = Map::from_iter([
            ("name".to_owned(), json!(tool)),
            ("arguments".to_owned(), arguments),
        ]);
        if let Some(stamp) = stamp {
            params.insert(
                "_meta".to_owned(),
                json!({ "dev.plumbkit/logical-agent": stamp }),
            );
        }
        let answer = self.request("tools/call", Value::Object(params));
        answer
            .get("result")
            .unwrap_or_else(|| panic!("{tool}: {answer}"))
            .clone()
    }

    /// The text of a call that must succeed.
    #[track_caller]
    pub(crate) fn ok(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        text(&result)
    }

    /// The text of a call that must fail.
    #[track_caller]
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        text(&result)
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Closes stdin and waits for the end.
    pub(crate) fn close(mut self) -> ExitStatus {
        self.close_stdin();
        self.wait()
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        until("end of serve", || {
            self.child
                .try_wait()
                .unwrap()
                .ok_or_else(|| "it runs".to_owned())
        })
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// All of stderr, once the process has ended.
    pub(crate) fn stderr(&mut self) -> String {
        let mut text = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        text
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.stdin = None;
        self.child.kill().ok();
        self.child.wait().ok();
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
