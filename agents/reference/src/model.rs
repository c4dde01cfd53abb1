//! The model: an OpenAI-compatible server that streams its replies.
//!
//! `client` asks it, `sse` cuts the bytes into events, `reply` puts the pieces together, `request` says what it is sent.

pub mod client;
pub mod reply;
pub mod request;
pub mod sse;
