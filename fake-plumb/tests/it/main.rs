//! End-to-end tests of the fake, and the fidelity suite that holds it (or any plumb) against the measured facts.
//!
//! `fidelity::` runs the program in `FIDELITY_PLUMB` if that is set; everything else is about the fake alone.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that cannot go on fails the test that called it"
)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "a JSON literal is given away where it is written"
)]

mod fidelity;
mod identity;
mod laws;
mod mail;
mod mcp;
mod namespace;
mod processes;
mod second_opinion;
mod world;
