//! `session_state.db`: pins, names and resumable identities that outlive a connection and a daemon.
//!
//! Written by one daemon; read by anybody with sqlite. The tables of the facts, section 4, and one of our own.

use std::path::Path;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use crate::record::SessionId;
use crate::resume::Credential;

/// The schema of the facts (version 6); `resume_identity` is the fake's own.
const SCHEMA: &str = "
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT OR IGNORE INTO meta VALUES ('schema_version', '6');
CREATE TABLE IF NOT EXISTS pinned_workspace(
  proxy_session_id TEXT NOT NULL, logical_agent_id TEXT NOT NULL DEFAULT '', workspace TEXT NOT NULL,
  language TEXT NOT NULL, source TEXT NOT NULL, updated_at INTEGER NOT NULL,
  PRIMARY KEY (proxy_session_id, logical_agent_id));
CREATE TABLE IF NOT EXISTS session_names(
  proxy_session_id TEXT PRIMARY KEY, name TEXT NOT NULL, updated_at INTEGER NOT NULL,
  plumb_session_id TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS read_tracking(
  proxy_session_id TEXT NOT NULL, logical_agent_id TEXT NOT NULL DEFAULT '', path TEXT NOT NULL,
  updated_at INTEGER NOT NULL, PRIMARY KEY (proxy_session_id, logical_agent_id, path));
CREATE TABLE IF NOT EXISTS resume_identity(
  plumb_session_id TEXT PRIMARY KEY, external_id TEXT, credential_hash TEXT);
";

/// Who set a pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PinSource {
    SessionStart,
    Roots,
}

impl PinSource {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::SessionStart => "session_start",
            Self::Roots => "roots",
        }
    }
}

/// The open database.
#[derive(Debug)]
pub(crate) struct StateDb(Connection);

impl StateDb {
    pub(crate) fn open(data: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(data.join("session_state.db"))?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self(connection))
    }

    /// Pins a connection (`agent` empty) or one of its agents.
    pub(crate) fn pin(
        &self,
        proxy: &str,
        agent: &str,
        root: &Path,
        source: PinSource,
    ) -> rusqlite::Result<()> {
        self.0
            .prepare_cached(
                "INSERT OR REPLACE INTO pinned_workspace VALUES (?1, ?2, ?3, 'none', ?4, ?5)",
            )?
            .execute(params![
                proxy,
                agent,
                root.to_string_lossy(),
                source.as_str(),
                now_ms()
            ])?;
        Ok(())
    }

    /// Remembers which session a serve process has.
    pub(crate) fn name(&self, proxy: &str, name: &str, id: &SessionId) -> rusqlite::Result<()> {
        self.0
            .prepare_cached("INSERT OR REPLACE INTO session_names VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![proxy, name, now_ms(), id.as_str()])?;
        Ok(())
    }

    /// The session that a serve process had before.
    pub(crate) fn session_of(&self, proxy: &str) -> rusqlite::Result<Option<SessionId>> {
        self.0
            .query_row(
                "SELECT plumb_session_id FROM session_names WHERE proxy_session_id = ?1",
                [proxy],
                |row| row.get::<_, String>(0),
            )
            .optional()
            .map(|id| id.map(|id| SessionId::from_text(&id)))
    }

    /// Hangs a new credential on a session, in place of the one before.
    pub(crate) fn issue(&self, id: &SessionId, credential: &Credential) -> rusqlite::Result<()> {
        self.0
            .prepare_cached(
                "INSERT INTO resume_identity(plumb_session_id, credential_hash) VALUES (?1, ?2)
                 ON CONFLICT(plumb_session_id) DO UPDATE SET credential_hash = ?2",
            )?
            .execute(params![id.as_str(), credential.hash()])?;
        Ok(())
    }

    /// Stores a linkage; another one than before takes the credential away.
    pub(crate) fn link(&self, id: &SessionId, external: &str) -> rusqlite::Result<()> {
        self.0
            .prepare_cached(
                "INSERT INTO resume_identity(plumb_session_id, external_id) VALUES (?1, ?2)
                 ON CONFLICT(plumb_session_id) DO UPDATE SET
                   credential_hash = CASE WHEN external_id IS NULL OR external_id = ?2 THEN credential_hash END,
                   external_id = ?2",
            )?
            .execute(params![id.as_str(), external])?;
        Ok(())
    }

    /// What a session is linked to.
    pub(crate) fn external_id(&self, id: &SessionId) -> rusqlite::Result<Option<String>> {
        let sql = "SELECT external_id FROM resume_identity WHERE plumb_session_id = ?1";
        let found = self.0.query_row(sql, [id.as_str()], |row| row.get(0));
        found.optional().map(Option::flatten)
    }

    /// The session that a credential resumes, if it is linked to `external`.
    pub(crate) fn resumable(
        &self,
        credential: &Credential,
        external: &str,
    ) -> rusqlite::Result<Option<SessionId>> {
        self.0
            .query_row(
                "SELECT plumb_session_id FROM resume_identity WHERE credential_hash = ?1 AND external_id = ?2",
                params![credential.hash(), external],
                |row| row.get::<_, String>(0),
            )
            .optional()
            .map(|id| id.map(|id| SessionId::from_text(&id)))
    }

    /// Whether a session could still be resumed: its name is kept for it.
    pub(crate) fn is_recoverable(&self, id: &SessionId) -> bool {
        let count = self.0.query_row(
            "SELECT count(*) FROM resume_identity
             WHERE plumb_session_id = ?1 AND credential_hash IS NOT NULL AND external_id IS NOT NULL",
            [id.as_str()],
            |row| row.get::<_, i64>(0),
        );
        count.is_ok_and(|count| count > 0)
    }
}

fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_linkage_revokes_the_credential_and_the_same_one_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let db = StateDb::open(dir.path()).unwrap();
        let id = SessionId::from_text("e59b7e377676-53f28c37");
        let credential = Credential::new();
        db.issue(&id, &credential).unwrap();
        db.link(&id, "one").unwrap();
        db.link(&id, "one").unwrap();
        assert_eq!(db.resumable(&credential, "one").unwrap(), Some(id.clone()));
        assert_eq!(db.resumable(&credential, "two").unwrap(), None);
        assert!(db.is_recoverable(&id));
        db.link(&id, "two").unwrap();
        assert_eq!(db.resumable(&credential, "two").unwrap(), None);
        assert!(!db.is_recoverable(&id));
    }
}
