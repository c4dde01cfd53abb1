//! The three signs of a machine that is separate from the one its owner works on.
//!
//! Called by the guard alone. Each sign is exact: no other spelling of a value counts.

use super::{Evidence, GuardError};
use crate::host::{HostFacts, Presence};

/// The first sign that holds.
pub(super) fn evidence(facts: &HostFacts) -> Result<Evidence, GuardError> {
    let told = &facts.told;
    if told.github_actions.as_deref() == Some("true") {
        return Ok(Evidence::GithubActions);
    }
    if let Some(marker) = facts.markers.first() {
        return Ok(Evidence::Container(marker.clone()));
    }
    if told.separate_env.as_deref() == Some("vm") && facts.os == "linux" {
        return Ok(Evidence::Vm);
    }
    let shown = |value: &Option<String>| {
        value
            .as_ref()
            .map_or("it is not set".to_owned(), |it| format!("it is `{it}`"))
    };
    Err(GuardError::NotSeparate {
        github_actions: shown(&told.github_actions),
        separate_env: shown(&told.separate_env),
        os: facts.os.clone(),
        aside: match told.namespace {
            Presence::Present => "; PLUMB_NAMESPACE is set, which proves nothing",
            Presence::Absent => "",
        },
    })
}
