//! Who speaks on a connection: the set of ids it ever saw, and where each of its agents works.
//!
//! Pure state and decisions, owned by one connection; [`crate::tool`] applies what is decided here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::generation::Generation;
use crate::state_db::PinSource;

/// The id of a logical agent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AgentId(String);

impl AgentId {
    pub(crate) fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a connection or an agent works, and who said so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pin {
    pub(crate) root: PathBuf,
    /// Nothing if it is only a hint: the working directory of serve.
    pub(crate) source: Option<PinSource>,
}

impl Pin {
    fn is_sticky(&self) -> bool {
        self.source == Some(PinSource::SessionStart)
    }
}

/// How far a pin reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Connection,
    Agent(AgentId),
}

impl Scope {
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Agent(_) => "agent",
        }
    }
}

/// Whether the caller asked for a re-pin in spite of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Force {
    Yes,
    No,
}

/// What a pin request comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pinning {
    /// It already works there.
    Stays,
    /// It had no place before, or a hint only.
    Attached,
    Moved {
        from: PathBuf,
    },
    Refused {
        from: PathBuf,
    },
}

/// What noting an id did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    Known,
    First,
    /// The second id: the connection is shared from now on.
    BecameShared,
    Later,
}

/// All that a connection knows about its speakers.
#[derive(Debug, Default)]
pub(crate) struct Identities {
    seen: Vec<AgentId>,
    /// The last `session_start.session_id` that was accepted.
    pub(crate) declared: Option<AgentId>,
    pub(crate) pin: Option<Pin>,
    shards: BTreeMap<AgentId, PathBuf>,
    refused: BTreeSet<AgentId>,
}

impl Identities {
    /// Adds an id; the set only grows.
    pub(crate) fn note(&mut self, agent: &AgentId) -> Noted {
        if self.seen.contains(agent) {
            return Noted::Known;
        }
        self.seen.push(agent.clone());
        match self.seen.len() {
            1 => Noted::First,
            2 => Noted::BecameShared,
            _ => Noted::Later,
        }
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.seen.len() > 1
    }

    pub(crate) fn agents(&self) -> &[AgentId] {
        &self.seen
    }

    /// Where a call of `agent` works.
    pub(crate) fn root_of(&self, agent: Option<&AgentId>) -> Option<&Path> {
        let shard = agent.and_then(|agent| self.shards.get(agent));
        shard
            .or(self.pin.as_ref().map(|pin| &pin.root))
            .map(PathBuf::as_path)
    }

    /// One declared id arms nothing: agents have pins of their own from the second id on.
    pub(crate) fn scope_for(&self, agent: Option<&AgentId>) -> Scope {
        match agent {
            Some(agent) if self.pin.is_some() && self.seen.iter().any(|seen| seen != agent) => {
                Scope::Agent(agent.clone())
            }
            _ => Scope::Connection,
        }
    }

    /// Decides a `session_start` with a workspace and applies it unless it is refused.
    pub(crate) fn repin(
        &mut self,
        scope: &Scope,
        root: &Path,
        force: Force,
        generation: Generation,
    ) -> Pinning {
        let pinning = match scope {
            Scope::Connection => self.decide_connection(root, force),
            Scope::Agent(agent) => self.decide_agent(agent, root, force, generation),
        };
        match (&pinning, scope) {
            (Pinning::Refused { .. }, Scope::Agent(agent)) => {
                self.refused.insert(agent.clone());
            }
            (Pinning::Refused { .. }, Scope::Connection) => {}
            (_, Scope::Connection) => {
                self.pin = Some(Pin {
                    root: root.to_owned(),
                    source: Some(PinSource::SessionStart),
                });
            }
            (_, Scope::Agent(agent)) => {
                self.refused.remove(agent);
                if matches!(pinning, Pinning::Moved { .. }) {
                    self.shards.insert(agent.clone(), root.to_owned());
                }
            }
        }
        pinning
    }

    fn decide_connection(&self, root: &Path, force: Force) -> Pinning {
        match &self.pin {
            None => Pinning::Attached,
            Some(pin) if pin.root == root => Pinning::Stays,
            Some(pin) if pin.is_sticky() && force == Force::No => Pinning::Refused {
                from: pin.root.clone(),
            },
            Some(pin) if pin.source.is_none() => Pinning::Attached,
            Some(pin) => Pinning::Moved {
                from: pin.root.clone(),
            },
        }
    }

    fn decide_agent(
        &self,
        agent: &AgentId,
        root: &Path,
        force: Force,
        generation: Generation,
    ) -> Pinning {
        let shard = self.shards.get(agent);
        let from = match (shard, &self.pin) {
            (Some(own), _) => own.clone(),
            (None, Some(seed)) => seed.root.clone(),
            (None, None) => return Pinning::Attached,
        };
        let is_nested = root.starts_with(&from) || from.starts_with(root);
        let may_roam = shard.is_none() && is_nested && generation.scopes_pins();
        let is_sticky = shard.is_some() || self.pin.as_ref().is_some_and(Pin::is_sticky);
        if from == root {
            Pinning::Stays
        } else if is_sticky && force == Force::No && !may_roam {
            Pinning::Refused { from }
        } else {
            Pinning::Moved { from }
        }
    }

    /// Whether an agent's last declaration was refused, so that its place is not the one it asked for.
    pub(crate) fn is_gated(&self, agent: &AgentId) -> bool {
        self.refused.contains(agent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str) -> AgentId {
        AgentId::from_text(name)
    }

    fn declare(
        ids: &mut Identities,
        name: &str,
        root: &str,
        force: Force,
        generation: Generation,
    ) -> Pinning {
        let scope = ids.scope_for(Some(&agent(name)));
        let pinning = ids.repin(&scope, Path::new(root), force, generation);
        if !matches!(pinning, Pinning::Refused { .. }) {
            ids.note(&agent(name));
        }
        pinning
    }

    #[test]
    fn a_second_agent_is_refused_another_root_and_force_moves_only_its_shard() {
        let (newest, mut ids) = (Generation::V0_25, Identities::default());
        assert_eq!(
            declare(&mut ids, "one", "/a", Force::No, newest),
            Pinning::Attached
        );
        let refused = Pinning::Refused { from: "/a".into() };
        assert_eq!(declare(&mut ids, "two", "/b", Force::No, newest), refused);
        assert!(!ids.is_shared(), "a refused declaration leaves no identity");
        assert!(ids.is_gated(&agent("two")));
        assert_eq!(
            declare(&mut ids, "two", "/b", Force::Yes, newest),
            Pinning::Moved { from: "/a".into() }
        );
        assert!(ids.is_shared() && !ids.is_gated(&agent("two")));
        assert_eq!(ids.root_of(Some(&agent("two"))), Some(Path::new("/b")));
        assert_eq!(ids.root_of(Some(&agent("one"))), Some(Path::new("/a")));
    }

    #[test]
    fn a_single_identity_is_refused_at_the_connection() {
        let mut ids = Identities::default();
        declare(&mut ids, "one", "/a", Force::No, Generation::V0_17);
        assert_eq!(ids.scope_for(Some(&agent("one"))), Scope::Connection);
        assert_eq!(
            declare(&mut ids, "one", "/b", Force::No, Generation::V0_17),
            Pinning::Refused { from: "/a".into() }
        );
    }

    #[test]
    fn only_a_newer_seeded_agent_moves_between_nested_roots_without_force() {
        for (generation, moves) in [(Generation::V0_17, false), (Generation::V0_25, true)] {
            let mut ids = Identities::default();
            declare(&mut ids, "one", "/a", Force::No, generation);
            let pinning = declare(&mut ids, "two", "/a/sub", Force::No, generation);
            assert_eq!(
                matches!(pinning, Pinning::Moved { .. }),
                moves,
                "{generation:?}"
            );
        }
    }
}
