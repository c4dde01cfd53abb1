//! End-to-end tests of the one binary.

#![expect(
    clippy::unwrap_used,
    reason = "what a test cannot do without ends it on the spot"
)]

mod documents;
mod explain;
mod pins;
