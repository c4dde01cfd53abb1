//! `serve`: the process that an agent talks to, between its streams and the daemon.
//!
//! Called by the command line. It keeps no state that the daemon could keep, but for the credentials that let the
//! next serve of the same conversation have the session again.

mod credential;
mod proxy;
pub(crate) mod spawn;
mod streams;

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use crate::daemon::control::{self, ControlError};
use crate::dirs::{Dirs, DirsError};
use crate::fault::Fault;
use crate::logo;
use crate::namespace::Token;
use crate::setting::Setting;

/// How long the daemon may take for a control reply.
const CONTROL_LIMIT: Duration = Duration::from_secs(5);

/// What serve does when the daemon goes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reconnect {
    Yes,
    No,
}

/// What serve was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) reconnect: Reconnect,
    pub(crate) allow_dirs: Vec<PathBuf>,
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) token: Option<Token>,
}

/// Why serve ended other than by its client's wish.
#[derive(Debug, Error)]
pub(crate) enum ServeError {
    #[error(transparent)]
    Dirs(#[from] DirsError),
    #[error(transparent)]
    Spawn(#[from] spawn::SpawnError),
    #[error("serve cannot join its namespace: {0}")]
    Namespace(ControlError),
    #[error("the daemon went away and reconnecting is off")]
    DaemonGone,
    #[error("the daemon refused the replayed session: {why}")]
    ReplayRefused { why: String },
    #[error("serve died in mid-call, as the fault death-mid-call asks")]
    DeathMidCall,
    #[error("serve: {0}")]
    Io(#[from] std::io::Error),
}

/// Runs serve until its client closes stdin.
pub(crate) fn run(setting: &Setting, options: Options) -> Result<(), ServeError> {
    let dirs = Dirs::resolve(setting)?;
    if setting.faults.has(Fault::BannerOnStdout) {
        logo::plain("Starting…\n")?;
    }
    let stream = spawn::connect(setting, &dirs)?;
    join(&dirs, options.token.as_ref())?;
    warn_of_other_version(setting, &dirs)?;
    proxy::run(setting, &dirs, options, stream)
}

/// Asks before the client does, so that a dead token ends serve and not a handshake.
fn join(dirs: &Dirs, token: Option<&Token>) -> Result<(), ServeError> {
    let Some(token) = token else { return Ok(()) };
    let line = format!("namespace-check {}", token.reveal());
    control::ask(&dirs.control(), &line, CONTROL_LIMIT)
        .map(drop)
        .map_err(ServeError::Namespace)
}

fn warn_of_other_version(setting: &Setting, dirs: &Dirs) -> std::io::Result<()> {
    let own = setting.generation.version();
    match std::fs::read_to_string(dirs.version_file()) {
        Ok(theirs) if theirs != own => logo::notice(&format!(
            "plumb: warning: connected daemon is {theirs} but this binary is {own}"
        )),
        _ => Ok(()),
    }
}
