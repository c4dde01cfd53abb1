//! How scenarios are kept apart in a real plumb, as the environment names it.
//!
//! Called by the guard alone. There is one default, for an unset variable, and none for an unknown value.

use std::fmt;

use super::GuardError;

/// How scenarios are kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// One daemon, a namespace of it for each scenario.
    Namespace,
    /// A daemon for each scenario, under a private home. Only by name.
    Daemon,
}

impl fmt::Display for Isolation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Namespace => "namespace",
            Self::Daemon => "daemon",
        })
    }
}

/// Reads `E2E_ISOLATION`.
pub(super) fn read(value: Option<&str>) -> Result<Isolation, GuardError> {
    match value {
        None | Some("namespace") => Ok(Isolation::Namespace),
        Some("daemon") => Ok(Isolation::Daemon),
        Some(value) => Err(GuardError::UnknownIsolation {
            value: value.to_owned(),
        }),
    }
}
