//! Prints what the fake costs: `cargo run --release -p fake-plumb --example figures -- PATH-TO-FAKE-PLUMB`.
//!
//! Medians of wall time; everything runs in a temporary root and ends there.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

/// A root of its own, with the program in it.
struct Root {
    dir: tempfile::TempDir,
    program: PathBuf,
}

/// A serve that has shaken hands.
struct Client {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Root {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .env_clear()
            .current_dir(self.dir.path())
            .stderr(Stdio::null());
        command
            .env("HOME", self.dir.path())
            .env("PLUMB_ACCOUNT_AUTHORITY", "false");
        command
    }

    fn run(&self, args: &[&str]) -> Result<String, Failure> {
        let output = self.command(args).output()?;
        Ok(String::from_utf8(output.stdout)?)
    }

    fn client(&self, token: Option<&str>) -> Result<Client, Failure> {
        let mut command = self.command(&["serve"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some(token) = token {
            command.env("PLUMB_NAMESPACE", token);
        }
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().ok_or("no stdout")?;
        let mut client = Client {
            child,
            lines: BufReader::new(stdout),
        };
        client.ask(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} }))?;
        Ok(client)
    }
}

impl Client {
    fn ask(&mut self, request: &Value) -> Result<String, Failure> {
        let stdin = self.child.stdin.as_mut().ok_or("no stdin")?;
        stdin.write_all(format!("{request}\n").as_bytes())?;
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        Ok(line)
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<String, Failure> {
        let params = json!({ "name": tool, "arguments": arguments });
        self.ask(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params }))
    }

    fn close(mut self) -> Result<(), Failure> {
        drop(self.child.stdin.take());
        self.child.wait()?;
        Ok(())
    }
}

/// The median of `rounds` runs.
fn median(
    rounds: usize,
    mut run: impl FnMut() -> Result<(), Failure>,
) -> Result<Duration, Failure> {
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed());
    }
    times.sort();
    Ok(times[rounds / 2])
}

/// Resident memory in KiB.
fn resident(pid: &str) -> Result<String, Failure> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS"))
        .ok_or("no VmRSS")?;
    Ok(line.trim_start_matches("VmRSS:").trim().to_owned())
}

#[expect(clippy::print_stdout, reason = "the figures are the output")]
fn main() -> Result<(), Failure> {
    let program = std::env::args_os().nth(1).ok_or("name the program")?;
    let root = Root {
        dir: tempfile::tempdir()?,
        program: fs::canonicalize(Path::new(&program))?,
    };
    println!(
        "version                        {:?}",
        median(51, || root.run(&["version"]).map(drop))?
    );
    let cold = median(11, || {
        root.client(None)?.close()?;
        root.run(&["stop", "--force"]).map(drop)
    })?;
    let stop = median(11, || root.run(&["stop", "--force"]).map(drop))?;
    println!(
        "serve to initialize, no daemon {cold:?} (with a stop; a stop of nothing takes {stop:?})"
    );
    let mut client = root.client(None)?;
    println!(
        "serve to initialize and end    {:?}",
        median(51, || root.client(None)?.close())?
    );
    let ws = root.dir.path().join("ws");
    fs::create_dir(&ws)?;
    client.call(
        "session_start",
        &json!({ "session_id": "one", "workspace": ws }),
    )?;
    println!(
        "list_memories                  {:?}",
        median(501, || client.call("list_memories", &json!({})).map(drop))?
    );
    println!(
        "check_messages                 {:?}",
        median(501, || client.call("check_messages", &json!({})).map(drop))?
    );
    println!(
        "resident serve                 {}",
        resident(&client.child.id().to_string())?
    );
    let daemon = fs::read_to_string(root.dir.path().join(".cache/plumb/plumb.pid"))?;
    println!("resident daemon, fresh         {}", resident(&daemon)?);
    let start = Instant::now();
    let mut clients = Vec::new();
    for _ in 0..100 {
        let made: Value = serde_json::from_str(&root.run(&["namespace", "create", "--json"])?)?;
        for agent in ["a", "b"] {
            let mut client = root.client(made["token"].as_str())?;
            client.call(
                "session_start",
                &json!({ "session_id": agent, "workspace": ws, "detail": "brief" }),
            )?;
            clients.push(client);
        }
    }
    println!(
        "200 connections, 100 namespaces, declared: {:?}",
        start.elapsed()
    );
    println!("resident daemon, 200 open      {}", resident(&daemon)?);
    let cheap = median(501, || {
        clients[57].call("list_memories", &json!({})).map(drop)
    })?;
    println!("list_memories among 200        {cheap:?}");
    for client in clients {
        client.close()?;
    }
    client.close()?;
    root.run(&["stop", "--force"])?;
    Ok(())
}
