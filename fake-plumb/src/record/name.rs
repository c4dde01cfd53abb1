//! Names of sessions: an adjective and a noun, unique among those that are taken.
//!
//! Called by the registry. The words are the fake's own.

use crate::resume::random;

/// The longest name plumb takes (facts, section 3, `rename_session`).
pub(crate) const LONGEST: usize = 25;

const ADJECTIVES: [&str; 32] = [
    "amber", "bold", "brisk", "calm", "clear", "cool", "crisp", "dark", "deep", "dry", "early",
    "fair", "fond", "grand", "green", "high", "kind", "late", "lone", "loud", "mild", "near",
    "pale", "plain", "quick", "quiet", "red", "slow", "small", "still", "tall", "warm",
];
const NOUNS: [&str; 32] = [
    "adder", "badger", "birch", "brook", "cedar", "cliff", "crane", "delta", "dune", "elm",
    "falcon", "fern", "finch", "gorge", "grove", "heron", "hill", "lake", "larch", "marsh",
    "meadow", "moth", "oak", "otter", "pine", "pond", "raven", "reef", "ridge", "stoat", "vale",
    "wren",
];

/// A name that `is_taken` does not know.
pub(crate) fn fresh(is_taken: impl Fn(&str) -> bool) -> String {
    let start = u16::from_be_bytes(random());
    let pairs = ADJECTIVES.len() * NOUNS.len();
    // A step that shares no factor with the number of pairs visits every pair once before any gets a number.
    let pair = |turn: usize| {
        let index = (usize::from(start) + turn * 387) % pairs;
        format!(
            "{}-{}",
            ADJECTIVES[index / NOUNS.len()],
            NOUNS[index % NOUNS.len()]
        )
    };
    let numbered = |turn: usize| match turn / pairs {
        0 => pair(turn),
        round => format!("{}-{}", pair(turn), round + 1),
    };
    let mut names = (0..).map(numbered);
    names
        .find(|name| !is_taken(name))
        .expect("the sequence of names does not end")
}

/// `^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$`, 1 to 25 characters.
pub(crate) fn is_valid(name: &str) -> bool {
    name.len() <= LONGEST
        && name
            .split('-')
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_name_is_given_twice_and_all_are_valid() {
        let mut taken = BTreeSet::new();
        for _ in 0..2000 {
            let name = fresh(|name| taken.contains(name));
            assert!(is_valid(&name), "{name}");
            assert!(taken.insert(name));
        }
    }
}
