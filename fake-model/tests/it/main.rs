//! The server as its clients see it: bytes on a socket in, bytes and events out. Nothing here looks inside the library.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic; clippy exempts the test functions, but not what they call"
)]
#![expect(
    clippy::large_futures,
    reason = "the time-out of a test wraps the whole future; nothing here is hot"
)]

mod client;
mod conversation;
mod faults;
mod gates;
mod program;
mod wire;
