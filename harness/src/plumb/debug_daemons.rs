//! Reads what `plumb debug daemons` prints: a table with one row for each daemon, and a line with a verdict.
//!
//! Called for a host run. The form is assumed, not measured, so it is read by the names of its columns and words, and
//! whatever is odd is an error. An older plumb prints help and exits 0 (measured): the text is looked at.

use std::fmt;

use super::cli::Plumb;
use super::said;
use crate::supervise::CallError;
use crate::supervise::notice::Status;

/// The command.
pub const COMMAND: [&str; 2] = ["debug", "daemons"];

/// What was listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// One for each row.
    pub daemons: Vec<Daemon>,
    /// The verdict.
    pub verdict: Verdict,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Daemon {
    /// Its PID.
    pub pid: u32,
    /// Whether it holds the launch authority.
    pub authority: Yes,
    /// Whether it owns its socket, where a column says so.
    pub owns_socket: Option<Yes>,
}

/// The verdict line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Its first word: OK, VIOLATION, UNKNOWN, or one that nobody knows yet.
    pub word: String,
    /// The PIDs that it names.
    pub pids: Vec<u32>,
    /// Whether the daemon owns its socket, where the line says so.
    pub owns_socket: Option<Yes>,
    /// The whole line.
    pub line: String,
}

/// A yes, or what stands instead of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Yes {
    /// `yes`.
    Yes,
    /// Anything else.
    Other(String),
}

impl fmt::Display for Yes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Yes => "yes",
            Self::Other(said) => said,
        })
    }
}

impl Yes {
    fn of(cell: &str) -> Self {
        if cell == "yes" {
            Self::Yes
        } else {
            Self::Other(cell.to_owned())
        }
    }
}

/// Why there is no listing.
#[derive(Debug, thiserror::Error)]
pub enum DaemonsError {
    /// It could not be run.
    #[error("`plumb debug daemons`: {0}")]
    Call(#[from] CallError),
    /// It failed.
    #[error("`plumb debug daemons` ended with {status:?}: {said}")]
    Failed {
        /// How.
        status: Status,
        /// What it said.
        said: String,
    },
    /// An older plumb's help.
    #[error(
        "`plumb debug daemons` printed no table with PID and AUTHORITY: a plumb that is too old prints its help"
    )]
    NoTable,
    /// A row that cannot be read.
    #[error("`plumb debug daemons`: the row `{row}` does not fit its columns")]
    Row {
        /// The row.
        row: String,
    },
    /// Not one verdict.
    #[error("`plumb debug daemons` gave {count} verdict lines, not one")]
    Verdicts {
        /// How many.
        count: usize,
    },
}

/// Asks, and reads the answer.
pub fn ask(plumb: &Plumb) -> Result<Listing, DaemonsError> {
    let answer = plumb.ask(&COMMAND)?;
    if answer.status != Status::Code(0) {
        let said = said::words(&[answer.stderr, answer.stdout].concat());
        return Err(DaemonsError::Failed {
            status: answer.status,
            said,
        });
    }
    read(&answer.stdout)
}

/// Reads a listing.
pub fn read(stdout: &[u8]) -> Result<Listing, DaemonsError> {
    let lines = said::lines(stdout);
    let mut lines = lines.iter();
    let columns = lines
        .by_ref()
        .map(|line| cells(line))
        .find(|cells| cells.contains(&"PID") && cells.contains(&"AUTHORITY"))
        .ok_or(DaemonsError::NoTable)?;
    let mut daemons = Vec::new();
    let mut verdicts = Vec::new();
    for line in lines.filter(|line| !line.trim().is_empty()) {
        match verdict(line.trim()) {
            Some(verdict) => verdicts.push(verdict),
            // What follows the verdict explains it.
            None if verdicts.is_empty() => daemons.push(daemon(line, &columns)?),
            None => {}
        }
    }
    match <[Verdict; 1]>::try_from(verdicts) {
        Ok([verdict]) => Ok(Listing { daemons, verdict }),
        Err(verdicts) => Err(DaemonsError::Verdicts {
            count: verdicts.len(),
        }),
    }
}

/// The cells of a line: they are at least two blanks apart, and a title may hold a single one.
fn cells(line: &str) -> Vec<&str> {
    line.split("  ")
        .map(str::trim)
        .filter(|cell| !cell.is_empty())
        .collect()
}

fn daemon(line: &str, columns: &[&str]) -> Result<Daemon, DaemonsError> {
    let odd = || DaemonsError::Row {
        row: line.trim().to_owned(),
    };
    let cells = cells(line);
    if cells.len() != columns.len() {
        return Err(odd());
    }
    let cell = |name: &str| {
        columns
            .iter()
            .position(|column| *column == name)
            .map(|at| cells[at])
    };
    Ok(Daemon {
        pid: cell("PID")
            .and_then(|pid| pid.parse().ok())
            .ok_or_else(odd)?,
        authority: Yes::of(cell("AUTHORITY").ok_or_else(odd)?),
        owns_socket: cell("OWNS SOCKET").map(Yes::of),
    })
}

/// A verdict line begins with a word in capitals and a colon or a blank; no row does.
fn verdict(line: &str) -> Option<Verdict> {
    let end = line.find([':', ' ']).unwrap_or(line.len());
    let word = &line[..end];
    if word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let lower = line.to_lowercase();
    Some(Verdict {
        word: word.to_owned(),
        pids: pids(&lower),
        owns_socket: lower.contains("socket").then(|| {
            if lower.contains("owns its socket") {
                Yes::Yes
            } else {
                Yes::Other(line.to_owned())
            }
        }),
        line: line.to_owned(),
    })
}

/// The numbers that follow the word PID.
fn pids(lower: &str) -> Vec<u32> {
    let words: Vec<&str> = lower
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|it| !it.is_empty())
        .collect();
    words
        .windows(2)
        .filter(|pair| matches!(pair[0], "pid" | "pids"))
        .filter_map(|pair| pair[1].parse().ok())
        .collect()
}

#[cfg(test)]
mod tests;
