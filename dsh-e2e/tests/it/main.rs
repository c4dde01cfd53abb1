//! End-to-end tests of the shipped binary. They drive real dsh wherever dsh is meant.

#![expect(
    clippy::unwrap_used,
    reason = "what a test cannot do without ends it on the spot"
)]

mod container;
mod documents;
mod ends;
mod explain;
mod guard;
mod host_daemon;
mod installed;
mod isolation;
mod main_job;
mod matrix;
mod pins;
mod red_control;
mod refusals;
mod room;
mod sandbox;
mod tripwire;
mod world;
