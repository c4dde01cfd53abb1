//! What a command of the program did, and how its error block reads on one line.

use std::process::Output;

use serde_json::Value;

/// What a command did; prints itself when a test fails.
#[derive(Debug)]
#[must_use]
pub(crate) struct Cli(pub(super) Output);

impl Cli {
    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().expect("a command ends by itself")
    }

    /// stdout as it is.
    pub(crate) fn out(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    /// stdout of a command that must succeed, as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code(), 0, "{self:?}");
        serde_json::from_str(&self.out()).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// stderr without colours, gutters and line ends: the message of an error block on one line.
    pub(crate) fn error(&self) -> String {
        plain_error(&String::from_utf8_lossy(&self.0.stderr))
    }
}

/// Takes colours, gutters and line ends out of an error block.
pub(crate) fn plain_error(text: &str) -> String {
    let text = regex::Regex::new("\x1b\\[[0-9;]*m")
        .unwrap()
        .replace_all(text, "")
        .into_owned();
    let words = text
        .lines()
        .map(|line| line.trim().trim_start_matches('┊').trim());
    words
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
