//! `debug`: a look into the daemon of this root; `debug daemons` gives the verdict on how many there are.
//!
//! It looks at this root's pidfiles and sockets only, and never lists processes (assumed, A18).

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use super::{CliError, control, read, unknown};
use crate::args::{ArgsError, Flags};
use crate::daemon::control::ask;
use crate::daemon::second;
use crate::dirs::{Authority, Dirs};
use crate::logo;
use crate::process::Process;
use crate::setting::Setting;

const USAGE: &str = "Look into the daemon\n\nUsage:\n  plumb debug [command]\n\nCommands:\n  heap      Write a heap profile\n  lsp       Show the language servers\n  mem       Show memory figures\n  stacks    Write the stacks\n";
const USAGE_NEWER: &str = "  daemons   List the daemons and say whether all is well\n";

const LIMIT: Duration = Duration::from_secs(5);

/// One daemon of this root.
#[derive(Debug, Serialize)]
struct Row {
    pid: u32,
    authority: &'static str,
    owns_socket: bool,
    socket: String,
}

pub(super) fn run(setting: &Setting, rest: &[String]) -> Result<ExitCode, CliError> {
    let newer = setting.generation.has_debug_daemons();
    match rest.split_first().map(|(word, rest)| (word.as_str(), rest)) {
        Some(("daemons", rest)) if newer => daemons(setting, rest)?,
        Some(("mem" | "heap" | "stacks" | "lsp", _)) => {
            let dirs = Dirs::resolve(setting)?;
            let figures = ask(&dirs.control(), "mem-stats", LIMIT)?;
            logo::human(&format!("{figures}\n"))?;
        }
        // An older plumb takes any other word for an argument: it prints the help and is content.
        Some((_, rest)) if !newer => match rest.iter().find(|word| word.starts_with("--")) {
            Some(flag) if flag != "--help" => {
                return Err(ArgsError::UnknownFlag { flag: flag.clone() }.into());
            }
            _ => logo::human(USAGE)?,
        },
        None | Some(("--help" | "-h" | "help", _)) => {
            logo::human(&format!("{USAGE}{}", if newer { USAGE_NEWER } else { "" }))?;
        }
        Some((other, _)) => return Err(unknown(other, "plumb debug")),
    }
    Ok(ExitCode::SUCCESS)
}

fn daemons(setting: &Setting, rest: &[String]) -> Result<(), CliError> {
    let flags = Flags {
        switches: &["json"],
        values: &[],
    };
    let Some(given) = read(rest, flags, "Usage:\n  plumb debug daemons [--json]\n")? else {
        return Ok(());
    };
    let dirs = Dirs::resolve(setting)?;
    let rows = rows(&dirs)?;
    let verdict = verdict(&rows);
    if given.has("json") {
        let object = json!({ "daemons": rows, "verdict": verdict });
        return Ok(logo::plain(&format!("{object}\n"))?);
    }
    let line = |row: &Row| {
        let owns = if row.owns_socket { "yes" } else { "no" };
        format!(
            "{:<8} {:<10} {owns:<12} {}\n",
            row.pid, row.authority, row.socket
        )
    };
    let heading = format!(
        "{:<8} {:<10} {:<12} SOCKET\n",
        "PID", "AUTHORITY", "OWNS SOCKET"
    );
    let lines: String = rows.iter().map(line).collect();
    Ok(logo::human(&format!("{heading}{lines}\n{verdict}\n"))?)
}

fn rows(dirs: &Dirs) -> Result<Vec<Row>, CliError> {
    let mut rows = Vec::new();
    let is_authority = dirs.authority == Authority::Account && dirs.service_profile().exists();
    if let Some(daemon) = control::running(dirs)? {
        rows.push(Row {
            pid: daemon.pid,
            authority: if is_authority { "yes" } else { "no" },
            owns_socket: UnixStream::connect(dirs.control()).is_ok(),
            socket: dirs.socket().display().to_string(),
        });
    }
    rows.extend(pid_of(&second::pidfile(dirs)).map(|daemon| Row {
        pid: daemon.pid,
        authority: "no",
        owns_socket: false,
        socket: "-".to_owned(),
    }));
    Ok(rows)
}

fn pid_of(pidfile: &Path) -> Option<Process> {
    Process::look(std::fs::read_to_string(pidfile).ok()?.parse().ok()?)
}

/// The line that a guard reads: OK, VIOLATION or UNKNOWN, with the PID.
fn verdict(rows: &[Row]) -> String {
    match rows {
        [] => "UNKNOWN: no daemon of this root is running".to_owned(),
        [row] if !row.owns_socket => format!(
            "UNKNOWN: daemon PID {} does not answer on its socket",
            row.pid
        ),
        [row] if row.authority != "yes" => format!(
            "UNKNOWN: daemon PID {} runs without the launch authority",
            row.pid
        ),
        [row] => format!(
            "OK: daemon PID {} holds the launch authority and owns its socket",
            row.pid
        ),
        rows => {
            let pids: Vec<_> = rows.iter().map(|row| row.pid.to_string()).collect();
            format!(
                "VIOLATION: {} daemons are running, PID {}",
                rows.len(),
                pids.join(", PID ")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pid: u32, authority: &'static str, owns_socket: bool) -> Row {
        Row {
            pid,
            authority,
            owns_socket,
            socket: String::new(),
        }
    }

    #[test]
    fn only_one_daemon_with_authority_and_socket_is_ok() {
        insta::assert_snapshot!(verdict(&[row(7, "yes", true)]), @"OK: daemon PID 7 holds the launch authority and owns its socket");
        assert!(verdict(&[row(7, "yes", false)]).starts_with("UNKNOWN"));
        assert!(verdict(&[row(7, "no", true)]).starts_with("UNKNOWN"));
        assert!(verdict(&[]).starts_with("UNKNOWN"));
        insta::assert_snapshot!(verdict(&[row(7, "yes", true), row(8, "no", false)]), @"VIOLATION: 2 daemons are running, PID 7, PID 8");
    }
}
