//! Operations on persistence: locate, swap the backend, mount a stub, read the session's file.
//!
//! No session artifact is created, flushed or touched here.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Came;
use super::room::Room;
use crate::fault::Fault;
use crate::home;
use crate::store::jsonl::{self, Compression};
use crate::store::listing::listing;
use crate::store::{Backend, Location};

#[derive(Debug, Deserialize)]
pub(super) struct Locate {
    session: String,
    watch: Option<Vec<PathBuf>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Swap {
    row: Option<String>,
    disabled: Option<bool>,
    config: Option<Config>,
}

#[derive(Debug, Deserialize)]
struct Config {
    root: PathBuf,
    compression: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Stub {
    #[serde(rename = "stub")]
    name: String,
    kind: Option<String>,
    path: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
pub(super) struct OpenFile {
    session: String,
    path: Option<PathBuf>,
}

/// `locate {session, watch?}`: who offers the query, its answer, and what changed on disk meanwhile.
pub(super) fn locate(room: &mut Room, op: Locate) -> Came {
    let Some(service) = backend(room) else {
        return Ok(json!({"service": false, "offered_by": []}));
    };
    let is_offered =
        room.host.revision.has_location() || room.host.faults.has(Fault::LocateOffered);
    if !is_offered {
        return Ok(json!({"service": true, "offered_by": []}));
    }
    let agent = room.agent(&op.session)?;
    let roots = op
        .watch
        .unwrap_or_else(|| vec![room.host.home.join("sessions")]);
    let before = listing(&roots);
    let location = if room.host.revision.has_location() {
        room.host.location(agent.header())
    } else {
        room.host.store.borrow().locate(agent.header())
    };
    let after = listing(&roots);
    let exists = location
        .as_ref()
        .is_some_and(|location| location.path.exists());
    Ok(json!({
        "service": true, "offered_by": [service], "asynchronous": false, "location": location, "exists": exists,
        "before": before, "after": after, "unchanged": before == after,
    }))
}

/// `persistence_swap {row?, disabled? | config?}`: the backend's row is changed while running.
pub(super) fn swap(room: &mut Room, op: Swap) -> Came {
    if let Some(row) = op.row.filter(|row| row != "session-persistence-jsonl") {
        return Err(format!("no row \"{row}\" in this composition").into());
    }
    let before = backend(room);
    let next = match (op.disabled, op.config) {
        (Some(true), _) => None,
        (_, Some(config)) => Some(Backend::Jsonl {
            root: home::normal(&room.host.cwd.join(config.root)),
            compression: match config.compression.as_deref() {
                Some("none") => Compression::None,
                None | Some("zstd") => Compression::Zstd,
                Some(other) => {
                    return Err(format!("unknown compression \"{other}\": none or zstd").into());
                }
            },
        }),
        (_, None) => room.composed.clone(),
    };
    room.host.store.borrow_mut().replace(next);
    Ok(json!({"before": before, "after": backend(room)}))
}

/// `persistence_stub {stub, kind?, path?}`: a backend that keeps nothing and answers what it was told to.
pub(super) fn stub(room: &mut Room, op: Stub) -> Came {
    let before = backend(room);
    if before.is_some() {
        return Err("a persistence backend is active: disable it first".into());
    }
    let location = op
        .kind
        .zip(op.path)
        .map(|(kind, path)| Location { kind, path });
    room.host
        .store
        .borrow_mut()
        .replace(Some(Backend::Stub { location }));
    room.stubs.push(op.name);
    Ok(json!({"before": before, "after": backend(room)}))
}

/// `persistence_unstub {stub}`: takes it away again.
pub(super) fn unstub(room: &mut Room, op: &Stub) -> Came {
    let before = backend(room);
    let at = room.stubs.iter().position(|stub| *stub == op.name);
    room.stubs
        .remove(at.ok_or_else(|| format!("no stub backend named \"{}\"", op.name))?);
    room.host.store.borrow_mut().replace(None);
    Ok(json!({"before": before, "after": backend(room)}))
}

/// `open_file {session, path?}`: what the session's file holds at this moment.
pub(super) fn open_file(room: &mut Room, op: &OpenFile) -> Came {
    let agent = room.agent(&op.session)?;
    let located = || {
        room.host
            .store
            .borrow()
            .locate(agent.header())
            .map(|location| location.path)
    };
    let Some(path) = op.path.clone().or_else(located) else {
        return Ok(json!({"path": null, "exists": false}));
    };
    if !path.exists() {
        return Ok(json!({"path": path, "exists": false}));
    }
    let mode = format!("{:o}", path.metadata()?.permissions().mode() & 0o777);
    let log = jsonl::read(&path)?;
    let events: Vec<Value> = log
        .events
        .iter()
        .map(|event| json!({"type": event.kind, "seq": event.seq}))
        .collect();
    Ok(json!({
        "path": path, "exists": true, "mode": mode, "header": log.header, "lines": events.len() + 1,
        "events": events, "torn": log.torn > 0,
    }))
}

/// The kind of backend that is active.
fn backend(room: &Room) -> Option<&'static str> {
    room.host
        .store
        .borrow()
        .backend()
        .map(|backend| match backend {
            Backend::Jsonl { .. } => "JsonlSessionPersistence",
            Backend::Shared { .. } => "SharedSessionPersistence",
            Backend::Stub { .. } => "StubSessionPersistence",
        })
}
