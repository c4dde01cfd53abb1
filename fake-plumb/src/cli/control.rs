//! `restart` and `stop`: the daemon of this root, known by the lock it holds and the pidfile it wrote.
//!
//! Never a daemon of another root, never one found by name.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use nix::fcntl::FlockArg;

use super::{CliError, read};
use crate::args::Flags;
use crate::daemon::listen;
use crate::dirs::Dirs;
use crate::logo;
use crate::process::{Ending, Process, terminate};
use crate::record::file::Store;
use crate::serve::spawn;
use crate::setting::Setting;

/// How long a daemon may take to end (facts, section 2).
const LIMIT: Duration = Duration::from_secs(10);

/// Whether live sessions need a word before their daemon goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Confirmation {
    Forced,
    Needed,
}

/// The daemon that holds this root's lock.
pub(super) fn running(dirs: &Dirs) -> Result<Option<Process>, CliError> {
    if !dirs.daemon_lock().exists()
        || listen::lock(&dirs.daemon_lock(), FlockArg::LockExclusiveNonblock)?.is_some()
    {
        return Ok(None);
    }
    let pid = std::fs::read_to_string(dirs.pidfile())
        .ok()
        .and_then(|pid| pid.parse().ok());
    Ok(pid.and_then(Process::look))
}

pub(super) fn restart(setting: &Setting, rest: &[String]) -> Result<ExitCode, CliError> {
    let Some(confirmation) = confirmation(rest, "Usage:\n  plumb restart [--force]\n")? else {
        return Ok(ExitCode::SUCCESS);
    };
    let dirs = Dirs::resolve(setting)?;
    listen::check(&dirs)?;
    let before = match running(&dirs)? {
        None => "Daemon is not running — starting a fresh one.\n".to_owned(),
        Some(daemon) => end(setting, &dirs, daemon, confirmation, "restart")?,
    };
    spawn::start(setting, &dirs)?;
    logo::human(&format!("{before}Daemon restarted.\n"))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn stop(setting: &Setting, rest: &[String]) -> Result<ExitCode, CliError> {
    let Some(confirmation) = confirmation(rest, "Usage:\n  plumb stop [--force]\n")? else {
        return Ok(ExitCode::SUCCESS);
    };
    let dirs = Dirs::resolve(setting)?;
    let text = match running(&dirs)? {
        None => "Daemon is not running.\n".to_owned(),
        Some(daemon) => end(setting, &dirs, daemon, confirmation, "stop")?,
    };
    logo::human(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn confirmation(rest: &[String], usage: &str) -> Result<Option<Confirmation>, CliError> {
    let given = read(
        rest,
        Flags {
            switches: &["force"],
            values: &[],
        },
        usage,
    )?;
    Ok(given.map(|given| {
        if given.has("force") {
            Confirmation::Forced
        } else {
            Confirmation::Needed
        }
    }))
}

fn end(
    setting: &Setting,
    dirs: &Dirs,
    daemon: Process,
    confirmation: Confirmation,
    verb: &'static str,
) -> Result<String, CliError> {
    if confirmation == Confirmation::Needed && !std::io::stdin().is_terminal() {
        let store = Store::open(dirs, &setting.faults)?;
        let sessions = store
            .read_all()?
            .iter()
            .filter(|record| record.is_live())
            .count();
        if sessions > 0 {
            return Err(CliError::Unconfirmed { verb, sessions });
        }
    }
    match terminate(daemon, LIMIT)? {
        Ending::Ended => Ok(format!(
            "Stopping daemon (PID {}) ... stopped.\n",
            daemon.pid
        )),
        Ending::StillThere => Err(CliError::WouldNotEnd {
            pid: daemon.pid,
            waited: LIMIT,
        }),
    }
}
