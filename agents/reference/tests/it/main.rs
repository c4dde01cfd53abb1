//! The reference agent seen from outside, and each of its faults against the honest run.

#![expect(
    clippy::unwrap_used,
    reason = "what a test sets up must be there, helpers included"
)]

mod command_line;
mod faults;
mod mcp;
mod model;
mod observe;
mod room;
mod sessions;
