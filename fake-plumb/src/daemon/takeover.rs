//! One session in place of another: names that come back, replays after a restart, resumes by credential.
//!
//! Called by the handshake and by `session_start`. A session that still lives is never taken over.

use super::Daemon;
use super::conn::Conn;
use super::session::{report, save_name};
use crate::fault::Fault;
use crate::identity::AgentId;
use crate::log::Level;
use crate::record::{Record, SessionId};
use crate::resume::Credential;

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

/// The name of the last ended session with the same external id, unless a live one has it.
pub(super) fn inherited_name(daemon: &Daemon, conn: &Conn, declared: &AgentId) -> Option<String> {
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
    if old.is_live() && !daemon.has_fault(Fault::LivingTakenOver) {
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
    let external = daemon.state_db.external_id(&old.id).ok().flatten();
    if let Some(external) = external.filter(|_| keeps_linkage) {
        let agent = AgentId::from_text(&external);
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
