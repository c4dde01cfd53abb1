//! The secrets of a run: what sorts there are, and how a text is searched for them and freed of them.
//!
//! Used by the evidence's one writer, which is told each value. The values must never leave this module: what is told
//! is how many of which sort stood where.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What stands in the place of a secret.
const HIDDEN: &str = "…";

/// A sort of secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretKind {
    /// What lets a process into the scenario's namespace.
    NamespaceToken,
    /// What proves who may resume a plumb session.
    ResumeProof,
    /// The key that the agent was given for the model.
    ModelKey,
    /// A key in the environment of whoever started the run.
    CallersKey,
}

impl std::fmt::Display for SecretKind {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::NamespaceToken => "the namespace's token",
            Self::ResumeProof => "a resume proof",
            Self::ModelKey => "the model's key",
            Self::CallersKey => "a key of the caller",
        })
    }
}

/// How many different secrets of each sort there are somewhere.
pub type Count = BTreeMap<SecretKind, usize>;

/// The secrets that are known.
#[derive(Clone, Default)]
pub struct Secrets {
    by_value: BTreeMap<String, SecretKind>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.known().fmt(out)
    }
}

impl Secrets {
    /// Takes a value into keeping; the first sort it was said to be stays.
    pub fn learn(&mut self, kind: SecretKind, value: &str) {
        if !value.is_empty() {
            self.by_value.entry(value.to_owned()).or_insert(kind);
        }
    }

    /// How many there are.
    pub fn known(&self) -> Count {
        count(self.by_value.values())
    }

    /// How many of them stand in a text.
    pub fn standing_in(&self, text: &str) -> Count {
        let found = self.by_value.iter();
        count(found.filter_map(|(value, kind)| text.contains(value).then_some(kind)))
    }

    /// The text without them.
    pub fn freed(&self, text: &str) -> String {
        // The longest first: one may stand within another.
        let mut values: Vec<&String> = self.by_value.keys().collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values
            .into_iter()
            .fold(text.to_owned(), |text, value| text.replace(value, HIDDEN))
    }
}

fn count<'a>(kinds: impl Iterator<Item = &'a SecretKind>) -> Count {
    let mut count = Count::new();
    for kind in kinds {
        *count.entry(*kind).or_default() += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, proptest};

    use super::{SecretKind, Secrets};

    proptest! {
        #[test]
        fn no_freed_text_holds_a_secret(
            values in prop::collection::vec("[a-z-]{4,8}", 1..4),
            pieces in prop::collection::vec("[a-z ]{0,6}", 1..6),
        ) {
            let mut secrets = Secrets::default();
            for value in &values {
                secrets.learn(SecretKind::ModelKey, value);
            }
            let mixed = pieces.iter().zip(values.iter().cycle());
            let text = mixed.flat_map(|(piece, value)| [piece.as_str(), value.as_str()]).collect::<String>();
            assert!(!secrets.standing_in(&text).is_empty());
            assert!(secrets.standing_in(&secrets.freed(&text)).is_empty());
        }
    }

    #[test]
    fn what_is_printed_of_them_is_how_many_there_are() {
        let mut secrets = Secrets::default();
        secrets.learn(SecretKind::NamespaceToken, "nst-1");
        assert_eq!(format!("{secrets:?}"), "{NamespaceToken: 1}");
    }
}
