//! `facts.json`: what the harness itself knows of a run and no other file says.
//!
//! Written once by `drive` when the scenario has ended, read by the judge.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::secrets::Count;

/// What the harness knows of one run of one scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// The scenario's id.
    pub scenario: String,
    /// The case, if it is one.
    pub case: Option<String>,
    /// The control, by its position in the file from 1, if it is one.
    pub control: Option<usize>,
    /// The build under test.
    pub build: String,
    /// The version that the build has.
    pub version: String,
    /// The revision of the contract that it is held to.
    pub revision: String,
    /// Every launch that was started.
    pub launches: BTreeMap<String, LaunchFacts>,
    /// The namespace, if plumb was needed.
    pub namespace: Option<NamespaceFacts>,
    /// The end of the scenario's own daemon, in daemon isolation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_daemon: Option<PrivateDaemon>,
    /// Each gate and action, as it went.
    pub actions: Vec<ActionFacts>,
    /// Variables that were planted in every launch: name and value.
    pub planted: BTreeMap<String, String>,
    /// A planted variable that every child has to see.
    pub witness: String,
    /// Processes that outlived their launch, as the supervisor named them.
    pub survivors: Vec<String>,
    /// Whether the supervisor has proved that nothing is left.
    pub empty: bool,
    /// Requests that reached the fake model outside every scenario's path.
    pub stray: Vec<String>,
    /// Whether the scenario's own limit ended it.
    pub limit_hit: bool,
    /// How many secrets of each sort were looked for.
    #[serde(default)]
    pub looked_for: Count,
    /// Where a secret stood, and how many different ones of each sort: files of the evidence, the words and the
    /// environment of a launch (`argv/NAME`, `env/NAME`), and files below the scenario's root (`root/…`).
    #[serde(default)]
    pub hidden_in: BTreeMap<String, Count>,
    /// Files of the evidence in which a secret was left on the disk.
    #[serde(default)]
    pub not_hidden: Vec<String>,
    /// What lies below the scenario's root and could not be read, so that nothing is known of secrets in it.
    #[serde(default)]
    pub not_searched: Vec<String>,
    /// Whether plumb's frames were not written down.
    #[serde(default)]
    pub untapped: bool,
    /// What broke in the harness, if anything did.
    pub broken: Option<String>,
    /// Assumptions about plumb that the run rests on.
    pub assumes: Vec<String>,
    /// Processor time of everything the scenario ran, in microseconds.
    pub cpu_us: u64,
    /// Wall time from the first start to the last end, in microseconds.
    pub wall_us: u64,
}

/// One launch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchFacts {
    /// Its command line.
    pub argv: Vec<String>,
    /// The whole environment that it was given.
    pub env: BTreeMap<String, String>,
    /// Its working directory.
    pub workspace: String,
    /// The second folder to work in.
    #[serde(default)]
    pub elsewhere: String,
    /// The home that it has to compute.
    pub home: String,
    /// The home of its explicit row, if it has one.
    pub explicit_home: Option<String>,
    /// Folder under which its transcripts have to be.
    pub sessions_root: String,
    /// How it ended; none if it never did.
    pub end: Option<End>,
    /// How it had to end.
    pub expected_exit: i32,
    /// Whether the harness itself sent it a signal, and which.
    pub signalled: Option<String>,
    /// Whether its own limit ended it.
    pub limit_hit: bool,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// By itself, with this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// The scenario's namespace at plumb.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamespaceFacts {
    /// Its id; never its token.
    pub id: String,
    /// Whether plumb reports it as over.
    pub revoked: bool,
    /// What plumb said of its release.
    pub detail: String,
}

/// The end of a daemon that was the scenario's own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivateDaemon {
    /// Whether it was shown gone.
    pub gone: bool,
    /// What spoke against it, or went wrong with its stop.
    pub detail: String,
}

/// One action of the timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionFacts {
    /// Position in the timeline.
    pub idx: usize,
    /// What it was, in words.
    pub what: String,
    /// Whether it was done.
    pub done: bool,
    /// What was seen last, or what plumb answered.
    pub seen: String,
}
