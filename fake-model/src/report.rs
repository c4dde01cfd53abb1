//! What a tenant's run came to, as data. Made by the desk; whether it is good is for the reader to say.

use serde::Serialize;

/// The end of a tenant, or how it stands so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Replies that were never asked for.
    pub unused: Vec<StepRef>,
    /// All requests to this tenant, of every kind.
    pub requests: u64,
    /// Those with the same bytes as an earlier one.
    pub retries: u64,
    /// Those for a title.
    pub titles: u64,
    /// Those that were refused: unmatched, tool drift, capture miss.
    pub refused: u64,
    /// Broken laws, over all requests.
    pub violations: u64,
}

/// One reply of the script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepRef {
    /// The session.
    pub session: String,
    /// The step in it.
    pub step: usize,
}

impl Report {
    /// Whether every reply was used and no request was refused or broke a law.
    pub fn is_clean(&self) -> bool {
        self.unused.is_empty() && self.refused == 0 && self.violations == 0
    }
}
