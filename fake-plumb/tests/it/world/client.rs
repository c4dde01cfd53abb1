//! One MCP client over one serve: lines in, lines out, every wait with a deadline.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::{PATIENCE, text, until};

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
        // A serve that is just starting a daemon ends once that is up, so the world's own end finds it; a kill
        // would leave a daemon on its way that nobody knows of.
        self.stdin = None;
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
