//! A stand-in for plumb: its command line, its daemon, its records, mail and namespaces.
//!
//! Called by the thin binary `fake-plumb` and by whatever program dispatches on that name. It knows nothing of
//! a harness, never answers with an invented result, and never lists, sweeps or signals processes by name.
//!
//! Beside plumb's own variables it reads four: `FAKE_PLUMB_AS` (0.17, 0.24 or 0.25, as `--as`),
//! `FAKE_PLUMB_FAULTS` (a comma-separated list of broken promises), `FAKE_PLUMB_CLOCK` (how much faster namespaces
//! and notes age) and `FAKE_PLUMB_ACCOUNT_HOME` (the home that stands for the OS account's). What it carried out is
//! in `effects.jsonl` in the state folder, one line a tool call.

mod args;
mod assumed;
mod cli;
mod daemon;
mod dirs;
mod effects;
mod fault;
mod generation;
mod hooks;
mod identity;
mod log;
mod logo;
mod mail;
mod mcp;
mod namespace;
mod process;
mod record;
mod resume;
mod serve;
mod service;
mod setting;
mod state_db;
mod time;
mod tool;

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the fake as if its command line were `argv`, `argv[0]` included, and gives its exit status.
pub fn main_with(argv: impl IntoIterator<Item = OsString>) -> ExitCode {
    cli::main(argv.into_iter().collect())
}
