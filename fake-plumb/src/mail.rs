//! Notes between sessions: kept in the workspace, bound or not, delivered once.
//!
//! Called by the daemon's tools; the `mail` command counts through [`Mailroom::waiting`]. A claim is one
//! transaction, so that no two readers get the same note, whatever process they ask in.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, TransactionBehavior, params};
use thiserror::Error;
use tokio::sync::Notify;

use crate::fault::{Fault, Faults};
use crate::namespace::NamespaceId;
use crate::record::SessionId;
use crate::time::{Clock, after, nanos};

/// How long a note waits (facts, section 5).
pub(crate) const LIFETIME: Duration = Duration::from_hours(2);
/// The most notes that one call hands over (facts, section 5).
pub(crate) const AT_MOST: usize = 3;
/// The most notes in one conversation (facts, section 5).
const CONVERSATION_LIMIT: i64 = 10;
/// The longest body, in bytes (facts, section 5).
pub(crate) const BODY_LIMIT: usize = 2048;
/// Whom an unaddressed note is for.
pub(crate) const NEXT: &str = "next";

/// The table of the facts, section 5; `namespace` is the fake's own column.
const SCHEMA: &str = "
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
PRAGMA busy_timeout = 5000;
CREATE TABLE IF NOT EXISTS collab_rows(
  id INTEGER PRIMARY KEY, kind TEXT NOT NULL, author_session TEXT NOT NULL, author_id TEXT NOT NULL,
  body TEXT NOT NULL, path_globs TEXT NOT NULL DEFAULT '', addressee TEXT NOT NULL, created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL, conversation_id TEXT NOT NULL, delivered_at INTEGER NOT NULL DEFAULT 0,
  delivered_to TEXT NOT NULL DEFAULT '', origin_workspace TEXT NOT NULL, target_workspace TEXT NOT NULL,
  addressee_id TEXT NOT NULL DEFAULT '', delivered_to_id TEXT NOT NULL DEFAULT '',
  namespace TEXT NOT NULL DEFAULT '');
";

/// What a reader may claim, in SQL: ?1 now, ?2 its id, ?3 its name, ?4 its namespace.
const CLAIMABLE: &str =
    "delivered_at = 0 AND expires_at > ?1 AND author_id <> ?2 AND namespace = ?4 AND (
  (addressee = 'next' AND addressee_id = '') OR
  (addressee = ?3 COLLATE NOCASE AND addressee_id IN ('', ?2)))";

/// A session as the mailroom knows it.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    pub(crate) id: SessionId,
    pub(crate) name: String,
    pub(crate) namespace: Option<NamespaceId>,
}

impl Reader {
    fn namespace(&self) -> &str {
        self.namespace.as_ref().map_or("", NamespaceId::as_str)
    }
}

/// A note about to be sent.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    pub(crate) author: &'a Reader,
    pub(crate) body: &'a str,
    /// A session's name, or [`NEXT`].
    pub(crate) addressee: &'a str,
    /// The session it is bound to.
    pub(crate) bound: Option<&'a SessionId>,
    pub(crate) conversation: &'a str,
}

/// A note that was handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) from: String,
    pub(crate) body: String,
    pub(crate) conversation: String,
    pub(crate) is_for_next: bool,
    pub(crate) created_at: i64,
}

/// A note of one's own that nobody has read.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) addressee: String,
    pub(crate) created_at: i64,
}

/// Why a note could not be kept or read.
#[derive(Debug, Error)]
pub(crate) enum MailError {
    #[error(
        "conversation {id} has {CONVERSATION_LIMIT} messages already; start a new one by leaving conversation_id out"
    )]
    ConversationFull { id: String },
    #[error("mail folder {path}")]
    Folder {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("mail store")]
    Store(#[from] rusqlite::Error),
}

/// The mail of every workspace of one daemon.
#[derive(Debug)]
pub(crate) struct Mailroom {
    open: RefCell<BTreeMap<PathBuf, Open>>,
    clock: Clock,
    delivers_twice: bool,
    echoed: RefCell<BTreeSet<(PathBuf, i64)>>,
    /// Wakes whoever waits for mail.
    pub(crate) news: Notify,
}

/// An open store, with the file it was opened on: a workspace may be removed and made again.
#[derive(Debug)]
struct Open {
    connection: Connection,
    inode: u64,
}

impl Mailroom {
    pub(crate) fn new(clock: Clock, faults: &Faults) -> Self {
        Self {
            open: RefCell::default(),
            clock,
            delivers_twice: faults.has(Fault::MailTwice),
            echoed: RefCell::default(),
            news: Notify::new(),
        }
    }

    /// Keeps a note and wakes the waiting.
    pub(crate) fn send(&self, root: &Path, draft: &Draft<'_>) -> Result<(), MailError> {
        let store = store_path(root);
        let folder = store.parent().unwrap_or(root);
        fs::create_dir_all(folder).map_err(|source| MailError::Folder {
            path: folder.to_owned(),
            source,
        })?;
        self.with(root, |db| {
            let in_conversation: i64 = db.query_row(
                "SELECT count(*) FROM collab_rows WHERE conversation_id = ?1",
                [draft.conversation],
                |row| row.get(0),
            )?;
            if in_conversation >= CONVERSATION_LIMIT {
                return Err(MailError::ConversationFull { id: draft.conversation.to_owned() });
            }
            let now = Timestamp::now();
            db.prepare_cached(
                "INSERT INTO collab_rows(kind, author_session, author_id, body, addressee, created_at, expires_at,
                   conversation_id, origin_workspace, target_workspace, addressee_id, namespace)
                 VALUES ('note', ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10)",
            )?
            .execute(params![
                draft.author.name,
                draft.author.id.as_str(),
                draft.body,
                draft.addressee,
                nanos(now),
                nanos(after(now, self.clock.scaled(LIFETIME))),
                draft.conversation,
                root.to_string_lossy(),
                draft.bound.map_or("", SessionId::as_str),
                draft.author.namespace(),
            ])?;
            Ok(())
        })?;
        self.news.notify_waiters();
        Ok(())
    }

    /// Hands over up to [`AT_MOST`] notes, oldest first, and marks them as delivered in the same step.
    pub(crate) fn claim(&self, root: &Path, reader: &Reader) -> Result<Vec<Note>, MailError> {
        if !store_path(root).exists() {
            return Ok(Vec::new());
        }
        self.with(root, |db| {
            // A look without the write lock: most calls find nothing.
            if waiting_in(db, reader)? == 0 {
                return Ok(Vec::new());
            }
            let claim = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let now = nanos(Timestamp::now());
            let found = select(&claim, reader, now)?;
            for (row, _) in &found {
                if self.delivers_twice && self.echoed.borrow_mut().insert((root.to_owned(), *row)) {
                    continue;
                }
                claim
                    .prepare_cached(
                        "UPDATE collab_rows SET delivered_at = ?2, delivered_to = ?3, delivered_to_id = ?4 WHERE id = ?1",
                    )?
                    .execute(params![row, now, reader.name, reader.id.as_str()])?;
            }
            claim.commit()?;
            Ok(found.into_iter().map(|(_, note)| note).collect())
        })
    }

    /// How old each note is that a reader could claim now, in seconds, oldest first. Claims nothing.
    pub(crate) fn waiting(&self, root: &Path, reader: &Reader) -> Result<Vec<u64>, MailError> {
        if !store_path(root).exists() {
            return Ok(Vec::new());
        }
        self.with(root, |db| {
            let now = nanos(Timestamp::now());
            let sql = format!(
                "SELECT created_at FROM collab_rows WHERE {CLAIMABLE} ORDER BY created_at, id"
            );
            let mut ages = db.prepare_cached(&sql)?;
            let key = params![now, reader.id.as_str(), reader.name, reader.namespace()];
            let ages = ages.query_map(key, |row| row.get::<_, i64>(0))?;
            ages.map(|created| Ok(u64::try_from((now - created?) / 1_000_000_000).unwrap_or(0)))
                .collect()
        })
    }

    /// The reader's own notes that still wait.
    pub(crate) fn unread_of(&self, root: &Path, author: &Reader) -> Result<Vec<Unread>, MailError> {
        if !store_path(root).exists() {
            return Ok(Vec::new());
        }
        self.with(root, |db| {
            let mut rows = db.prepare_cached(
                "SELECT addressee, created_at FROM collab_rows
                 WHERE author_id = ?1 AND delivered_at = 0 AND expires_at > ?2 ORDER BY created_at, id",
            )?;
            let rows = rows.query_map(params![author.id.as_str(), nanos(Timestamp::now())], |row| {
                Ok(Unread { addressee: row.get(0)?, created_at: row.get(1)? })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Closes the store of a workspace in which nobody works any more.
    pub(crate) fn close(&self, root: &Path) {
        self.open.borrow_mut().remove(root);
    }

    fn with<T>(
        &self,
        root: &Path,
        work: impl FnOnce(&mut Connection) -> Result<T, MailError>,
    ) -> Result<T, MailError> {
        let mut open = self.open.borrow_mut();
        let path = store_path(root);
        let on_disk = fs::metadata(&path).map_or(0, |meta| meta.ino());
        if open.get(root).is_none_or(|open| open.inode != on_disk) {
            let connection = Connection::open(&path)?;
            connection.execute_batch(SCHEMA)?;
            let inode = fs::metadata(&path).map_or(0, |meta| meta.ino());
            open.insert(root.to_owned(), Open { connection, inode });
        }
        let open = open.get_mut(root).expect("the store was opened just above");
        work(&mut open.connection)
    }
}

/// Where a workspace keeps its notes.
fn store_path(root: &Path) -> PathBuf {
    root.join(".plumb/collab.db")
}

fn waiting_in(db: &Connection, reader: &Reader) -> Result<i64, MailError> {
    let sql = format!("SELECT count(*) FROM collab_rows WHERE {CLAIMABLE}");
    let key = params![
        nanos(Timestamp::now()),
        reader.id.as_str(),
        reader.name,
        reader.namespace()
    ];
    Ok(db.prepare_cached(&sql)?.query_row(key, |row| row.get(0))?)
}

fn select(db: &Connection, reader: &Reader, now: i64) -> Result<Vec<(i64, Note)>, MailError> {
    let sql = format!(
        "SELECT id, author_session, body, conversation_id, addressee, created_at FROM collab_rows
         WHERE {CLAIMABLE} ORDER BY created_at, id LIMIT {AT_MOST}"
    );
    let mut rows = db.prepare_cached(&sql)?;
    let key = params![now, reader.id.as_str(), reader.name, reader.namespace()];
    let rows = rows.query_map(key, |row| {
        let note = Note {
            from: row.get(1)?,
            body: row.get(2)?,
            conversation: row.get(3)?,
            is_for_next: row.get::<_, String>(4)? == NEXT,
            created_at: row.get(5)?,
        };
        Ok((row.get(0)?, note))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests;
