//! A plumb that is there already, as the drive sees it: one daemon, a namespace for each scenario.
//!
//! Made by the command line once the guard has admitted the run. It starts, stops and signals no daemon. In a host run
//! it looks again before every namespace, and once it has seen anything odd it gives no plumb any more.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::cli::{Plumb, PlumbError};
use super::debug_daemons::{self, DaemonsError};
use super::dialect::{Dialect, Service};
use super::fingerprint::{self, FingerprintError};
use super::probe::{Lacking, probe};
use crate::drive::{Apart, HostError, PlumbHost, PlumbProgram};
use crate::guard::certificate::{Certificate, Fingerprint, Run, certify};
use crate::guard::owner_daemon::{Disagreement, agree};
use crate::guard::{Evidence, OptIn};
use crate::scenario::Peer;

/// A plumb that is there.
#[derive(Debug)]
pub struct RealPlumb {
    evidence: Evidence,
    plumb: Plumb,
    version: String,
    service: Service,
    dialect: Dialect,
    before: Option<Fingerprint>,
    seen: Mutex<Seen>,
}

/// What was seen since the run began.
#[derive(Debug, Default)]
struct Seen {
    namespaces: BTreeSet<String>,
    roots: BTreeSet<PathBuf>,
    stopped: Option<String>,
}

/// Why a plumb that the guard admits cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RealError {
    /// It does not answer.
    #[error(transparent)]
    Plumb(#[from] PlumbError),
    /// It has no namespaces to give.
    #[error(transparent)]
    Lacking(#[from] Lacking),
    /// Its daemons cannot be listed.
    #[error(transparent)]
    Daemons(#[from] DaemonsError),
    /// The daemon is not the one that its owner named.
    #[error(
        "DSH_E2E_HOST_DAEMON={named}, but `plumb debug daemons` does not bear it out: {source}"
    )]
    Disagreement {
        /// The named PID.
        named: u32,
        /// What it says.
        source: Disagreement,
    },
    /// It cannot be seen what it holds.
    #[error(transparent)]
    Fingerprint(#[from] FingerprintError),
}

impl RealError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Lacking(lacking) => lacking.hint(),
            Self::Daemons(_) => {
                "use the plumb that runs the daemon: PLUMB_BIN=\"$(command -v plumb)\"; it has to know `debug daemons`"
            }
            Self::Disagreement { .. } => {
                "look at `plumb debug daemons` again and type the PID of its one row; a daemon that was restarted has \
                 another"
            }
            Self::Plumb(_) | Self::Fingerprint(_) => "run the command by hand; nothing was created",
        }
    }
}

/// Asks the plumb whether it can be used, and for a host run whether its daemon is the named one. Creates nothing.
pub fn take(
    program: &Path,
    account: BTreeMap<String, String>,
    dialect: &Dialect,
    evidence: &Evidence,
) -> Result<RealPlumb, RealError> {
    let plumb = Plumb {
        program: program.to_owned(),
        account,
    };
    let version = plumb.version()?;
    probe(&plumb, dialect)?;
    if let Evidence::Owner(named) = evidence {
        look(&plumb, *named)?;
    }
    let service = plumb.service(dialect)?;
    let before = match evidence {
        Evidence::Owner(named) => Some(fingerprint::take(&plumb, dialect, &service, named.pid())?),
        _ => None,
    };
    let (evidence, dialect) = (evidence.clone(), dialect.clone());
    Ok(RealPlumb {
        evidence,
        plumb,
        version,
        service,
        dialect,
        before,
        seen: Mutex::default(),
    })
}

/// Holds the daemons that run now against the opt-in.
fn look(plumb: &Plumb, named: OptIn) -> Result<(), RealError> {
    let listing = debug_daemons::ask(plumb)?;
    agree(&listing, named).map_err(|source| RealError::Disagreement {
        named: named.pid(),
        source,
    })
}

impl RealPlumb {
    /// The program.
    pub fn program(&self) -> &Path {
        &self.plumb.program
    }

    /// What it says of its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Why it may be used.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// The daemon that its owner named, if that is the evidence.
    pub fn owner(&self) -> Option<OptIn> {
        match self.evidence {
            Evidence::Owner(named) => Some(named),
            _ => None,
        }
    }

    /// What the run left at the owner's plumb; nothing where it is nobody's. Called once everything has ended.
    pub fn certificate(&self) -> Result<Option<Certificate>, FingerprintError> {
        let (Some(named), Some(before)) = (self.owner(), &self.before) else {
            return Ok(None);
        };
        let after = fingerprint::take(&self.plumb, &self.dialect, &self.service, named.pid())?;
        let seen = self.seen();
        let run = Run {
            named: named.pid(),
            namespaces: seen.namespaces.clone(),
            roots: seen
                .roots
                .iter()
                .map(|root| root.display().to_string())
                .collect(),
            dead: self.dialect.revoked.clone(),
        };
        Ok(Some(certify(before, &after, &run)))
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The second look, right before a namespace is made.
    fn look_again(&self) -> Result<(), String> {
        if let Some(why) = self.stopped() {
            return Err(why);
        }
        let (Some(named), Some(before)) = (self.owner(), &self.before) else {
            return Ok(());
        };
        look(&self.plumb, named).map_err(|error| error.to_string())?;
        let now = crate::supervise::process::ProcessId::of(named.pid());
        if now == before.daemon {
            return Ok(());
        }
        Err(format!(
            "daemon PID {named} is another process than at the start: it was replaced"
        ))
    }
}

impl PlumbHost for RealPlumb {
    fn plumb(&self, peer: &Peer, _root: &Path) -> Result<PlumbProgram, HostError> {
        if *peer != Peer::default() {
            return Err(HostError {
                what: format!("a plumb that is there cannot be made to behave like {peer:?}"),
            });
        }
        if let Err(why) = self.look_again() {
            self.seen().stopped = Some(why.clone());
            return Err(HostError { what: why });
        }
        Ok(PlumbProgram {
            program: self.plumb.program.clone(),
            account: self.plumb.account.clone(),
            sessions: self.service.sessions.clone(),
            log: self.service.log.clone(),
            state: self.service.state.clone(),
            assumes: Vec::new(),
            apart: Apart::Namespace,
        })
    }

    fn made(&self, namespace: &str, root: &Path) {
        let mut seen = self.seen();
        seen.namespaces.insert(namespace.to_owned());
        seen.roots.insert(root.to_owned());
    }

    fn stopped(&self) -> Option<String> {
        self.seen().stopped.clone()
    }
}
