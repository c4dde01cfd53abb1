//! Does the plumb in use have namespaces, and a daemon that answers for them? There is no fallback.
//!
//! Called before a run in namespace isolation exists. It asks `namespace --help`, then the dialect's list, and looks
//! at the words as well as the exit code: an older plumb answers some unknown commands with help and exit 0 (measured).

use super::cli::Plumb;
use super::dialect::Dialect;
use super::said;
use crate::supervise::notice::Status;
use crate::supervise::{Answer, CallError};

/// What a help of `namespace` has to speak of, or it is the help of something else.
const HELP_WORDS: [&str; 2] = ["create", "release"];

/// How an older build and an older daemon say that they do not know a command (measured for both).
const UNKNOWN_COMMAND: &str = "unknown command";

/// How a command says that no daemon answers it: measured for the control socket, or the system's own words.
const NO_DAEMON: [&str; 4] = [
    "control socket unavailable",
    "not running",
    "connection refused",
    "no such file",
];

/// Why the plumb in use cannot isolate by namespaces.
#[derive(Debug, thiserror::Error)]
pub enum Lacking {
    /// It cannot be run.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The build is too old.
    #[error("this plumb is a build without namespaces: `namespace --help` gave {status:?}: {said}")]
    Build {
        /// How the command ended.
        status: Status,
        /// What it said.
        said: String,
    },
    /// The daemon is too old.
    #[error(
        "the daemon that runs does not know namespaces; an older build left it running: {said}"
    )]
    OlderDaemon {
        /// What the command said.
        said: String,
    },
    /// No daemon runs.
    #[error("no plumb daemon answers: {said}")]
    NoDaemon {
        /// What the command said.
        said: String,
    },
    /// Another reason.
    #[error("this plumb has namespaces, but cannot list them: {status:?}: {said}")]
    Other {
        /// How the command ended.
        status: Status,
        /// What it said.
        said: String,
    },
    /// The list cannot be read.
    #[error("this plumb lists its namespaces in a form that cannot be read: {said}")]
    Unreadable {
        /// What is wrong with it.
        said: String,
    },
}

impl Lacking {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Call(_) => {
                "name a plumb that runs on this machine with --plumb PATH or PLUMB_BIN"
            }
            Self::Build { .. } => {
                "name a newer plumb with --plumb PATH or PLUMB_BIN; or choose a daemon for each scenario, by name: \
                 E2E_ISOLATION=daemon"
            }
            Self::OlderDaemon { .. } => {
                "restart the daemon with the plumb in use, where nobody else's sessions need it: \
                 `plumb restart --force`"
            }
            Self::NoDaemon { .. } => {
                "start the daemon once, before the run: `plumb service install`, then `plumb restart --force`; a run \
                 never starts one"
            }
            Self::Other { .. } => "run `plumb namespace list --json` by hand; nothing was created",
            Self::Unreadable { .. } => {
                "name this plumb's own words with a dialect; nothing was created"
            }
        }
    }
}

/// Probes.
pub fn probe(plumb: &Plumb, dialect: &Dialect) -> Result<(), Lacking> {
    help(&plumb.ask(&["namespace", "--help"])?)?;
    let list: Vec<&str> = dialect.list.iter().map(String::as_str).collect();
    listed(&plumb.ask(&list)?, dialect)
}

fn help(answer: &Answer) -> Result<(), Lacking> {
    let said = said::words(&[answer.stdout.as_slice(), answer.stderr.as_slice()].concat());
    let speaks_of_it = HELP_WORDS.iter().all(|word| said.contains(word));
    if answer.status == Status::Code(0) && speaks_of_it {
        return Ok(());
    }
    Err(Lacking::Build {
        status: answer.status,
        said,
    })
}

fn listed(answer: &Answer, dialect: &Dialect) -> Result<(), Lacking> {
    if answer.status == Status::Code(0) {
        // Nobody's namespace is asked for: what counts is that there is a list.
        return match dialect.read_standing(&answer.stdout, "") {
            Ok(_) => Ok(()),
            Err(error) => Err(Lacking::Unreadable {
                said: error.to_string(),
            }),
        };
    }
    let said = said::words(&[answer.stderr.as_slice(), answer.stdout.as_slice()].concat());
    if said.contains(UNKNOWN_COMMAND) {
        return Err(Lacking::OlderDaemon { said });
    }
    if NO_DAEMON.iter().any(|words| said.contains(words)) {
        return Err(Lacking::NoDaemon { said });
    }
    Err(Lacking::Other {
        status: answer.status,
        said,
    })
}

#[cfg(test)]
mod tests {
    use super::{Answer, Dialect, Lacking, Status, help, listed};

    fn answer(code: i32, stdout: &str, stderr: &str) -> Answer {
        Answer {
            status: Status::Code(code),
            stdout: stdout.into(),
            stderr: stderr.into(),
        }
    }

    #[track_caller]
    fn check(found: Result<(), Lacking>, expected: &str) {
        let said = found.map_or_else(|lacking| format!("{lacking:?}"), |()| "capable".to_owned());
        let said = said.split(' ').next().unwrap_or_default();
        assert_eq!(said, expected);
    }

    #[test]
    fn the_help_is_judged_by_exit_code_and_words() {
        check(
            help(&answer(
                0,
                "Usage:\n  plumb namespace create\n  plumb namespace release\n",
                "",
            )),
            "capable",
        );
        check(
            help(&answer(
                1,
                "",
                "✗ error\n ┊ unknown command \"namespace\" for \"plumb\"\n",
            )),
            "Build",
        );
        check(help(&answer(0, "Usage:\n  plumb [command]\n", "")), "Build");
    }

    #[test]
    fn three_causes_are_told_apart_from_the_list() {
        let list =
            |code, out: &str, err: &str| listed(&answer(code, out, err), &Dialect::default());
        check(list(0, "[]", ""), "capable");
        check(
            list(0, r#"[{"id":"ns-1","state":"active"}]"#, ""),
            "capable",
        );
        check(
            list(1, "", " ┊ unknown command\n ┊ \"namespace-list\"\n"),
            "OlderDaemon",
        );
        check(
            list(
                1,
                "",
                " ┊ control socket\n ┊ unavailable — is plumb daemon running?\n",
            ),
            "NoDaemon",
        );
        check(
            list(
                1,
                "",
                "dial unix /run/plumb.sock: connect: connection refused",
            ),
            "NoDaemon",
        );
        check(list(1, "", "permission denied"), "Other");
        check(list(0, "no namespaces", ""), "Unreadable");
        check(list(0, "{}", ""), "Unreadable");
    }
}
