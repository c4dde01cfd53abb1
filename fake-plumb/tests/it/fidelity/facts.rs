//! The facts of the measured plumb that the transcript does not show, one test each.
//!
//! Each holds for the real 0.17 build too; nothing here depends on how the fake is made.

mod identity;
mod mail;
mod program;
mod wire;

/// The `ended_at` of a live record.
const LIVE: &str = "0001-01-01T00:00:00Z";
