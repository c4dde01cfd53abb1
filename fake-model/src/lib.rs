//! A scripted, strict, OpenAI-compatible model server for tests.
//!
//! A test gives it a script: whose conversation gets which replies, in which order, and which of them wait at a gate.
//! It answers what the script knows, refuses everything else with a reason, and writes a journal of all it saw.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use fake_model::FakeModel;
//! use serde_json::json;
//!
//! let model = FakeModel::start().await?;
//! let tenant = model.tenant("demo", &json!({
//!     "sessions": [{"name": "main", "opening": "[main]"}],
//!     "replies": [
//!         {"session": "main", "step": 0, "reply": {"calls": [{"tool": {"name": "bash"}, "arguments": {"command": "pwd"}}]}},
//!         {"session": "main", "step": 1, "gates": ["after-look"], "reply": {"say": "done"}}
//!     ],
//!     "title": "A title"
//! }))?;
//! // Point an OpenAI client at `tenant.base_url()`, watch `tenant.take_events()`, and let the second reply go:
//! tenant.open("after-look")?;
//! let report = tenant.finish().await;
//! assert_eq!(report.unused.len(), 2);
//! model.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! - **Conversations** are told apart by content alone: the last user message that begins with a session's `opening` decides.
//!   A request without `tools` asks for a title. Order of arrival never matters.
//! - **The same bytes again** are a retry and get the same reply.
//! - **Gates** hold a reply before its headers until all of them are open.
//! - **Laws** of the conversation (each call answered once, the history repeats what was sent, the tools stay the same, …)
//!   are checked on every turn; a breach is an event, not a refusal.
//! - **Faults** are positioned and named, never random: see [`Script`].
//!
//! It knows HTTP and its script; it knows nothing of the agents that talk to it.

mod capture;
mod chat;
mod cli;
mod control;
mod delivery;
mod desk;
mod echo;
mod event;
mod fragment;
mod gate;
mod history;
mod journal;
mod model;
mod recognise;
mod reply;
mod report;
mod room;
mod script;
mod server;
mod stream;
mod tool;
mod wire;

pub use capture::CaptureError;
pub use cli::main_with;
pub use event::{At, BodyText, Breach, Event, Kind, Law, Replied, RequestSeen, Side, What};
pub use gate::UnknownGate;
pub use journal::Events;
pub use model::{FakeModel, Remote, Tenant, TenantError};
pub use report::{Report, StepRef};
pub use script::{Script, ScriptError};
