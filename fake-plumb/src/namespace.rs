//! Namespaces: the daemon's book of them, and who may join one.
//!
//! Owned by the daemon; the commands reach it over the control socket. A token is kept as a hash only and is
//! shown once, in the answer to `create`. That there is such a book is the seed's word; its shape is assumed (A1).

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::assumed;
use crate::fault::{Fault, Faults};
use crate::process::Process;
use crate::resume::{hash, random};
use crate::time::{Clock, after, since};

/// Names a namespace in records and listings; not a secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct NamespaceId(String);

impl NamespaceId {
    pub(crate) fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NamespaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The secret that lets a serve join. Its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    pub(crate) fn from_text(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The text itself: for the control socket, and once for whoever created the namespace.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

/// Where a namespace is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Active,
    Revoked,
    Expired,
}

/// One namespace as the book keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Namespace {
    pub(crate) id: NamespaceId,
    token_hash: String,
    pub(crate) state: State,
    pub(crate) owner: Option<Process>,
    pub(crate) created_at: String,
    pub(crate) expires_at: String,
    /// When the owner was first seen gone.
    owner_gone_at: Option<String>,
}

/// What `create` asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Wanted {
    pub(crate) ttl_ms: u64,
    pub(crate) owner_pid: Option<u32>,
}

/// Why the book says no. No message repeats a token.
#[derive(Debug, Error)]
pub(crate) enum NamespaceError {
    #[error("no namespace has this token; create one with `plumb namespace create`")]
    UnknownToken,
    #[error("namespace {id} is {}; create a new one with `plumb namespace create`", state_word(*state))]
    NotActive { id: NamespaceId, state: State },
    #[error(
        "owner pid {pid} is not a running process; give the pid of the process that owns the namespace"
    )]
    NoOwner { pid: u32 },
    #[error("namespace book {path}")]
    Io { path: PathBuf, source: io::Error },
}

/// The word that listings use.
pub(crate) fn state_word(state: State) -> &'static str {
    match state {
        State::Active => "active",
        State::Revoked => "revoked",
        State::Expired => "expired",
    }
}

/// Every namespace of one daemon's data folder; it outlives the daemon.
#[derive(Debug)]
pub(crate) struct Book {
    path: PathBuf,
    clock: Clock,
    keeps_released: bool,
    namespaces: Vec<Namespace>,
}

impl Book {
    /// Reads the book that an earlier daemon left.
    pub(crate) fn open(data: &Path, clock: Clock, faults: &Faults) -> Result<Self, NamespaceError> {
        let path = data.join("namespaces.json");
        let namespaces = match std::fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| NamespaceError::Io {
                path: path.clone(),
                source: error.into(),
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(NamespaceError::Io { path, source }),
        };
        Ok(Self {
            path,
            clock,
            keeps_released: faults.has(Fault::NamespaceNotRevoked),
            namespaces,
        })
    }

    /// Makes a namespace; the token is in the answer and nowhere else.
    pub(crate) fn create(&mut self, wanted: &Wanted) -> Result<(Namespace, Token), NamespaceError> {
        let owner = match wanted.owner_pid {
            None => None,
            Some(pid) => Some(Process::look(pid).ok_or(NamespaceError::NoOwner { pid })?),
        };
        let now = Timestamp::now();
        let ttl = self.clock.scaled(Duration::from_millis(wanted.ttl_ms));
        let token = Token(format!(
            "{}{}",
            assumed::TOKEN_PREFIX,
            URL_SAFE_NO_PAD.encode(random::<16>())
        ));
        let namespace = Namespace {
            id: NamespaceId(format!(
                "{}{:08x}",
                assumed::ID_PREFIX,
                u32::from_be_bytes(random())
            )),
            token_hash: hash(token.reveal()),
            state: State::Active,
            owner,
            created_at: now.to_string(),
            expires_at: after(now, ttl).to_string(),
            owner_gone_at: None,
        };
        self.namespaces.push(namespace.clone());
        self.save()?;
        Ok((namespace, token))
    }

    /// Every namespace, oldest first, as of now.
    pub(crate) fn list(&self) -> &[Namespace] {
        &self.namespaces
    }

    /// The namespace that a token opens, if it is still active.
    pub(crate) fn resolve(&self, token: &Token) -> Result<NamespaceId, NamespaceError> {
        let namespace = self.find(token)?;
        match namespace.state {
            State::Active => Ok(namespace.id.clone()),
            state => Err(NamespaceError::NotActive {
                id: namespace.id.clone(),
                state,
            }),
        }
    }

    /// Ends a namespace; releasing it twice is no error.
    pub(crate) fn release(&mut self, token: &Token) -> Result<Namespace, NamespaceError> {
        let id = self.find(token)?.id.clone();
        let keeps_released = self.keeps_released;
        let mut released = None;
        for namespace in self
            .namespaces
            .iter_mut()
            .filter(|namespace| namespace.id == id)
        {
            let mut said = namespace.clone();
            if said.state == State::Active {
                said.state = State::Revoked;
            }
            if !keeps_released {
                namespace.state = said.state;
            }
            released = Some(said);
        }
        self.save()?;
        released.ok_or(NamespaceError::UnknownToken)
    }

    pub(crate) fn is_active(&self, id: &NamespaceId) -> bool {
        self.namespaces
            .iter()
            .any(|own| own.id == *id && own.state == State::Active)
    }

    /// Lets time pass: expires what is over its end or whose owner is gone for too long.
    pub(crate) fn tick(&mut self) -> Result<(), NamespaceError> {
        let now = Timestamp::now();
        let grace = self.clock.scaled(assumed::ORPHAN_GRACE);
        let mut has_changed = false;
        for namespace in self
            .namespaces
            .iter_mut()
            .filter(|own| own.state == State::Active)
        {
            if namespace.owner_gone_at.is_none()
                && namespace.owner.is_some_and(|owner| !owner.is_alive())
            {
                namespace.owner_gone_at = Some(now.to_string());
                has_changed = true;
            }
            let is_past = |at: &str| at.parse::<Timestamp>().is_ok_and(|at| at <= now);
            let is_orphaned = namespace.owner_gone_at.as_deref().is_some_and(|gone| {
                gone.parse::<Timestamp>()
                    .is_ok_and(|gone| after(gone, grace) <= now)
            });
            if is_past(&namespace.expires_at) || is_orphaned {
                namespace.state = State::Expired;
                has_changed = true;
            }
        }
        let before = self.namespaces.len();
        self.namespaces.retain(|own| {
            own.state == State::Active
                || own
                    .created_at
                    .parse::<Timestamp>()
                    .is_ok_and(|at| since(at) < assumed::ENDED_NAMESPACE_STAYS)
        });
        if has_changed || self.namespaces.len() != before {
            self.save()?;
        }
        Ok(())
    }

    fn find(&self, token: &Token) -> Result<&Namespace, NamespaceError> {
        let hash = hash(token.reveal());
        self.namespaces
            .iter()
            .find(|own| own.token_hash == hash)
            .ok_or(NamespaceError::UnknownToken)
    }

    fn save(&self) -> Result<(), NamespaceError> {
        let failed = |source| NamespaceError::Io {
            path: self.path.clone(),
            source,
        };
        let dir = self.path.parent().unwrap_or(Path::new("/"));
        let mut temp = tempfile::NamedTempFile::new_in(dir).map_err(failed)?;
        let text = serde_json::to_vec(&self.namespaces).map_err(|error| failed(error.into()))?;
        temp.write_all(&text).map_err(failed)?;
        temp.persist(&self.path)
            .map_err(|error| failed(error.error))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book(dir: &tempfile::TempDir, factor: &str) -> Book {
        Book::open(
            dir.path(),
            Clock::parse(factor).unwrap(),
            &Faults::default(),
        )
        .unwrap()
    }

    const HALF_AN_HOUR: Wanted = Wanted {
        ttl_ms: 1_800_000,
        owner_pid: None,
    };

    #[test]
    fn a_token_opens_its_namespace_until_release_and_also_for_the_next_daemon() {
        let dir = tempfile::tempdir().unwrap();
        let (made, token) = book(&dir, "1").create(&HALF_AN_HOUR).unwrap();
        let mut book = book(&dir, "1");
        assert_eq!(book.resolve(&token).unwrap(), made.id);
        assert_eq!(book.release(&token).unwrap().state, State::Revoked);
        assert!(matches!(
            book.resolve(&token),
            Err(NamespaceError::NotActive {
                state: State::Revoked,
                ..
            })
        ));
        assert!(matches!(
            book.resolve(&Token::from_text("nst-x")),
            Err(NamespaceError::UnknownToken)
        ));
    }

    #[test]
    fn the_book_on_disk_does_not_hold_the_token() {
        let dir = tempfile::tempdir().unwrap();
        let (made, token) = book(&dir, "1").create(&HALF_AN_HOUR).unwrap();
        let text = std::fs::read_to_string(dir.path().join("namespaces.json")).unwrap();
        assert!(text.contains(made.id.as_str()) && !text.contains(token.reveal()));
        assert!(!format!("{token:?}").contains(token.reveal()));
    }

    #[test]
    fn a_namespace_ends_with_its_time_and_five_minutes_after_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let mut book = book(&dir, "1e9");
        let (_, timed) = book
            .create(&Wanted {
                ttl_ms: 1,
                owner_pid: None,
            })
            .unwrap();
        let far = Wanted {
            ttl_ms: u64::MAX >> 1,
            owner_pid: Some(std::process::id()),
        };
        let (_, owned) = book.create(&far).unwrap();
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let (_, orphaned) = book
            .create(&Wanted {
                owner_pid: Some(child.id()),
                ..far
            })
            .unwrap();
        child.stdin.take();
        child.wait().unwrap();
        let deadline = std::time::Instant::now() + Duration::from_secs(5);
        while book.resolve(&orphaned).is_ok() {
            assert!(std::time::Instant::now() < deadline, "orphan still active");
            book.tick().unwrap();
        }
        assert!(matches!(
            book.resolve(&timed),
            Err(NamespaceError::NotActive {
                state: State::Expired,
                ..
            })
        ));
        assert!(book.resolve(&owned).is_ok());
        let none = Wanted {
            ttl_ms: 1,
            owner_pid: Some(u32::MAX >> 1),
        };
        assert!(matches!(
            book.create(&none),
            Err(NamespaceError::NoOwner { .. })
        ));
    }
}
