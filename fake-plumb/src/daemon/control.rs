//! The control socket: one text line in, one reply, closed.
//!
//! Served by the daemon for the commands of the same root. A namespace token crosses this socket, never a
//! command line. The namespace lines are the fake's own (assumed, A1 and A3).

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream as Client;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use super::Daemon;
use crate::fault::Fault;
use crate::log::{Level, go_quote};
use crate::mcp::key;
use crate::namespace::{Namespace, NamespaceId, State, Token, Wanted};

/// The longest line a command sends.
const LONGEST: u64 = 64 * 1024;

/// A namespace as the commands show it; never with its token.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) id: NamespaceId,
    pub(crate) state: State,
    pub(crate) owner_pid: Option<u32>,
    pub(crate) created_at: String,
    pub(crate) expires_at: String,
}

impl From<&Namespace> for Row {
    fn from(namespace: &Namespace) -> Self {
        Self {
            id: namespace.id.clone(),
            state: namespace.state,
            owner_pid: namespace.owner.map(|owner| owner.pid),
            created_at: namespace.created_at.clone(),
            expires_at: namespace.expires_at.clone(),
        }
    }
}

/// Why a command got no reply from the daemon.
#[derive(Debug, Error)]
pub(crate) enum ControlError {
    #[error("control socket unavailable — is plumb daemon running?")]
    Unavailable { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Refused(String),
    #[error("the daemon's reply could not be read: {0}")]
    Reply(String),
}

/// Sends one line and gives what follows `ok `.
pub(crate) fn ask(socket: &Path, line: &str, limit: Duration) -> Result<String, ControlError> {
    let failed = |source| ControlError::Unavailable {
        path: socket.to_owned(),
        source,
    };
    let mut client = Client::connect(socket).map_err(failed)?;
    client.set_read_timeout(Some(limit)).map_err(failed)?;
    client
        .write_all(format!("{line}\n").as_bytes())
        .map_err(failed)?;
    let mut reply = String::new();
    client.read_to_string(&mut reply).map_err(failed)?;
    let reply = reply.trim_end();
    match (reply.strip_prefix("ok"), reply.strip_prefix("error: ")) {
        (Some(rest), _) => Ok(rest.trim_start().to_owned()),
        (None, Some(error)) => Err(ControlError::Refused(error.to_owned())),
        (None, None) => Err(ControlError::Reply(go_quote(reply))),
    }
}

/// Serves one control connection.
pub(super) async fn serve(daemon: Rc<Daemon>, stream: UnixStream) {
    let (read, mut write) = stream.into_split();
    let mut line = String::new();
    if BufReader::new(read.take(LONGEST))
        .read_line(&mut line)
        .await
        .is_err()
    {
        return;
    }
    let mut reply = reply(&daemon, line.trim_end_matches(['\r', '\n']));
    reply.push('\n');
    // The asker may be gone; then nobody wants the reply.
    drop(write.write_all(reply.as_bytes()).await);
}

fn reply(daemon: &Daemon, line: &str) -> String {
    let generation = daemon.generation();
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "mem-stats" => "ok heap=0".to_owned(),
        "set-level" | "reload-config" => "ok".to_owned(),
        "version" if generation.has_resume() => format!("ok {}", generation.version()),
        "identity-keys" if generation.has_resume() => {
            let proof = if daemon.has_fault(Fault::NoProof) {
                String::new()
            } else {
                format!(" {}", key::PROOF)
            };
            format!(
                "ok {}{proof} version={}",
                key::ARGUMENT_STAMP,
                generation.version()
            )
        }
        "namespace-create" if generation.has_namespaces() => create(daemon, rest),
        "namespace-list" if generation.has_namespaces() => list(daemon),
        "namespace-release" if generation.has_namespaces() => {
            release(daemon, &Token::from_text(rest))
        }
        "namespace-check" if generation.has_namespaces() => {
            let checked = daemon.book.borrow().resolve(&Token::from_text(rest));
            checked.map_or_else(|error| format!("error: {error}"), |id| format!("ok {id}"))
        }
        _ => format!("error: unknown command {}", go_quote(line)),
    }
}

fn create(daemon: &Daemon, wanted: &str) -> String {
    let Ok(wanted) = serde_json::from_str::<Wanted>(wanted) else {
        return "error: namespace-create takes a JSON object".to_owned();
    };
    match daemon.book.borrow_mut().create(&wanted) {
        Ok((made, token)) => {
            daemon.log.line(
                Level::Info,
                "daemon: namespace created",
                &[("namespace", made.id.as_str())],
            );
            let answer = serde_json::json!({ "id": made.id, "token": token.reveal(), "expires_at": made.expires_at });
            format!("ok {answer}")
        }
        Err(error) => format!("error: {error}"),
    }
}

fn list(daemon: &Daemon) -> String {
    if let Err(error) = daemon.tick_namespaces() {
        return format!("error: {error}");
    }
    let book = daemon.book.borrow();
    let rows: Vec<_> = book.list().iter().map(Row::from).collect();
    serde_json::to_string(&rows).map_or_else(
        |error| format!("error: {error}"),
        |rows| format!("ok {rows}"),
    )
}

fn release(daemon: &Daemon, token: &Token) -> String {
    let released = daemon.book.borrow_mut().release(token);
    match released {
        Ok(released) => {
            let at = Timestamp::now().to_string();
            let fields = [("namespace", released.id.as_str()), ("at", &at)];
            daemon
                .log
                .line(Level::Info, "daemon: namespace released", &fields);
            let ticked = daemon.tick_namespaces();
            let answer = serde_json::json!({ "id": released.id, "state": released.state });
            ticked.map_or_else(
                |error| format!("error: {error}"),
                |()| format!("ok {answer}"),
            )
        }
        Err(error) => format!("error: {error}"),
    }
}
