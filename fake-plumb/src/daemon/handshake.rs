//! initialize, initialized and the answer to our one request: what a connection says of itself.
//!
//! Called by [`super::conn`]. It fills the record, joins the namespace and takes a replayed session back.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::Daemon;
use super::conn::Conn;
use super::session::{self, Offer};
use super::takeover;
use crate::assumed;
use crate::fault::Fault;
use crate::log::Level;
use crate::mcp::frame::{self, SERVER_ERROR};
use crate::mcp::{PROTOCOL, key};
use crate::namespace::Token;
use crate::record::SessionId;

/// The id of the one request that plumb sends.
const ROOTS_ID: &str = "srv-1";

/// What a client is told about plumb.
const INSTRUCTIONS: &str =
    "A stand-in for plumb. Call session_start with your session_id and workspace first.";

/// Whether the peer is a serve that stores credentials and never shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Consumer {
    KeepsCredentials,
    Other,
}

pub(super) fn initialize(daemon: &Daemon, conn: &Conn, id: &Value, params: &Map<String, Value>) {
    let none = Map::new();
    let meta = params
        .get("_meta")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    if let Some(token) = meta.get(assumed::NAMESPACE_META).and_then(Value::as_str) {
        let joined = daemon.book.borrow().resolve(&Token::from_text(token));
        match joined {
            Ok(namespace) => conn.state_mut().namespace = Some(namespace),
            Err(error) => {
                conn.send(frame::error(id, SERVER_ERROR, &error.to_string()));
                return;
            }
        }
    }
    {
        let mut state = conn.state_mut();
        state.proxy = meta
            .get(key::PROXY)
            .and_then(Value::as_str)
            .map(str::to_owned);
        state.hint = meta
            .get(key::WORKSPACE)
            .and_then(Value::as_str)
            .map(PathBuf::from);
    }
    let offered = params
        .get("protocolVersion")
        .and_then(Value::as_str)
        .unwrap_or_default();
    describe(daemon, conn, params, offered);
    let replayed = meta
        .get(key::SESSION)
        .and_then(Value::as_str)
        .map(SessionId::from_text);
    let recovery = match replayed.filter(|old| takeover::adopt_replayed(daemon, conn, old)) {
        Some(_) => "restored",
        None => "established",
    };
    if let Some(pinned) = meta.get(key::PINNED).and_then(Value::as_str) {
        session::offer(daemon, conn, Path::new(pinned), Offer::Restored);
    }
    session::save_name(daemon, conn);
    let mut result = json!({
        "protocolVersion": PROTOCOL,
        "capabilities": { "prompts": {}, "resources": {}, "tools": { "listChanged": true } },
        "serverInfo": { "name": "plumb", "version": daemon.generation().version() },
        "instructions": INSTRUCTIONS,
    });
    if daemon.generation().has_resume() {
        let consumer = match meta.get(key::CONSUMER).and_then(Value::as_u64) {
            Some(1) => Consumer::KeepsCredentials,
            _ => Consumer::Other,
        };
        result["_meta"] = result_meta(daemon, conn, recovery, consumer);
    }
    conn.send(frame::answer(id, &result));
}

fn result_meta(daemon: &Daemon, conn: &Conn, recovery: &str, consumer: Consumer) -> Value {
    let record = conn.record();
    let name = daemon.records.get(&record).map(|record| record.name);
    let mut meta = json!({
        key::IDENTITY: { "recovery": recovery, "session_id": record, "name": name, "revision": 1 },
        key::INSTANCE: daemon.instance,
    });
    if let Some(credential) = (consumer == Consumer::KeepsCredentials)
        .then(|| takeover::issue_credential(daemon, conn))
        .flatten()
    {
        meta[key::CREDENTIAL] = json!(credential.reveal());
    }
    meta
}

/// Writes what the client said of itself, and the namespace with it, in one step.
fn describe(daemon: &Daemon, conn: &Conn, params: &Map<String, Value>, offered: &str) {
    let client = |field: &str| {
        params
            .get("clientInfo")
            .and_then(|info| info[field].as_str())
            .map(str::to_owned)
    };
    let (name, version) = (client("name"), client("version"));
    let capabilities = params
        .get("capabilities")
        .map_or("{}".to_owned(), Value::to_string);
    let namespace = conn.state().namespace.clone();
    daemon.records.update(&conn.record(), |record| {
        record.client_name.clone_from(&name);
        record.client_version.clone_from(&version);
        record.protocol_offered = Some(offered.to_owned());
        record.protocol_answered = Some(PROTOCOL.to_owned());
        record.client_capabilities = Some(capabilities);
        record.namespace = namespace;
    });
    let (name, version) = (name.unwrap_or_default(), version.unwrap_or_default());
    let log_id = conn.log_id();
    let fields = [("client", &*name), ("version", &*version)];
    daemon
        .log
        .of(&log_id, Level::Info, "daemon: client identified", &fields);
    if offered != PROTOCOL {
        let msg = "daemon: client offered an MCP protocol revision plumb does not implement; answered with the newest supported";
        let fields = [
            ("offered", offered),
            ("answered", PROTOCOL),
            ("client", &*name),
        ];
        daemon.log.of(&log_id, Level::Info, msg, &fields);
    }
}

/// Asks for the client's roots, whether it has declared any or not.
pub(super) fn initialized(daemon: &Daemon, conn: &Conn) {
    conn.send(json!({ "jsonrpc": "2.0", "id": ROOTS_ID, "method": "roots/list" }).to_string());
    if daemon.has_fault(Fault::ListChangedAtOnce) {
        conn.send(
            json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }).to_string(),
        );
    }
}

/// Takes the first root that the client answers, if nobody has said better.
pub(super) fn take_roots(daemon: &Daemon, conn: &Conn, id: &Value, result: Option<&Value>) {
    let uri = result.and_then(|result| result["roots"][0]["uri"].as_str());
    if let (Some(ROOTS_ID), Some(path)) =
        (id.as_str(), uri.and_then(|uri| uri.strip_prefix("file://")))
    {
        session::offer(daemon, conn, Path::new(path), Offer::Roots);
    }
}
