//! The ledger of effects: one line for each tool call that was carried out, answered or not.
//!
//! Written by the daemon, read by anybody who wants to count; append-only, one write a line.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::namespace::NamespaceId;
use crate::record::SessionId;

/// One executed call.
#[derive(Debug, Serialize)]
pub(crate) struct Effect<'a> {
    /// RFC 3339 with nanoseconds.
    pub(crate) time: String,
    pub(crate) namespace: Option<&'a NamespaceId>,
    pub(crate) record: &'a SessionId,
    /// The agent that the call was attributed to.
    pub(crate) agent: Option<&'a str>,
    pub(crate) tool: &'a str,
    /// The arguments as the tool saw them: aliases resolved, stamps and proofs taken out.
    pub(crate) arguments: &'a Map<String, Value>,
}

/// The open ledger.
#[derive(Debug)]
pub(crate) struct Ledger(File);

impl Ledger {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .map(Self)
    }

    /// Appends one effect.
    pub(crate) fn append(&self, effect: &Effect<'_>) -> io::Result<()> {
        let mut line = serde_json::to_vec(effect)?;
        line.push(b'\n');
        (&self.0).write_all(&line)
    }
}
