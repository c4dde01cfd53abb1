//! A conversation with an agent that is driven over its standard streams: JSON-RPC, one object a line.
//!
//! Called for the verb `talk`, which stands before the agent's own command line. One request at a time: the next is sent
//! when the one before is answered. What comes of each is written like an outcome of the driver plugin. It must never
//! change what the agent is given beside its standard streams.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
};

use serde::Deserialize;
use serde_json::{Value, json};

use super::ProbeError;

/// What a conversation is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Talk {
    /// The requests, a JSON array.
    pub requests: PathBuf,
    /// Where their outcomes go, one a line.
    pub outcomes: PathBuf,
    /// The agent's command line.
    pub command: Vec<String>,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Request {
    op: String,
    #[serde(rename = "as")]
    label: Option<String>,
    #[serde(default)]
    params: Value,
}

/// Says everything, closes the agent's input and waits for its end; gives its exit status as a shell would.
pub fn talk(talk: &Talk) -> Result<u8, ProbeError> {
    let file = |verb, path: &PathBuf| {
        let path = path.display().to_string();
        move |source| ProbeError::File { verb, path, source }
    };
    let text = std::fs::read(&talk.requests).map_err(file("read", &talk.requests))?;
    let requests: Vec<Request> = serde_json::from_slice(&text)
        .map_err(std::io::Error::from)
        .map_err(file("read", &talk.requests))?;
    let mut outcomes = File::create(&talk.outcomes).map_err(file("create", &talk.outcomes))?;
    let program = PathBuf::from(talk.command.first().map_or("", String::as_str));
    let agent = |verb| file(verb, &program);
    let mut child = Command::new(&program)
        .args(talk.command.iter().skip(1))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(agent("start"))?;
    if let (Some(mut to), Some(from)) = (child.stdin.take(), child.stdout.take()) {
        let mut from = BufReader::new(from);
        for (id, request) in requests.iter().enumerate() {
            let Some(answer) = ask(&mut to, &mut from, id, request).map_err(agent("talk to"))?
            else {
                break;
            };
            let outcome = outcome(request, &answer);
            writeln!(outcomes, "{outcome}").map_err(file("write", &talk.outcomes))?;
        }
        drop(to);
        std::io::copy(&mut from, &mut std::io::sink()).map_err(agent("listen to"))?;
    }
    child.wait().map(code).map_err(agent("wait for"))
}

/// Sends one request and gives its answer; nothing when the agent has closed its output.
fn ask(
    to: &mut ChildStdin,
    from: &mut BufReader<ChildStdout>,
    id: usize,
    request: &Request,
) -> std::io::Result<Option<Value>> {
    let line = json!({"jsonrpc": "2.0", "id": id, "method": request.op, "params": request.params});
    writeln!(to, "{line}")?;
    let mut line = String::new();
    loop {
        line.clear();
        if from.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        // Notifications have no id, and what is no JSON is no answer.
        match serde_json::from_str::<Value>(&line) {
            Ok(said) if said.get("id") == Some(&json!(id)) => return Ok(Some(said)),
            _ => {}
        }
    }
}

fn outcome(request: &Request, answer: &Value) -> Value {
    let mut outcome = json!({"op": request.op, "ok": answer.get("error").is_none()});
    if let Some(label) = &request.label {
        outcome["as"] = json!(label);
    }
    for (key, from) in [("value", "result"), ("error", "error")] {
        if let Some(value) = answer.get(from) {
            outcome[key] = value.clone();
        }
    }
    outcome
}

/// An exit status as a shell gives it.
fn code(status: ExitStatus) -> u8 {
    let number = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(255);
    u8::try_from(number).unwrap_or(255)
}

#[cfg(test)]
mod tests {
    use super::{Talk, talk};

    /// What comes of two requests to a peer that is this shell text.
    fn said(peer: &str) -> (u8, String) {
        let folder = tempfile::tempdir().unwrap();
        let requests = folder.path().join("requests.json");
        let outcomes = folder.path().join("outcomes.jsonl");
        std::fs::write(
            &requests,
            r#"[{"op": "hello", "as": "greeting"}, {"op": "bye", "params": {"a": 1}}]"#,
        )
        .unwrap();
        let code = talk(&Talk {
            requests,
            outcomes: outcomes.clone(),
            command: ["/bin/sh", "-c", peer].map(str::to_owned).to_vec(),
        })
        .unwrap();
        (code, std::fs::read_to_string(outcomes).unwrap())
    }

    #[test]
    fn each_request_waits_for_its_own_answer_and_not_for_a_notification() {
        let peer = r#"read a; echo noise; echo '{"method":"event"}'; echo '{"id":0,"result":{"x":1}}'
            read b; echo '{"id":1,"error":{"message":"no"}}'; exit 3"#;
        let (code, outcomes) = said(peer);
        assert_eq!(code, 3);
        assert_eq!(
            outcomes,
            "{\"op\":\"hello\",\"ok\":true,\"as\":\"greeting\",\"value\":{\"x\":1}}\n\
             {\"op\":\"bye\",\"ok\":false,\"error\":{\"message\":\"no\"}}\n"
        );
    }

    #[test]
    fn a_peer_that_ends_early_leaves_the_rest_unsaid() {
        let (code, outcomes) = said("read a; kill -9 $$");
        assert_eq!((code, outcomes.as_str()), (137, ""));
    }
}
