//! What happens to a session: attached, moved, named, linked, shared, taken over.
//!
//! Called by the handshake and by the tools. Each function applies one decision to record, database and log.

use std::path::{Path, PathBuf};

use super::Daemon;
use super::conn::Conn;
use super::takeover;
use crate::identity::{AgentId, Noted, Pin, Scope};
use crate::log::Level;
use crate::record::{Health, Record};
use crate::state_db::PinSource;
use crate::tool::Project;

const SHARED: &str = "multiple logical agents share this connection; per-agent state is isolated, anonymous state-changing calls are refused — run one plumb serve per logical agent";
const SHARED_LOG: &str = "daemon: shared connection detected — multiple logical agents multiplexed over one serve; per-agent state is isolated, anonymous state-changing calls are refused";

/// Who offers a folder to a connection that nobody has pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// serve's own place.
    Hint,
    /// The client's first root.
    Roots,
    /// The pin that serve had before the daemon went away.
    Restored,
}

/// Attaches an unpinned connection to a folder that was offered.
pub(crate) fn offer(daemon: &Daemon, conn: &Conn, folder: &Path, offer: Offer) {
    if conn.state().identities.pin.is_some() {
        return;
    }
    let Ok(project) = Project::around(folder) else {
        return;
    };
    let source = match offer {
        Offer::Hint => None,
        Offer::Roots => Some(PinSource::Roots),
        Offer::Restored => Some(PinSource::SessionStart),
    };
    conn.state_mut().identities.pin = Some(Pin {
        root: project.root.clone(),
        source,
    });
    attached(daemon, conn, &project);
    if let Some(source) = source {
        save_pin(daemon, conn, None, &project.root, source);
    }
}

/// Writes that the connection works in a project now.
pub(crate) fn attached(daemon: &Daemon, conn: &Conn, project: &Project) {
    daemon
        .records
        .update(&conn.record(), |record| place(record, project));
    let root = project.root.to_string_lossy();
    let fields = [("root", &*root), ("language", "none"), ("adapter", "")];
    daemon.log.of(
        &conn.log_id(),
        Level::Info,
        "daemon: session attached",
        &fields,
    );
}

/// Writes that the connection, or one of its agents, works elsewhere now.
pub(crate) fn moved(daemon: &Daemon, conn: &Conn, scope: &Scope, from: &Path, project: &Project) {
    match scope {
        Scope::Connection => daemon
            .records
            .update(&conn.record(), |record| place(record, project)),
        Scope::Agent(agent) => {
            save_pin(
                daemon,
                conn,
                Some(agent),
                &project.root,
                PinSource::SessionStart,
            );
            if daemon.generation().scopes_pins() {
                place_agent(daemon, conn, agent, project);
            }
        }
    }
    let (from, to) = (from.to_string_lossy(), project.root.to_string_lossy());
    let mut fields = vec![
        ("from", &*from),
        ("to", &*to),
        ("language", "none"),
        ("adapter", ""),
    ];
    fields.extend([("source", "session_start"), ("trigger", "live")]);
    if let Scope::Agent(agent) = scope {
        fields.push(("agent", agent.as_str()));
    }
    daemon.log.of(
        &conn.log_id(),
        Level::Info,
        "daemon: session re-pinned",
        &fields,
    );
}

fn place(record: &mut Record, project: &Project) {
    record.folder = project.root.to_string_lossy().into_owned();
    "none".clone_into(&mut record.language);
    record.detected_language = project.language.map(|(key, _)| key.to_owned());
    record.synthetic = project.is_synthetic;
}

/// Gives an agent that moved a record of its own, under its connection's.
fn place_agent(daemon: &Daemon, conn: &Conn, agent: &AgentId, project: &Project) {
    let row = conn.state().rows.get(agent).cloned();
    let row = row.unwrap_or_else(|| {
        let (parent, namespace) = (conn.record(), conn.state().namespace.clone());
        daemon.records.register(
            daemon.generation().version(),
            |_| false,
            |record| {
                record.parent_id = Some(parent);
                record.namespace = namespace;
                record.external_id = Some(agent.as_str().to_owned());
            },
        )
    });
    daemon.records.update(&row, |record| place(record, project));
    conn.state_mut().rows.insert(agent.clone(), row);
}

/// Stores a pin for the serve process behind the connection; a bare socket has none to store it for.
pub(crate) fn save_pin(
    daemon: &Daemon,
    conn: &Conn,
    agent: Option<&AgentId>,
    root: &Path,
    source: PinSource,
) {
    let Some(proxy) = conn.state().proxy.clone() else {
        return;
    };
    let agent = agent.map_or("", AgentId::as_str);
    if let Err(error) = daemon.state_db.pin(&proxy, agent, root, source) {
        report(daemon, conn, "pin", &error);
    }
}

/// Stores which session the serve process has, so that it can have it again.
pub(crate) fn save_name(daemon: &Daemon, conn: &Conn) {
    let id = conn.record();
    let Some(record) = daemon.records.get(&id) else {
        return;
    };
    let Some(proxy) = conn.state().proxy.clone() else {
        return;
    };
    if let Err(error) = daemon.state_db.name(&proxy, &record.name, &id) {
        report(daemon, conn, "name", &error);
    }
}

pub(super) fn report(daemon: &Daemon, conn: &Conn, what: &str, error: &rusqlite::Error) {
    let error = error.to_string();
    let fields = [("what", what), ("err", &*error)];
    daemon.log.of(
        &conn.log_id(),
        Level::Error,
        "daemon: session state not stored",
        &fields,
    );
}

/// Marks a connection as blocked, with the reason.
pub(crate) fn block(daemon: &Daemon, conn: &Conn, why: &str) {
    daemon.records.update(&conn.record(), |record| {
        record.health = Some(Health::Blocked);
        record.health_message = Some(why.to_owned());
    });
}

/// Notes an id that spoke on the connection; the second one makes it shared.
pub(crate) fn note(daemon: &Daemon, conn: &Conn, agent: &AgentId) {
    let noted = conn.state_mut().identities.note(agent);
    let is_warned = match noted {
        Noted::Known | Noted::First => return,
        Noted::BecameShared => true,
        Noted::Later => daemon.generation().repeats_shared_warning(),
    };
    if is_warned {
        let by = [("agent", agent.as_str())];
        let fields = if daemon.generation().repeats_shared_warning() {
            &[][..]
        } else {
            &by
        };
        daemon
            .log
            .of(&conn.log_id(), Level::Warn, SHARED_LOG, fields);
    }
    let keeps_blocked = daemon.generation().scopes_pins();
    daemon.records.update(&conn.record(), |record| {
        if !(keeps_blocked && record.health == Some(Health::Blocked)) {
            record.health = Some(Health::SharedConnectionDetected);
            record.health_message = Some(SHARED.to_owned());
        }
    });
}

/// From the second id on every agent has a pin of its own in the database (assumed, A15).
pub(crate) fn save_agent_pins(daemon: &Daemon, conn: &Conn) {
    let pins: Vec<(AgentId, PathBuf)> = {
        let ids = &conn.state().identities;
        if !daemon.generation().scopes_pins() || !ids.is_shared() {
            return;
        }
        let root = |agent: &AgentId| {
            ids.root_of(Some(agent))
                .map(|root| (agent.clone(), root.to_owned()))
        };
        ids.agents().iter().filter_map(root).collect()
    };
    for (agent, root) in pins {
        save_pin(daemon, conn, Some(&agent), &root, PinSource::SessionStart);
    }
}

/// Writes the linkage of a session; true if it has the name of an ended one again.
pub(crate) fn link(
    daemon: &Daemon,
    conn: &Conn,
    declared: &AgentId,
    purpose: Option<&str>,
) -> bool {
    let id = conn.record();
    let Some(before) = daemon.records.get(&id) else {
        return false;
    };
    let is_new = before.external_id.as_deref() != Some(declared.as_str());
    let heir = if is_new && !conn.state().identities.is_shared() {
        takeover::inherited_name(daemon, conn, declared)
    } else {
        None
    };
    daemon.records.update(&id, |record| {
        record.external_id = Some(declared.as_str().to_owned());
        record.purpose = purpose.map(str::to_owned).or(record.purpose.take());
        if let Some(name) = &heir {
            record.name.clone_from(name);
        }
    });
    if let Some(row) = conn.state().rows.get(declared) {
        daemon
            .records
            .update(row, |record| record.purpose = purpose.map(str::to_owned));
    }
    if let Err(error) = daemon.state_db.link(&id, declared.as_str()) {
        report(daemon, conn, "linkage", &error);
    }
    save_name(daemon, conn);
    save_agent_pins(daemon, conn);
    heir.is_some()
}
