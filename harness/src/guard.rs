//! May this run touch a plumb that is not our own? Pure over [`HostFacts`]: nothing is started, asked or created.
//!
//! Called by the command line before anything else exists. It guards against accident and is no security boundary;
//! it must never treat a namespace in the environment as evidence of anything.

pub mod certificate;
mod choice;
mod isolation;
mod opt_in;
pub mod owner_daemon;
mod separate;

use std::fmt;
use std::path::{Path, PathBuf};

pub use choice::Source;
pub use isolation::Isolation;
pub use opt_in::OptIn;

use crate::host::HostFacts;

/// What the caller asks for on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `--plumb`, if it was given.
    pub plumb: Option<String>,
    /// `--jobs`, if it was given.
    pub jobs: Option<usize>,
    /// `--repeat`.
    pub repeat: usize,
}

/// A run that may go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admitted {
    /// Against the built-in plumb: nothing of the owner's is reachable.
    Fake,
    /// Against a plumb that is there.
    Real(Real),
}

/// A plumb that is there, and why it may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Real {
    /// The program.
    pub program: PathBuf,
    /// Where the program was named or found.
    pub source: Source,
    /// How scenarios are kept apart in it.
    pub isolation: Isolation,
    /// Why it may be used here.
    pub evidence: Evidence,
}

/// Why a plumb that is there may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// `GITHUB_ACTIONS=true`.
    GithubActions,
    /// A container marker.
    Container(PathBuf),
    /// `PLUMB_SEPARATE_ENV=vm` on Linux.
    Vm,
    /// The owner named the daemon, for this run.
    Owner(OptIn),
}

impl fmt::Display for Evidence {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GithubActions => out.write_str("GITHUB_ACTIONS=true"),
            Self::Container(marker) => write!(out, "{} exists", marker.display()),
            Self::Vm => out.write_str("PLUMB_SEPARATE_ENV=vm on Linux"),
            Self::Owner(pid) => write!(out, "the owner named daemon PID {pid} for this run"),
        }
    }
}

/// Why a run may not go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// Nothing says that this machine is separate.
    #[error(
        "a real plumb is not used on this machine: neither GITHUB_ACTIONS=true ({github_actions}), nor /.dockerenv \
         or /run/.containerenv (neither exists), nor PLUMB_SEPARATE_ENV=vm on Linux ({separate_env}, on {os}) holds\
         {aside}"
    )]
    NotSeparate {
        /// What `GITHUB_ACTIONS` is.
        github_actions: String,
        /// What `PLUMB_SEPARATE_ENV` is.
        separate_env: String,
        /// The operating system.
        os: String,
        /// A word on what proves nothing.
        aside: &'static str,
    },
    /// The isolation has no meaning.
    #[error("E2E_ISOLATION is `{value}`, which is no isolation")]
    UnknownIsolation {
        /// Its value.
        value: String,
    },
    /// The built-in plumb is always used with namespaces.
    #[error(
        "E2E_ISOLATION=daemon, but the built-in plumb is used with a namespace for each scenario"
    )]
    FakeInDaemonIsolation,
    /// The opt-in is no PID.
    #[error("DSH_E2E_HOST_DAEMON is `{value}`, which is no plain decimal PID")]
    OptInShape {
        /// Its value.
        value: String,
    },
    /// The opt-in is for namespaces.
    #[error(
        "DSH_E2E_HOST_DAEMON is set, but E2E_ISOLATION=daemon starts daemons, which a host run never does"
    )]
    OptInIsolation,
    /// The opt-in is for a real plumb.
    #[error(
        "DSH_E2E_HOST_DAEMON is set, but the built-in plumb is used, which has no daemon of yours"
    )]
    OptInFake,
    /// A host run is one run.
    #[error("DSH_E2E_HOST_DAEMON is set, and --repeat {times}: the opt-in is for one run")]
    OptInRepeat {
        /// How many were asked for.
        times: usize,
    },
    /// A host run does one thing at a time.
    #[error(
        "DSH_E2E_HOST_DAEMON is set, and --jobs {jobs}: a host run does one scenario at a time"
    )]
    OptInJobs {
        /// How many were asked for.
        jobs: usize,
    },
    /// Flag and variable name two plumbs.
    #[error("--plumb {flag} and PLUMB_BIN={variable} name two plumbs")]
    Differ {
        /// The flag's value.
        flag: String,
        /// The variable's value.
        variable: String,
    },
    /// The named plumb is not there.
    #[error("{source_of}: no program is there: {path}")]
    Missing {
        /// Where it was named.
        source_of: Source,
        /// The path.
        path: PathBuf,
    },
    /// No plumb is anywhere.
    #[error(
        "no plumb was found: PLUMB_BIN is not set, {sibling} is no program, and no `plumb` is on PATH"
    )]
    Nowhere {
        /// The place beside the working folder.
        sibling: PathBuf,
    },
    /// plumb would write to the root folder.
    #[error("HOME is not set, and plumb without it keeps its things in the root folder")]
    NoHome,
}

impl GuardError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotSeparate { .. } => {
                "run it in a container, or in a virtual machine of its own with PLUMB_SEPARATE_ENV=vm; or leave out \
                 --plumb and PLUMB_BIN, and the built-in plumb is used. Only the machine's owner may name their own \
                 daemon, after `plumb debug daemons`, with DSH_E2E_HOST_DAEMON=PID"
            }
            Self::UnknownIsolation { .. } => {
                "set it to `namespace` or `daemon`, or unset it: a namespace for each scenario is the default"
            }
            Self::FakeInDaemonIsolation => "unset E2E_ISOLATION, or name a plumb with --plumb",
            Self::OptInShape { .. } => {
                "look at `plumb debug daemons` and type the PID of its one row, as in 48103: no sign, no blank, no \
                 leading zero"
            }
            Self::OptInIsolation => {
                "unset E2E_ISOLATION; or unset DSH_E2E_HOST_DAEMON and use a container"
            }
            Self::OptInFake => {
                "unset DSH_E2E_HOST_DAEMON, or name the plumb that runs that daemon with --plumb real"
            }
            Self::OptInRepeat { .. } => "leave --repeat out",
            Self::OptInJobs { .. } => "leave --jobs out",
            Self::Differ { .. } => "unset PLUMB_BIN or leave --plumb out",
            Self::Missing { .. } => "name a plumb program that can be executed",
            Self::Nowhere { .. } => "name one with --plumb PATH or PLUMB_BIN",
            Self::NoHome => "set HOME to the home of the account whose plumb is used",
        }
    }
}

/// Decides. `is_program` says whether a path can be executed.
pub fn admit(
    facts: &HostFacts,
    request: &Request,
    is_program: &dyn Fn(&Path) -> bool,
) -> Result<Admitted, GuardError> {
    let isolation = isolation::read(facts.told.isolation.as_deref())?;
    let Some(wanted) = choice::wanted(facts, request.plumb.as_deref())? else {
        return match (facts.told.host_daemon.as_ref(), isolation) {
            (Some(_), _) => Err(GuardError::OptInFake),
            (None, Isolation::Daemon) => Err(GuardError::FakeInDaemonIsolation),
            (None, Isolation::Namespace) => Ok(Admitted::Fake),
        };
    };
    let evidence = match &facts.told.host_daemon {
        Some(value) => Evidence::Owner(opt_in::read(value, isolation, request)?),
        None => separate::evidence(facts)?,
    };
    if !facts.told.account.contains_key("HOME") {
        return Err(GuardError::NoHome);
    }
    let (program, source) = choice::find(facts, wanted, is_program)?;
    Ok(Admitted::Real(Real {
        program,
        source,
        isolation,
        evidence,
    }))
}
