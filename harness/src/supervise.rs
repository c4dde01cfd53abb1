//! Living processes: a warden for the run, a supervisor for each scenario, and the runner's handle on both.
//!
//! The runner calls [`Warden`]; the binary calls [`warden::main`] and [`supervisor::main`] for its hidden verbs. Nothing
//! else in this crate spawns a process. It must never end a process by name, nor signal a pid whose start time it did
//! not check; the runner itself is no subreaper and never waits for any child but the warden, because a
//! `waitpid(-1)` beside tokio takes the status of tokio's own children.

pub mod notice;
pub mod order;
pub mod process;
pub mod supervisor;
pub mod warden;

mod bereaved;
mod call;
mod ending;
mod launched;
mod namespace;
mod output;
pub(crate) mod reap;
mod runner;
mod scope;
mod ward;
mod wire;

pub use call::{Answer, CallError, Extra, run as call};
pub(crate) use output::PIPE;
pub(crate) use reap::status_of_exit;
pub use runner::{Closing, Said, SuperviseError, Supervisor, Warden, WardenProgram};
