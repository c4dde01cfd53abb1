//! What a supervisor tells the runner.
//!
//! Written by the supervisor (and by the warden where a supervisor died), read by the drive. Plain data that goes into
//! the evidence as it is: a token in it serialises as `…`.

use serde::{Deserialize, Serialize};

use super::{
    order::{Key, Signal},
    process::{Ancestor, ProcessId, Seen},
};
use crate::plumb::secret::Secret;

/// One notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notice {
    /// The supervisor stands and can be given orders.
    Ready {
        /// The supervisor itself.
        process: ProcessId,
    },
    /// A process runs, as leader of a process group of its own.
    Started {
        /// Its name.
        key: Key,
        /// Pid and start time.
        process: ProcessId,
    },
    /// A process could not be started.
    StartFailed {
        /// Its name.
        key: Key,
        /// What, where and why.
        error: String,
    },
    /// A started process ended; all that it had written is in its files by now.
    Exited {
        /// Its name.
        key: Key,
        /// How.
        status: Status,
    },
    /// A stream passed its limit; what follows is dropped.
    Overflow {
        /// Whose stream.
        key: Key,
        /// Which.
        stream: Stream,
        /// How many bytes were kept.
        limit: u64,
    },
    /// A signal was sent.
    Signalled {
        /// On whose behalf.
        key: Key,
        /// Which.
        signal: Signal,
        /// Whom it reached; empty when everything had ended.
        reached: Vec<ProcessId>,
    },
    /// A namespace exists and will be released at the end.
    Namespace {
        /// Its public id.
        id: String,
        /// Its token, for the wrapper.
        token: Secret,
    },
    /// No namespace is held.
    NamespaceFailed {
        /// What went wrong, and what ends a namespace that may exist all the same.
        what: String,
        /// How the command ended, if it did.
        exit: Option<Status>,
        /// What it printed; withheld when it succeeded, because a token may be in it.
        said: String,
    },
    /// A descendant that nobody here started fell to the supervisor and was reaped.
    Orphan {
        /// Pid and start time.
        process: ProcessId,
        /// Its name as the kernel keeps it: the command line of an ended process is gone.
        name: String,
        /// The started process in whose group it was.
        group_of: Option<Key>,
        /// How it ended.
        status: Status,
    },
    /// A process outlived something it should not have.
    Survivor {
        /// The process.
        process: Seen,
        /// From its parent upward, as far as the supervisor.
        parents: Vec<Ancestor>,
        /// What it outlived.
        outlived: Outlived,
    },
    /// Every living descendant.
    Snapshot {
        /// In order of pid.
        processes: Vec<Seen>,
    },
    /// The supervisor died without ending; the warden ends what it left and releases its namespaces.
    Lost {
        /// How it died.
        status: Status,
    },
    /// The end.
    Ended(Ended),
}

/// What came of the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Whether the kernel said that no child is left, which proves that no descendant is.
    pub empty: bool,
    /// What could not be ended.
    pub left: Vec<Seen>,
    /// How many orphans were reaped, also those beyond the number told one by one.
    pub orphans: u64,
    /// What the tree used.
    pub usage: Usage,
    /// What came of each namespace.
    pub namespaces: Vec<Release>,
}

/// What all reaped processes used together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Processor time in user mode, in microseconds.
    pub user_us: u64,
    /// Processor time in the kernel, in microseconds.
    pub sys_us: u64,
    /// The largest resident set of any one of them, in kibibytes.
    pub max_rss_kb: u64,
}

/// What came of one namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// Its public id.
    pub id: String,
    /// Whether the list shows it revoked.
    pub revoked: bool,
    /// What release and list said.
    pub detail: String,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It exited.
    Code(i32),
    /// A signal ended it.
    Signal {
        /// Its number.
        number: i32,
        /// Whether a core was written.
        core: bool,
    },
    /// Somebody else took its status.
    Unknown,
}

/// An output stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names are the system's own")]
pub enum Stream {
    Stdout,
    Stderr,
}

/// What a survivor outlived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outlived {
    /// Every started process, and the wait that followed.
    LeaderExit,
    /// The TERM and its grace; it was killed.
    Term,
    /// Its own supervisor.
    Supervisor,
}
