//! A namespace token.
//!
//! Held by the supervisors and by the stage that writes the wrapper. It must never be printed, put on a command line
//! or serialised: `Debug` and `Serialize` both give `…`, and the private pipe writes the value through [`Secret::expose`].

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// What stands where a secret would have stood.
pub const MASK: &str = "…";

/// A token whose value leaves only through [`Secret::expose`].
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Takes a value into keeping.
    pub fn new(value: String) -> Self {
        Self(value)
    }

    /// Gives the value, for an environment, a standard input or the private pipe.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the value stands in `text`.
    pub fn is_in(&self, text: &str) -> bool {
        !self.0.is_empty() && text.contains(&self.0)
    }

    /// Replaces every occurrence of the value in `text`.
    pub fn mask(&self, text: &str) -> String {
        if self.is_in(text) {
            text.replace(&self.0, MASK)
        } else {
            text.to_owned()
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn neither_debug_nor_json_shows_the_value() {
        let secret = Secret::new("tok-41c0".into());

        assert_eq!(format!("{secret:?}"), "…");
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"…\"");
        assert_eq!(secret.mask("a tok-41c0 b"), "a … b");
    }
}
