//! What the operations of one list share: the host, and everything that was given a name.
//!
//! A name is used once; `resume` may take one over.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use super::OpError;
use super::registry::State;
use crate::agent::Agent;
use crate::host::Host;
use crate::store::Backend;

/// The room of one list.
#[derive(Debug)]
pub(super) struct Room {
    /// The host.
    pub(super) host: Rc<Host>,
    /// Agents, live or disposed of.
    pub(super) sessions: BTreeMap<String, Rc<Agent>>,
    /// Prompts under way: how many events there were before.
    pub(super) prompts: BTreeMap<String, usize>,
    /// Background jobs.
    pub(super) jobs: BTreeMap<String, String>,
    /// Contributors, mounted or refused.
    pub(super) contributors: BTreeMap<String, State>,
    /// Mounted stubs.
    pub(super) stubs: Vec<String>,
    /// How many calls were made.
    pub(super) calls: u64,
    /// The backend that the host was composed with.
    pub(super) composed: Option<Backend>,
    /// The values of the environment at the last look, as digests.
    pub(super) environment: Option<BTreeMap<String, String>>,
    /// The code to exit with, once that was asked for.
    pub(super) exit: Option<u8>,
}

impl Room {
    /// An empty room.
    pub(super) fn new(host: &Rc<Host>) -> Self {
        Self {
            host: Rc::clone(host),
            sessions: BTreeMap::new(),
            prompts: BTreeMap::new(),
            jobs: BTreeMap::new(),
            contributors: BTreeMap::new(),
            stubs: Vec::new(),
            calls: 0,
            composed: host.store.borrow().backend().cloned(),
            environment: None,
            exit: None,
        }
    }

    /// The agent of a name.
    pub(super) fn agent(&self, name: &str) -> Result<Rc<Agent>, OpError> {
        self.sessions.get(name).cloned().ok_or_else(|| {
            let known: Vec<&str> = self.sessions.keys().map(String::as_str).collect();
            format!(
                "no session named \"{name}\"; there is: {}",
                known.join(", ")
            )
            .into()
        })
    }
}

/// How long an operation may wait.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
#[serde(transparent)]
pub(super) struct Within(u64);

impl Default for Within {
    fn default() -> Self {
        // As the driver of DeepSeek Harness has it.
        Self(60_000)
    }
}

impl Within {
    /// Waits; when it takes too long, says what was seen last.
    pub(super) async fn wait<T>(
        self,
        work: impl Future<Output = T>,
        seen: impl Fn() -> String,
    ) -> Result<T, OpError> {
        let limit = Duration::from_millis(self.0);
        let late = |_| format!("not done within {} ms; last seen: {}", self.0, seen()).into();
        tokio::time::timeout(limit, work).await.map_err(late)
    }
}
