//! What the registry refuses, and in which words.
//!
//! Given out at registration and at the call. A refusal names who declared what, so that it can be found.

use crate::environment::MANAGED_PREFIX;

/// What is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// No name, or a blank one.
    #[error("the name of a bash env contributor must be non-empty")]
    EmptyName,
    /// The name is taken.
    #[error("bash env contributor \"{name}\" is already registered")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// Nothing is declared.
    #[error("bash env contributor \"{name}\" declares no key")]
    NoKeys {
        /// Who.
        name: String,
    },
    /// A key is spelt badly.
    #[error(
        "bash env contributor \"{name}\" declared invalid key \"{key}\": write {MANAGED_PREFIX}A_B1"
    )]
    BadKey {
        /// Who.
        name: String,
        /// The key.
        key: String,
    },
    /// A key is the harness's own.
    #[error("bash env contributor \"{name}\" cannot own reserved key \"{key}\"")]
    ReservedKey {
        /// Who.
        name: String,
        /// The key.
        key: String,
    },
    /// A key is taken.
    #[error(
        "bash env key \"{key}\" is already owned by contributor \"{owner}\"; \"{name}\" cannot own it too"
    )]
    DuplicateKey {
        /// Who.
        name: String,
        /// The key.
        key: String,
        /// Who has it.
        owner: String,
    },
    /// A key is not described.
    #[error("bash env contributor \"{name}\" must describe \"{key}\"")]
    NoDescription {
        /// Who.
        name: String,
        /// The key.
        key: String,
    },
    /// There is no way to find values.
    #[error("bash env contributor \"{name}\" has no resolve function")]
    NoResolver {
        /// Who.
        name: String,
    },
    /// The resolver failed.
    #[error("bash env contributor \"{name}\" failed: {what}")]
    Failed {
        /// Who.
        name: String,
        /// What it says.
        what: String,
    },
    /// A value for a key that was not declared.
    #[error("bash env contributor \"{name}\" returned undeclared key \"{key}\"")]
    Undeclared {
        /// Who.
        name: String,
        /// The key.
        key: String,
    },
    /// A value that is not a string.
    #[error("bash env contributor \"{name}\" returned a non-string value for \"{key}\"")]
    NonString {
        /// Who.
        name: String,
        /// The key.
        key: String,
    },
}
