//! Persistence: where sessions are kept, and whether one session has a file of its own.
//!
//! Called at the end of a turn, on resume, and for the location. Asking for a location must never touch the disk.

pub mod jsonl;
pub mod listing;
pub mod shared;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::fault::{self, Faults};
use crate::session::Session;
use crate::session::header::Header;
use crate::session::id::SessionId;
use jsonl::{Compression, Jsonl, Live};
use shared::Shared;

/// A backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    /// One file for each session.
    Jsonl {
        /// Where the files lie, absolute.
        root: PathBuf,
        /// How they are written.
        compression: Compression,
    },
    /// One log for all sessions: no session has a file of its own.
    Shared {
        /// Where the log lies, absolute.
        root: PathBuf,
    },
    /// Keeps nothing and answers what it was told to.
    Stub {
        /// The answer to a location query.
        location: Option<Location>,
    },
}

/// Where a session's log is.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Location {
    /// The representation.
    pub kind: String,
    /// An absolute local path.
    pub path: PathBuf,
}

/// What went wrong with a log.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused.
    #[error("{verb} `{path}`: {source}")]
    File {
        /// What was tried.
        verb: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
    /// A line is no JSON, or is not what it should be.
    #[error("`{path}` line {line}: {what}")]
    Line {
        /// The file.
        path: PathBuf,
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// Nothing is stored under an id.
    #[error("session `{id}` does not exist under this backend")]
    Unknown {
        /// The id.
        id: SessionId,
    },
    /// An id that no file can carry.
    #[error("a session id must not be empty")]
    EmptyId,
    /// Another process writes to the session.
    #[error("session `{id}` is already owned by another process: end that one first")]
    Owned {
        /// The id.
        id: SessionId,
    },
    /// A session of that id is stored already.
    #[error("session `{id}` already exists: resume it, or take another id")]
    Exists {
        /// The id.
        id: SessionId,
    },
}

/// The active backend, and how far each live session has been written to it.
#[derive(Debug)]
pub struct Store {
    backend: Option<Backend>,
    live: BTreeMap<SessionId, Live>,
    faults: Faults,
}

impl Store {
    /// A store over a backend, or over none.
    pub fn new(backend: Option<Backend>, faults: Faults) -> Self {
        Self {
            backend,
            live: BTreeMap::new(),
            faults,
        }
    }

    /// The active backend.
    pub fn backend(&self) -> Option<&Backend> {
        self.backend.as_ref()
    }

    /// Puts another backend in place. It governs everything from now on; each live session is written to it whole.
    pub fn replace(&mut self, backend: Option<Backend>) {
        self.backend = backend;
        self.live.clear();
    }

    /// Where the session's log is or will be. Reads and writes nothing.
    pub fn locate(&self, header: &Header) -> Option<Location> {
        match self.backend.as_ref()? {
            Backend::Jsonl { root, compression } => {
                let path = Jsonl {
                    root,
                    compression: *compression,
                }
                .path(header)?;
                Some(Location {
                    kind: "jsonl".to_owned(),
                    path,
                })
            }
            Backend::Shared { .. } => None,
            Backend::Stub { location } => location.clone(),
        }
    }

    /// Refuses an id that is stored already.
    pub fn admit(&self, id: &SessionId) -> Result<(), StoreError> {
        match self.load(id) {
            Ok(_) => Err(StoreError::Exists { id: id.clone() }),
            Err(StoreError::Unknown { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Makes everything that a session has so far durable.
    pub fn flush(&mut self, session: &Session) -> Result<(), StoreError> {
        let id = &session.header().id;
        match &self.backend {
            Some(Backend::Jsonl { root, compression }) => {
                let jsonl = Jsonl {
                    root,
                    compression: *compression,
                };
                let mut live = match self.live.remove(id) {
                    Some(live) => live,
                    None => jsonl.open(session.header())?,
                };
                let written = fault::log::written(&self.faults, session);
                let done = jsonl.append(&mut live, &written);
                self.live.insert(id.clone(), live);
                done
            }
            Some(Backend::Shared { root }) => {
                let shared = Shared { root };
                let written = self
                    .live
                    .remove(id)
                    .map_or_else(|| shared.count(id), |live| Ok(live.events));
                let events =
                    shared.append(&fault::log::written(&self.faults, session), written?)?;
                self.live.insert(id.clone(), Live::without_file(events));
                Ok(())
            }
            Some(Backend::Stub { .. }) | None => Ok(()),
        }
    }

    /// A session as it was stored.
    pub fn load(&self, id: &SessionId) -> Result<Session, StoreError> {
        match &self.backend {
            Some(Backend::Jsonl { root, compression }) => {
                let jsonl = Jsonl {
                    root,
                    compression: *compression,
                };
                let log = jsonl
                    .find(id)?
                    .ok_or_else(|| StoreError::Unknown { id: id.clone() })?;
                Ok(Session::stored(log.header, log.events))
            }
            Some(Backend::Shared { root }) => Shared { root }.load(id),
            Some(Backend::Stub { .. }) | None => Err(StoreError::Unknown { id: id.clone() }),
        }
    }

    /// Takes a stored session over for writing; fails while another process has it.
    pub fn claim(&mut self, header: &Header) -> Result<(), StoreError> {
        if let Some(Backend::Jsonl { root, compression }) = &self.backend {
            let live = Jsonl {
                root,
                compression: *compression,
            }
            .open(header)?;
            self.live.insert(header.id.clone(), live);
        }
        Ok(())
    }

    /// Lets a session go that is no longer live.
    pub fn release(&mut self, id: &SessionId) {
        self.live.remove(id);
    }
}
