//! The two peers that the command line brings: a scripted model and a plumb program.
//!
//! The drive knows them only through these; it cannot tell a fake plumb from a real one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::scenario::Peer;

/// Makes tenants: one path of a scripted model for each launch of each scenario.
pub trait ModelHost: Send + Sync {
    /// Makes a tenant under an unused name.
    fn tenant(&self, name: &str, script: Value) -> Result<Box<dyn Tenant>, HostError>;

    /// Requests that came outside every tenant's path since the last call, in words.
    fn stray(&self) -> Vec<String>;
}

/// One tenant.
pub trait Tenant: Send {
    /// The base URL that the agent's provider row names.
    fn base_url(&self) -> String;

    /// Opens a gate.
    fn open(&self, gate: &str);

    /// The journal, as it is written; once.
    fn journal(&mut self) -> UnboundedReceiver<Value>;

    /// Closes the tenant; gives the steps that were never asked for, as session and step.
    fn finish(self: Box<Self>) -> BoxFuture<'static, Vec<(String, usize)>>;
}

/// Gives the plumb for a scenario.
pub trait PlumbHost: Send + Sync {
    /// The plumb that behaves as the scenario below `root` asks.
    fn plumb(&self, peer: &Peer, root: &Path) -> Result<PlumbProgram, HostError>;

    /// Hears of a namespace that was made in it, for the scenario below `root`.
    fn made(&self, _namespace: &str, _root: &Path) {}

    /// Why the whole run has to stop, once it has to.
    fn stopped(&self) -> Option<String> {
        None
    }
}

/// A plumb program and what it has to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlumbProgram {
    /// The program.
    pub program: PathBuf,
    /// The account's own HOME and XDG roots, and what else its environment has to have.
    pub account: BTreeMap<String, String>,
    /// Where it keeps its records, as it says itself.
    pub sessions: PathBuf,
    /// Its log, as it says itself.
    pub log: PathBuf,
    /// Its state folder, as it says itself.
    pub state: PathBuf,
    /// Assumptions that its use rests on.
    pub assumes: Vec<String>,
    /// How the scenario is kept apart in it.
    pub apart: Apart,
}

/// How a scenario is kept apart in its plumb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Apart {
    /// By a namespace of its own, in a daemon that others use too.
    Namespace,
    /// By a home of its own, in which its serves start a daemon. The daemon is ended with the scenario.
    Home(PathBuf),
}

/// A peer that cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct HostError {
    /// What is wrong, in words.
    pub what: String,
}
