//! The reference agent: a small honest loop that keeps every revision of the session identity contract.
//!
//! A program of its own, readable as a model of what an agent has to do; the suite calls it like any other agent. Read it
//! from `main_with` down: the command line makes `settings`, `host` composes them, `agent` and `turn` run a
//! conversation, `environment`, `registry` and `home` make what a command sees. It must never open a connection but to
//! its model, and never write outside its home, its sessions root and what it was told to write.

pub mod agent;
pub mod cli;
pub mod conversation;
pub mod environment;
pub mod fault;
pub mod home;
pub mod hook;
pub mod host;
pub mod model;
pub mod ops;
pub mod registry;
pub mod revision;
pub mod run;
pub mod session;
pub mod settings;
pub mod store;
pub mod tool;
pub mod turn;

pub use run::main_with;
