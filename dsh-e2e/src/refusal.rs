//! Why the program did not do what it was asked: what, where, what to do, and the exit code.

use std::fmt;

use harness::exit::Exit;

/// A refusal, or a break of the harness.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// What is wrong and where.
    pub(crate) what: String,
    /// What to do.
    pub(crate) hint: Option<String>,
    /// How the program ends.
    pub(crate) exit: Exit,
}

impl Refusal {
    /// Nothing was created; the caller can mend it.
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: Some(hint.into()),
            exit: Exit::Refused,
        }
    }

    /// The harness itself broke.
    pub(crate) fn broken(what: impl fmt::Display) -> Self {
        Self {
            what: what.to_string(),
            hint: None,
            exit: Exit::Broken,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "error: {}", self.what)?;
        match &self.hint {
            Some(hint) => write!(out, "\n\nhint: {hint}"),
            None => Ok(()),
        }
    }
}
