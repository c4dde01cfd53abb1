//! The loops under test: what each is, how it gets here, and how it is started.
//!
//! Called by the command line and by staging. It must never judge.

pub mod dsh;
