//! What happens to a session: attached, moved, named, linked, shared, taken over.
//!
//! Called by the handshake and by the tools. Each function applies one decision to record, database and log.

use std::path::{Path, PathBuf};

use super::Daemon;
use super::conn::Conn;
use crate::fault::Fault;
use crate::identity::{AgentId, Noted, Pin, Scope};
use crate::log::Level;
use crate::record::{Health, Record, SessionId};
use crate::resume::Credential;
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

/// What came of a presented credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resumed {
    Session,
    /// Its session still has a connection; the credential stays good.
    PredecessorLives,
    /// Revoked, used, or never ours.
    Unknown,
}

impl Resumed {
    /// The word that serve reads.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Session => "resumed",
            Self::PredecessorLives => "predecessor-lives",
            Self::Unknown => "unknown",
        }
    }
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
        inherited_name(daemon, conn, declared)
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
    if let Err(error) = daemon.state_db.link(&id, declared.as_str(), purpose) {
        report(daemon, conn, "linkage", &error);
    }
    save_name(daemon, conn);
    save_agent_pins(daemon, conn);
    heir.is_some()
}

/// The name of the last ended session with the same external id, unless a live one has it.
fn inherited_name(daemon: &Daemon, conn: &Conn, declared: &AgentId) -> Option<String> {
    let namespace = conn.state().namespace.clone();
    let is_same = |record: &Record| {
        !record.is_live() && record.external_id.as_deref() == Some(declared.as_str())
    };
    let last = daemon
        .records
        .select(namespace.as_ref(), is_same)
        .into_iter()
        .max_by_key(|record| record.ended_at)?;
    (!daemon.records.is_name_taken(&last.name, &conn.record())).then_some(last.name)
}

/// Takes a session back over by credential.
pub(crate) fn resume(
    daemon: &Daemon,
    conn: &Conn,
    credential: &Credential,
    declared: &AgentId,
) -> Resumed {
    let found = match daemon.state_db.resumable(credential, declared.as_str()) {
        Ok(found) => found.and_then(|id| daemon.records.get(&id)),
        Err(error) => {
            report(daemon, conn, "credential", &error);
            None
        }
    };
    let Some(old) = found.filter(|old| old.namespace == conn.state().namespace) else {
        return Resumed::Unknown;
    };
    if old.id == conn.record() {
        // An earlier declaration took the session over and was then refused for another reason.
        return Resumed::Session;
    }
    if old.is_live() {
        return Resumed::PredecessorLives;
    }
    if !daemon.has_fault(Fault::IdChangedOnResume) {
        adopt(
            daemon,
            conn,
            &old,
            "daemon: resumed stable session ID by credential",
        );
    }
    Resumed::Session
}

/// Hangs a new credential on the connection's session; the one before is good for nothing from then on.
pub(crate) fn issue_credential(daemon: &Daemon, conn: &Conn) -> Option<Credential> {
    let credential = Credential::new();
    match daemon.state_db.issue(&conn.record(), &credential) {
        Ok(()) => Some(credential),
        Err(error) => {
            report(daemon, conn, "credential", &error);
            None
        }
    }
}

/// Takes the session back that this serve process had under an earlier daemon.
pub(super) fn adopt_replayed(daemon: &Daemon, conn: &Conn, old: &SessionId) -> bool {
    let proxy = conn.state().proxy.clone();
    let stored = proxy.and_then(|proxy| daemon.state_db.session_of(&proxy).ok().flatten());
    let Some(old) = stored
        .filter(|stored| stored == old)
        .and_then(|id| daemon.records.get(&id))
    else {
        return false;
    };
    if old.is_live() || old.namespace != conn.state().namespace {
        return false;
    }
    adopt(
        daemon,
        conn,
        &old,
        "daemon: adopted replayed stable session ID",
    );
    let keeps_linkage = daemon.generation().has_resume();
    let identity = daemon.state_db.identity(&old.id).unwrap_or_default();
    if let Some(external) = identity.external_id.as_deref().filter(|_| keeps_linkage) {
        let agent = AgentId::from_text(external);
        let mut state = conn.state_mut();
        state.identities.note(&agent);
        state.identities.declared = Some(agent);
    }
    daemon.records.update(&old.id, |record| {
        record.health = None;
        record.health_message = None;
        if !keeps_linkage {
            // Measured on 0.17.2: both are lost.
            record.external_id = None;
            record.purpose = None;
        }
    });
    true
}

/// Makes an ended record the connection's own and ends the one it was accepted under.
fn adopt(daemon: &Daemon, conn: &Conn, old: &Record, msg: &str) {
    let fresh_id = conn.record();
    let Some(fresh) = daemon.records.get(&fresh_id) else {
        return;
    };
    daemon.records.end(&fresh_id);
    let keeps_name = !daemon.records.is_name_taken(&old.name, &old.id);
    daemon.records.update(&old.id, |record| {
        record.ended_at = None;
        record.pid = fresh.pid;
        record.daemon_version = fresh.daemon_version;
        record.client_name = fresh.client_name;
        record.client_version = fresh.client_version;
        record.protocol_offered = fresh.protocol_offered;
        record.protocol_answered = fresh.protocol_answered;
        record.client_capabilities = fresh.client_capabilities;
        if !keeps_name {
            record.name.clone_from(&fresh.name);
        }
    });
    conn.state_mut().record = old.id.clone();
    save_name(daemon, conn);
    let fields = [
        ("adopted", old.id.as_str()),
        ("previous", fresh_id.as_str()),
    ];
    daemon.log.of(&conn.log_id(), Level::Info, msg, &fields);
}
