//! The journal's lines.
//!
//! Written by the tap, read by the evidence. Times are absolute microseconds of `CLOCK_MONOTONIC`. The value of
//! `PLUMB_NAMESPACE` must never be in any of them: it is replaced by `…` wherever it stands.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Tap;
use crate::{
    clock::Moment,
    plumb::secret::{MASK, Secret},
    supervise::notice::Status,
};

/// The variable that holds the token.
const TOKEN: &str = "PLUMB_NAMESPACE";

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Record {
    /// The command runs.
    Start(Start),
    /// A line passed.
    Frame(Frame),
    /// A stream ended.
    Eof(Eof),
    /// The command ended; the last line.
    Exit(Exit),
}

/// The command and its surroundings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// When the tap began.
    pub t_us: Moment,
    /// The name the wrapper gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The command's own words.
    pub argv: Vec<String>,
    /// The tap.
    pub pid: u32,
    /// Who started the tap.
    pub ppid: u32,
    /// The command.
    pub child: u32,
    /// The working folder.
    pub cwd: String,
    /// The name of every variable.
    pub env_names: Vec<String>,
    /// The values of `DSH_*`, `PLUMB_*`, `XDG_*` and `HOME`; no others, for a caller's keys may be among them.
    pub env: BTreeMap<String, String>,
}

/// A line that passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// Which way.
    pub dir: Direction,
    /// When its last byte was read.
    pub t_us: Moment,
    /// The line, without its end.
    pub text: String,
    /// Whether bytes that are no UTF-8 were replaced in `text`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lossy: bool,
    /// Whether the token stood in `text`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub masked: bool,
    /// Whether the stream ended before the line did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// What `text` is the beginning of, when the line was too long for the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
}

/// A whole line that the journal does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Its length in bytes.
    pub length: u64,
    /// Its SHA-256, in hex.
    pub sha256: String,
}

/// The end of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Eof {
    /// Which.
    pub dir: Direction,
    /// When.
    pub t_us: Moment,
    /// Why.
    pub why: Why,
    /// Bytes that passed in all.
    pub bytes: u64,
}

/// Why a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The sender closed it.
    Closed,
    /// The receiver closed it.
    ReceiverGone,
    /// The command ended while something it left holds the stream.
    CommandEnded,
}

/// The end of the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// When.
    pub t_us: Moment,
    /// How.
    pub status: Status,
    /// Bytes that passed but are not in the journal, because it could not keep up.
    pub lost_bytes: u64,
    /// Writes of the journal that failed.
    pub write_errors: u64,
}

/// Which way a frame went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the client to the command's standard input.
    C2s,
    /// From the command's standard output to the client.
    S2c,
    /// From the command's standard error to the client.
    Err,
}

impl Start {
    /// Reads this process's surroundings.
    pub(super) fn read(tap: &Tap, at: Moment, child: u32) -> Self {
        let vars: BTreeMap<String, String> = std::env::vars_os()
            .map(|(name, value)| {
                (
                    name.to_string_lossy().into_owned(),
                    value.to_string_lossy().into_owned(),
                )
            })
            .collect();
        let is_told = |name: &str| {
            name == "HOME"
                || ["DSH_", "PLUMB_", "XDG_"]
                    .iter()
                    .any(|prefix| name.starts_with(prefix))
        };
        let told = |(name, value): (&String, &String)| {
            let value = if name == TOKEN {
                MASK.to_owned()
            } else {
                value.clone()
            };
            is_told(name).then(|| (name.clone(), value))
        };
        Self {
            t_us: at,
            name: tap.name.clone(),
            argv: tap
                .command
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            pid: std::process::id(),
            ppid: std::os::unix::process::parent_id(),
            child,
            cwd: std::env::current_dir()
                .map(|path| path.to_string_lossy().into_owned())
                .unwrap_or_default(),
            env_names: vars.keys().cloned().collect(),
            env: vars.iter().filter_map(told).collect(),
        }
    }
}

/// The token in this process's environment, as JSON spells it inside a text.
pub(super) fn token() -> Secret {
    let spelled = serde_json::Value::from(std::env::var(TOKEN).unwrap_or_default()).to_string();
    Secret::new(spelled.trim_matches('"').to_owned())
}
