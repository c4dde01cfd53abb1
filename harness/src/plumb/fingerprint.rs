//! Takes the fingerprint of the owner's plumb: its daemon, its socket, its records and namespaces as they are now.
//!
//! Called before and after a host run. Records are read as files and the socket is looked at, never dialled: a dial
//! alone leaves a record (measured). It must never use a command that lists sessions or mail, because a listing deletes.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;

use serde_json::Value;

use super::cli::{Plumb, PlumbError};
use super::dialect::{Dialect, Service};
use super::records::{self, Record};
use crate::guard::certificate::{Fingerprint, Mark, Phase};
use crate::supervise::process::ProcessId;

/// Why there is no fingerprint.
#[derive(Debug, thiserror::Error)]
pub enum FingerprintError {
    /// The namespaces cannot be listed.
    #[error(transparent)]
    Plumb(#[from] PlumbError),
    /// The list of namespaces cannot be read.
    #[error("the list of namespaces has no {what} at `{pointer}`")]
    List {
        /// What.
        what: &'static str,
        /// Where.
        pointer: String,
    },
    /// The records cannot be read.
    #[error("read the records in `{path}`: {source}")]
    Records {
        /// Their folder.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Takes it.
pub fn take(
    plumb: &Plumb,
    dialect: &Dialect,
    service: &Service,
    pid: u32,
) -> Result<Fingerprint, FingerprintError> {
    let list: Vec<&str> = dialect.list.iter().map(String::as_str).collect();
    let namespaces = namespaces(&plumb.succeed(&list)?, dialect)?;
    let found = records::read(&service.sessions).map_err(|source| FingerprintError::Records {
        path: service.sessions.clone(),
        source,
    })?;
    let field = &dialect.record_namespace;
    Ok(Fingerprint {
        daemon: ProcessId::of(pid),
        socket: std::fs::symlink_metadata(&service.socket)
            .ok()
            .map(|it| it.ino()),
        records: found
            .read
            .iter()
            .map(|(name, record)| (name.clone(), mark(record, field)))
            .collect(),
        namespaces,
    })
}

fn mark(record: &Record, field: &str) -> Mark {
    Mark {
        namespace: record.namespace(field).to_owned(),
        external_id: record.external_id().to_owned(),
        folder: record.folder().to_owned(),
        phase: if record.ended() {
            Phase::Ended
        } else {
            Phase::Live
        },
    }
}

fn namespaces(
    answer: &[u8],
    dialect: &Dialect,
) -> Result<BTreeMap<String, String>, FingerprintError> {
    let missing = |what, pointer: &str| FingerprintError::List {
        what,
        pointer: pointer.to_owned(),
    };
    let answer: Value = serde_json::from_slice(answer).map_err(|_| missing("JSON", ""))?;
    let rows = answer
        .pointer(&dialect.list_rows)
        .and_then(Value::as_array)
        .ok_or_else(|| missing("array", &dialect.list_rows))?;
    let text = |row: &Value, what, pointer: &str| {
        row.pointer(pointer)
            .and_then(Value::as_str)
            .map(str::to_owned)
            .ok_or_else(|| missing(what, pointer))
    };
    rows.iter()
        .map(|row| {
            Ok((
                text(row, "id", &dialect.row_id)?,
                text(row, "state", &dialect.row_state)?,
            ))
        })
        .collect()
}
