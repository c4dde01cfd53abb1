//! The id of a session: chosen by the caller, or made here from the system's randomness.
//!
//! Made before the first turn, and never again for the same session.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The id of a session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(String);

impl SessionId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// An id for a root session.
    pub fn for_root() -> Self {
        Self(format!("session-{}", uuid()))
    }

    /// An id for a child.
    pub fn for_child() -> Self {
        Self(uuid())
    }
}

impl From<String> for SessionId {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Sixteen random hex digits, for the ids of jobs and messages.
pub fn short() -> String {
    hex(&random::<8>())
}

/// A random UUID (RFC 9562, version 4).
pub fn uuid() -> String {
    let mut bytes = random::<16>();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let text = hex(&bytes);
    [
        &text[..8],
        &text[8..12],
        &text[12..16],
        &text[16..20],
        &text[20..],
    ]
    .join("-")
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("every supported system has a source of randomness");
    bytes
}

fn hex(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_the_shape_of_a_uuid_and_is_new_each_time() {
        let one = uuid();
        assert_eq!(one.len(), 36);
        assert_eq!(
            one.split('-').map(str::len).collect::<Vec<_>>(),
            [8, 4, 4, 4, 12]
        );
        assert!(one.split('-').nth(2).unwrap().starts_with('4'));
        assert_ne!(one, uuid());
    }
}
