//! plumb's command line, as the runner asks it: short commands with a deadline, environment from empty.
//!
//! Never a command that lists sessions or mail (a listing deletes), never one that starts or stops a daemon.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::dialect::{Dialect, Service, Unreadable};
use crate::supervise::notice::Status;
use crate::supervise::order::Call;
use crate::supervise::{Answer, CallError, Extra, call};

/// How long one command may take: over ten times what the slowest was measured to take (148 ms).
const WITHIN_MS: u64 = 5_000;

/// A plumb that does not answer as it should.
#[derive(Debug, thiserror::Error)]
pub enum PlumbError {
    /// It cannot be run.
    #[error(transparent)]
    Call(#[from] CallError),
    /// It refused.
    #[error("`{command}` ended with {status:?}: {said}")]
    Refused {
        /// The command.
        command: String,
        /// How it ended.
        status: Status,
        /// What it said.
        said: String,
    },
    /// Its answer cannot be read.
    #[error("`{command}`: {source}")]
    Unreadable {
        /// The command.
        command: String,
        /// Why.
        source: Unreadable,
    },
}

/// A plumb program under an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plumb {
    /// The program.
    pub program: PathBuf,
    /// Its account's HOME and XDG roots, and what else it has to be told.
    pub account: BTreeMap<String, String>,
}

impl Plumb {
    /// Runs one command; an answer of any exit status is an answer.
    pub fn ask(&self, words: &[&str]) -> Result<Answer, CallError> {
        let mut env = self.account.clone();
        env.insert("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
        let args: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let call_of = Call {
            argv: vec![self.program.display().to_string()],
            env,
            cwd: self
                .program
                .parent()
                .map_or_else(|| PathBuf::from("/"), Path::to_path_buf),
            within_ms: WITHIN_MS,
        };
        call(
            &call_of,
            &Extra {
                args: &args,
                ..Extra::default()
            },
        )
    }

    /// Runs one command that has to succeed.
    pub fn succeed(&self, words: &[&str]) -> Result<Vec<u8>, PlumbError> {
        let answer = self.ask(words)?;
        if answer.status == Status::Code(0) {
            return Ok(answer.stdout);
        }
        let said = [&answer.stderr, &answer.stdout]
            .map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned());
        Err(PlumbError::Refused {
            command: self.shown(words),
            status: answer.status,
            said: said.join(" "),
        })
    }

    /// The last line of `version`.
    pub fn version(&self) -> Result<String, PlumbError> {
        let answer = self.succeed(&["version"])?;
        let text = String::from_utf8_lossy(&answer).into_owned();
        Ok(text
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .unwrap_or_default()
            .trim()
            .to_owned())
    }

    /// Where it keeps its things, as it says itself.
    pub fn service(&self, dialect: &Dialect) -> Result<Service, PlumbError> {
        let words: Vec<&str> = dialect.service.iter().map(String::as_str).collect();
        let answer = self.succeed(&words)?;
        dialect
            .read_service(&answer)
            .map_err(|source| PlumbError::Unreadable {
                command: self.shown(&words),
                source,
            })
    }

    fn shown(&self, words: &[&str]) -> String {
        format!("{} {}", self.program.display(), words.join(" "))
    }
}
