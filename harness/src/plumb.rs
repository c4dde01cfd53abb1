//! Plumb as a program: how it is called and what its answers look like.
//!
//! Called by the supervisors and by the stage. It must never know whether the plumb behind the command line is a fake.

pub mod cli;
pub mod daemon_log;
pub mod debug_daemons;
pub mod dialect;
pub mod fingerprint;
pub mod gone;
pub mod private;
pub mod probe;
pub mod real;
pub mod records;
mod said;
pub mod secret;
