//! This crate's own tests of living processes, against the hidden verbs of `examples/verbs.rs`.

#![expect(
    clippy::unwrap_used,
    reason = "what a test cannot do without ends it on the spot"
)]

mod bench;
mod guard;
mod hostile;
mod namespace;
mod probe;
mod real;
mod supervise;
mod tap;
mod warden;
