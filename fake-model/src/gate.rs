//! Gates: names that are closed until somebody opens them, once and for good.
//! Waited for by the server before a reply, opened through the tenant. They know no deadline; who waits brings one.

use std::collections::BTreeSet;

use tokio::sync::watch;

/// The gates of one tenant.
#[derive(Debug)]
pub(crate) struct Gates {
    known: BTreeSet<String>,
    open: watch::Sender<BTreeSet<String>>,
}

/// Nothing in the script waits for a gate of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no reply waits for gate `{name}`; the script has {known:?}")]
pub struct UnknownGate {
    /// The name that was given.
    pub name: String,
    /// The gates of the script.
    pub known: Vec<String>,
}

impl Gates {
    pub(crate) fn new(known: BTreeSet<String>) -> Self {
        Self {
            known,
            open: watch::Sender::new(BTreeSet::new()),
        }
    }

    /// Those of the wanted gates that are closed.
    pub(crate) fn closed(&self, wanted: &[String]) -> Vec<String> {
        let open = self.open.borrow();
        wanted
            .iter()
            .filter(|gate| !open.contains(*gate))
            .cloned()
            .collect()
    }

    /// Returns when all the wanted gates are open.
    pub(crate) async fn passed(&self, wanted: &[String]) {
        let mut seen = self.open.subscribe();
        // The sender lives as long as `self`, so waiting can only end by the gates being open.
        drop(
            seen.wait_for(|open| wanted.iter().all(|gate| open.contains(gate)))
                .await,
        );
    }

    /// Whether a gate of the script is closed.
    pub(crate) fn is_closed(&self, name: &str) -> Result<bool, UnknownGate> {
        if self.known.contains(name) {
            return Ok(!self.open.borrow().contains(name));
        }
        Err(UnknownGate {
            name: name.to_owned(),
            known: self.known.iter().cloned().collect(),
        })
    }

    /// Opens a gate; those who wait for it go on.
    pub(crate) fn open(&self, name: &str) {
        self.open
            .send_if_modified(|open| open.insert(name.to_owned()));
    }
}
