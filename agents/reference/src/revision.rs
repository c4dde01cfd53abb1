//! The three revisions of the contract, and what each of them promises.
//!
//! Asked wherever a promise differs. A revision is always named by the caller; it must never be guessed.

use clap::ValueEnum;

/// A revision of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Revision {
    /// The RFC: an id, and a location with a jsonl backend; no registry, no home, no shell mark.
    Rfc,
    /// The registry of the note with the location of the RFC.
    Located,
    /// The note: registry, home and shell mark; the location is absent under every backend.
    Note,
}

impl Revision {
    /// Whether the environment is built from a registry of contributors, with the home and the shell mark in it.
    pub fn has_registry(self) -> bool {
        matches!(self, Self::Located | Self::Note)
    }

    /// Whether the persistence service says where a session's log is.
    pub fn has_location(self) -> bool {
        matches!(self, Self::Rfc | Self::Located)
    }
}
