//! End-to-end tests of the fake, and the fidelity suite that holds it (or any plumb) against the measured facts.
//!
//! `fidelity::` runs the program in `FIDELITY_PLUMB` if that is set; everything else is about the fake alone.

mod fidelity;
mod identity;
mod laws;
mod mail;
mod mcp;
mod namespace;
mod processes;
mod second_opinion;
mod world;
