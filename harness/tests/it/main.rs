//! This crate's own tests of living processes, against the hidden verbs of `examples/verbs.rs`.

mod bench;
mod hostile;
mod namespace;
mod probe;
mod supervise;
mod tap;
mod warden;
