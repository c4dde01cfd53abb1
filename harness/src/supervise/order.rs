//! What the runner asks of a supervisor.
//!
//! Written by the runner's handle, read by the supervisor, passed on unread by the warden but for namespaces. Wire
//! types: they must never hold a token, and a launch holds the whole environment because a child starts from empty.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::plumb::dialect::Dialect;

/// How many bytes of one output stream are kept in its file unless the launch says otherwise: far above the 8 MiB
/// that evidence may hold, far below a disk.
pub const OUTPUT_LIMIT: u64 = 64 << 20;

/// Names one launched process within its supervisor.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(pub String);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[expect(
    clippy::large_enum_variant,
    reason = "one at a time, and written out at once"
)]
pub enum Order {
    /// Start a process; answered by `Started` or `StartFailed`.
    Start {
        /// Its name from now on.
        key: Key,
        /// How.
        launch: Launch,
    },
    /// Send a signal; answered by `Signalled`.
    Signal {
        /// To which launched process.
        key: Key,
        /// Which.
        signal: Signal,
        /// To how much of its tree.
        reach: Reach,
    },
    /// Create a namespace and keep it until the end; answered by `Namespace` or `NamespaceFailed`.
    Namespace {
        /// The plumb command, without the dialect's arguments.
        plumb: Call,
        /// The words.
        dialect: Dialect,
        /// The pid given as owner: the runner's.
        owner: u32,
    },
    /// Give a `Snapshot` of every living descendant.
    Tree,
    /// End: a wait for what ends by itself, then TERM, then KILL, then release the namespaces; answered by `Ended`.
    End {
        /// How long each of the wait and the TERM lasts at most, in milliseconds.
        grace_ms: u64,
    },
}

/// How a process starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// Program and arguments; a program without a slash is looked up in the launch's own `PATH`.
    pub argv: Vec<String>,
    /// The complete environment.
    pub env: BTreeMap<String, String>,
    /// The working folder.
    pub cwd: PathBuf,
    /// Standard input.
    pub stdin: Stdin,
    /// The file that receives standard output; replaced if it exists.
    pub stdout: PathBuf,
    /// The file that receives standard error; replaced if it exists.
    pub stderr: PathBuf,
    /// Bytes kept of each of the two; the rest is read, counted and dropped.
    #[serde(default = "output_limit")]
    pub limit: u64,
}

/// Where standard input comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stdin {
    /// `/dev/null`.
    Null,
    /// This file, opened for reading.
    File(PathBuf),
}

/// A short command: program, environment, folder, deadline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Program and leading arguments.
    pub argv: Vec<String>,
    /// The complete environment.
    pub env: BTreeMap<String, String>,
    /// The working folder.
    pub cwd: PathBuf,
    /// When it is killed, in milliseconds.
    pub within_ms: u64,
}

/// The signals a scenario may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names are the system's own")]
pub enum Signal {
    Hup,
    Int,
    Quit,
    Kill,
    Usr1,
    Usr2,
    Term,
    Cont,
    Stop,
}

/// How far a signal goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// The launched process alone.
    Leader,
    /// The members of its process group.
    Group,
    /// Its living descendants and its group; a daemon that left both is reached at the end only.
    Tree,
}

fn output_limit() -> u64 {
    OUTPUT_LIMIT
}
