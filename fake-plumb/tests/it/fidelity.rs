//! The fidelity suite: a plumb held against the transcript and the facts of the measured one.
//!
//! Runs the program in `FIDELITY_PLUMB`, else the fake as generation 0.17, under private HOME and XDG roots with
//! `PLUMB_ACCOUNT_AUTHORITY=false`. It never calls `stop` or `restart`: a real one is not scoped by HOME.

mod facts;
mod tolerated;
mod transcript;
