//! The command line: arguments as data. With its variables the only place that reads the caller's environment.

mod matrix;
mod variables;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use harness::agent::dsh::Revision;

pub(crate) use matrix::{Enclosure, MatrixOptions};
pub(crate) use variables::{E2E, environment, keys, words};

/// Conformance suite and end-to-end harness for session identity in DeepSeek Harness
#[derive(Debug, Parser)]
#[command(name = "dsh-e2e", version, about, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Drive real dsh through the scenarios and judge what happened
    Run(RunOptions),
    /// List scenarios, their checks and clauses
    List(ListOptions),
    /// Read scenario files and show their mistakes
    Check(CheckOptions),
    /// Judge stored evidence again
    Judge(JudgeOptions),
    /// Show that every check can fail: by each named fault, and by a change of each fact it reads
    Adequacy(AdequacyOptions),
    /// Explain a failure class or a scenario in words
    Explain(ExplainOptions),
    /// Show the clauses that pinned builds are known to break
    Deviations,
    /// Fetch pinned builds of dsh into the cache
    Provision(ProvisionOptions),
    /// Look at what the identity plugin depends on, on the builds themselves
    Doctor(DoctorOptions),
    /// Run the acceptance matrix against a real plumb
    Matrix(MatrixOptions),
    /// Helpers that the harness starts itself
    #[command(flatten)]
    Hidden(Hidden),
}

/// Options of `run`.
#[derive(Debug, Clone, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct RunOptions {
    /// The dsh to drive: a pinned build, installed, or the path of one (can be repeated)
    ///
    /// Defaults to the one that `DSH_BIN` names, and to the newest pinned build without it. `installed` is `DSH_BIN`, else
    /// the one in the profile tree of `DSH_HOME` or `~/.dsh`, else the only one in npx's cache (`npm_config_cache` or
    /// `~/.npm`).
    #[arg(long = "dsh", value_name = "BUILD")]
    pub(crate) dsh: Vec<String>,
    /// Revision of the contract that an installed dsh keeps
    ///
    /// A pinned build states its own. A dsh of no pinned version needs it.
    #[arg(long, value_name = "REVISION")]
    pub(crate) contract: Option<Contract>,
    /// The plumb to use: fake, real, or the path of one
    ///
    /// Defaults to the plumb that `PLUMB_BIN` names, as `real` does, and to the built-in `fake` without it. `real` is
    /// `PLUMB_BIN`, else `../plumb/plumb`, else `plumb` on `PATH`. Any plumb but `fake` is used only in CI, in a
    /// container, or in a virtual machine with `PLUMB_SEPARATE_ENV=vm`.
    #[arg(long, value_name = "PLUMB")]
    pub(crate) plumb: Option<String>,
    /// Print what would be started and written, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run in a sandbox: own processes, network, temporary folders, home and account
    ///
    /// By util-linux `unshare`, where the kernel lets this user. Builds are fetched before; the sandbox has no network
    /// but its own loopback. plumb's daemons are counted while the run lasts, and there has to be none after it.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) sandbox: bool,
    /// Somebody's own checkout of the identity plugin
    #[arg(long, value_name = "DIR")]
    pub(crate) plugin: Option<PathBuf>,
    /// Run only scenarios whose id or last part matches this pattern (can be repeated)
    #[arg(long, value_name = "PATTERN")]
    pub(crate) only: Vec<String>,
    /// Run this one scenario, by the last part of its id (the same as --only)
    #[arg(long, value_name = "NAME")]
    pub(crate) mode: Vec<String>,
    /// How many scenarios run at a time
    ///
    /// Defaults to the number of processors.
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Run everything this many times
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) repeat: usize,
    /// Which controls to run
    #[arg(long, value_name = "WHICH")]
    pub(crate) controls: Option<ControlsOption>,
    /// Where the evidence goes
    #[arg(long, value_name = "DIR", default_value = "e2e-results")]
    pub(crate) out: PathBuf,
    /// Where the scenarios' own folders are made
    ///
    /// Defaults to the temporary folder. Short, because plumb's sockets allow 103 bytes.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Which scenarios' folders stay
    #[arg(long, value_name = "WHEN", num_args = 0..=1, default_value = "never", default_missing_value = "always")]
    pub(crate) keep: Keep,
    /// Do not write plumb's frames down; only record checks are judged
    #[arg(long)]
    pub(crate) no_tap: bool,
    /// Where the builds are kept
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Use only what is in the cache
    #[arg(long)]
    pub(crate) offline: bool,
    /// A folder of scenarios, laid over the built-in ones
    #[arg(long, value_name = "DIR")]
    pub(crate) scenarios: Option<PathBuf>,
    /// A frozen set of checks on which alone the run exits: rfc.1, located.1 or note.1
    ///
    /// It ends with whether the build conforms. Controls are left out unless `--controls` asks for them.
    #[arg(long, value_name = "SET")]
    pub(crate) requirements: Option<String>,
    /// Put a program in the agent's place that ends at once and does nothing: every scenario has to fail
    #[arg(long, hide = true)]
    pub(crate) do_nothing: bool,
    /// A further report (can be repeated): json=FILE, junit=FILE, github=FILE
    ///
    /// `github` without a file goes to standard output, where GitHub Actions looks for annotations.
    #[arg(long = "report", value_name = "KIND=FILE")]
    pub(crate) reports: Vec<String>,
}

/// A revision of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Contract {
    /// The older text
    Rfc,
    /// The newer note's registry with the older text's location
    Located,
    /// The newer note
    Note,
}

impl Contract {
    pub(crate) fn revision(self) -> Revision {
        match self {
            Self::Rfc => Revision::Rfc,
            Self::Located => Revision::Located,
            Self::Note => Revision::Note,
        }
    }
}

/// Which controls are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ControlsOption {
    /// None
    None,
    /// All
    All,
    /// Controls alone
    Only,
}

/// Which scenarios' folders stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Keep {
    /// None
    Never,
    /// Those of unexpected results
    OnFailure,
    /// All
    Always,
}

/// Options of `list`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ListOptions {
    /// Show the clauses of the contract instead
    #[arg(long)]
    pub(crate) clauses: bool,
    /// Show the dsh that can be driven instead: pinned builds, and what is installed here
    #[arg(long, conflicts_with = "clauses")]
    pub(crate) builds: bool,
    /// Fail if a clause or a check is not mapped
    #[arg(long, requires = "clauses")]
    pub(crate) check: bool,
    /// Print the set of requirements that this revision has today, as it would be frozen
    #[arg(long, value_name = "REVISION", hide = true)]
    pub(crate) freeze: Option<String>,
    /// The form of the list
    #[arg(long, value_name = "FORMAT", default_value = "plain")]
    pub(crate) format: Format,
    /// A folder of scenarios, laid over the built-in ones
    #[arg(long, value_name = "DIR")]
    pub(crate) scenarios: Option<PathBuf>,
}

/// Options of `check`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CheckOptions {
    /// Scenario files; the built-in ones when left out
    pub(crate) files: Vec<PathBuf>,
}

/// Options of `judge`.
#[derive(Debug, Clone, Args)]
pub(crate) struct JudgeOptions {
    /// Evidence of a run, or of one scenario of it
    pub(crate) folder: PathBuf,
    /// The form of the report
    #[arg(long, value_name = "FORMAT", default_value = "plain")]
    pub(crate) format: JudgeFormat,
}

/// Options of `adequacy`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AdequacyOptions {
    /// Evidence of a run, to be changed and judged again; without it everything is run first, faults included
    #[arg(long, value_name = "DIR")]
    pub(crate) evidence: Option<PathBuf>,
    /// The form of the result
    #[arg(long, value_name = "FORMAT", default_value = "plain")]
    pub(crate) format: Format,
    /// How to run, where no evidence is given
    #[command(flatten)]
    pub(crate) run: RunOptions,
}

/// The form of a report on stored evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum JudgeFormat {
    /// For a person
    Plain,
    /// All verdicts, for a program
    Json,
    /// JUnit XML
    Junit,
    /// Annotations for GitHub Actions
    Github,
    /// The one verdict of a scenario's folder, byte for byte as verdict.json
    Verdict,
}

/// Options of `explain`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExplainOptions {
    /// Code of a failure class, or id of a scenario
    pub(crate) what: String,
    /// A folder of scenarios, laid over the built-in ones
    #[arg(long, value_name = "DIR")]
    pub(crate) scenarios: Option<PathBuf>,
}

/// Options of `provision`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProvisionOptions {
    /// Pinned build (can be repeated); all when left out
    #[arg(long = "dsh", value_name = "BUILD")]
    pub(crate) dsh: Vec<String>,
    /// Where the builds are kept
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Use only what is in the cache
    #[arg(long)]
    pub(crate) offline: bool,
    /// Compare the executable's whole hash with the one kept at its installation
    #[arg(long)]
    pub(crate) verify: bool,
    /// The form of the answer
    #[arg(long, value_name = "FORMAT", default_value = "plain")]
    pub(crate) format: Format,
}

/// Options of `doctor`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DoctorOptions {
    /// The agent to look at
    #[arg(long, value_name = "AGENT", default_value = "dsh")]
    pub(crate) agent: DoctorAgent,
    /// Pinned build, installed, or the path of a dsh (can be repeated); all pinned builds when left out
    #[arg(long = "dsh", value_name = "BUILD")]
    pub(crate) dsh: Vec<String>,
    /// Revision of the contract that an installed dsh keeps
    #[arg(long, value_name = "REVISION")]
    pub(crate) contract: Option<Contract>,
    /// Where the builds are kept
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Use only what is in the cache
    #[arg(long)]
    pub(crate) offline: bool,
    /// The form of the answer
    #[arg(long, value_name = "FORMAT", default_value = "plain")]
    pub(crate) format: Format,
}

/// Agents that `doctor` can look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorAgent {
    /// DeepSeek Harness
    Dsh,
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a person
    Plain,
    /// For a program
    Json,
}

/// Helpers that the harness starts itself.
#[derive(Debug, Subcommand)]
pub(crate) enum Hidden {
    /// Starts and outlives the supervisors
    #[command(hide = true)]
    Warden,
    /// Owns one scenario's processes
    #[command(hide = true)]
    Supervise,
    /// Keeps a run in a sandbox or a container
    #[command(hide = true)]
    Enclosed {
        /// The sandbox's files, as JSON; without it this is a container.
        #[arg(long)]
        floor: Option<String>,
        /// The words of a `run`.
        #[arg(last = true)]
        run: Vec<OsString>,
    },
    /// Copies and writes down a plumb process's streams
    #[command(hide = true)]
    Tap {
        #[arg(long)]
        dir: PathBuf,
        #[arg(last = true)]
        command: Vec<OsString>,
    },
    /// Writes down the environment it was given
    #[command(hide = true)]
    Probe {
        #[arg(long)]
        to: PathBuf,
    },
    /// Waits until a file appears
    #[command(hide = true)]
    Hold {
        #[arg(long)]
        ready: PathBuf,
        #[arg(long)]
        until: PathBuf,
        #[arg(long, default_value_t = 300)]
        limit: u64,
    },
    /// Counts once
    #[command(hide = true)]
    Effect {
        #[arg(long)]
        to: PathBuf,
        #[arg(long)]
        name: String,
    },
    /// Talks JSON-RPC to an agent that it starts
    #[command(hide = true)]
    Talk {
        #[arg(long)]
        requests: PathBuf,
        #[arg(long)]
        outcomes: PathBuf,
        #[arg(last = true)]
        command: Vec<String>,
    },
    /// Leaves a note at plumb
    #[command(hide = true)]
    Note {
        #[arg(long)]
        plumb: PathBuf,
        #[arg(long)]
        workspace: PathBuf,
        #[arg(long)]
        text: String,
        #[arg(long)]
        receipt: PathBuf,
        #[arg(long)]
        to: Option<String>,
    },
}
