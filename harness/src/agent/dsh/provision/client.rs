//! Package clients as programs: how they are found, what they inherit, what their failure means.
//!
//! Called by the fetchers. A client gets the caller's environment, for that is where proxies, indexes and certificates
//! are set, less every name that steers dsh, plumb or this suite. It must never write outside its work folder and its
//! own cache.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex::Regex;

use super::super::surroundings::Surroundings;
use super::error::{ProvisionError, io};

/// What every client is run with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clients<'a> {
    /// The machine and the caller's environment.
    pub(super) surroundings: &'a Surroundings,
    /// A folder for downloads, logs and temporary files; it is removed afterwards.
    pub(super) work: &'a Path,
}

/// One call of a client.
#[derive(Debug)]
pub(super) struct Call<'a> {
    /// The program.
    pub(super) program: &'a Path,
    /// How a message calls it.
    pub(super) client: &'a str,
    /// What a message says it was doing.
    pub(super) doing: String,
    /// Where it runs.
    pub(super) folder: &'a Path,
    /// Its arguments.
    pub(super) args: Vec<String>,
}

/// How many of its last lines a client's failure shows.
const TAIL_LINES: usize = 15;

/// Names that begin so are for dsh, plumb or this suite, not for a package client.
const NOT_FOR_CLIENTS: [&str; 3] = ["DSH_", "PLUMB_", "E2E_"];

impl Clients<'_> {
    /// Finds the first of several programs on PATH.
    pub(super) fn find(&self, names: &[&str]) -> Option<PathBuf> {
        names
            .iter()
            .find_map(|name| self.surroundings.program(name))
    }

    /// Runs a client to its end; its two outputs go to one log, whose end is in the error.
    ///
    /// There is no limit of ours: a client knows best when its network has failed, and each has limits of its own.
    pub(super) fn run(&self, call: &Call<'_>) -> Result<(), ProvisionError> {
        let log = self.work.join("client.log");
        let output = File::create(&log).map_err(io("create", &log))?;
        let errors = output.try_clone().map_err(io("write", &log))?;
        let env = self.surroundings.env.iter().filter(|(name, _)| {
            let name = name.to_string_lossy();
            !NOT_FOR_CLIENTS
                .iter()
                .any(|prefix| name.starts_with(prefix))
        });
        let status = Command::new(call.program)
            .args(&call.args)
            .current_dir(call.folder)
            .env_clear()
            .envs(env)
            .env("TMPDIR", self.work.join("tmp"))
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .status()
            .map_err(|source| ProvisionError::ClientNotStarted {
                program: call.program.into(),
                source,
            })?;
        if status.success() {
            return Ok(());
        }
        let said = fs::read(&log).map_err(io("read", &log))?;
        Err(failure(
            call,
            &status.to_string(),
            &String::from_utf8_lossy(&said),
            self.work,
        ))
    }
}

/// Reads a client's last words.
fn failure(call: &Call<'_>, status: &str, said: &str, work: &Path) -> ProvisionError {
    if said.contains("No space left on device") || said.contains("ENOSPC") {
        return ProvisionError::DiskFull {
            action: format!("{} was {} in", call.client, call.doing),
            path: work.into(),
        };
    }
    if let Some((expected, found)) = mismatch(said) {
        return ProvisionError::WrongHash {
            what: format!("what {} fetched", call.client),
            expected,
            found,
        };
    }
    let lines: Vec<_> = said
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let tail = lines[lines.len().saturating_sub(TAIL_LINES)..]
        .iter()
        .map(|line| format!("  {line}"))
        .collect::<Vec<_>>();
    ProvisionError::ClientFailed {
        client: call.client.into(),
        doing: call.doing.clone(),
        status: status.into(),
        tail: if tail.is_empty() {
            "  (nothing)".into()
        } else {
            tail.join("\n")
        },
    }
}

/// Finds the expected and the found hash in what pip, npm or pnpm says of a package that is not the pinned one.
fn mismatch(said: &str) -> Option<(String, String)> {
    // pip: `Expected sha256 H`, `or H` for every further one, then `Got H`. npm: `wanted I but got I`.
    // pnpm: `Wanted "I". Got "I".`, in one line or two.
    let pattern = Regex::new(
        r#"(?x)
        Expected\s+sha256\s+(?<a1>[0-9a-f]{64}) (?:\s+Expected\s+or\s+[0-9a-f]{64}|\s+or\s+[0-9a-f]{64})* \s+Got\s+(?<a2>[0-9a-f]{64})
        | wanted\s+(?<b1>sha\d+-\S+)\s+but\s+got\s+(?<b2>sha\d+-[A-Za-z0-9+/=]+)
        | Wanted\s+"(?<c1>sha\d+-[^"]+)"\.\s+Got\s+"(?<c2>sha\d+-[^"]+)"
        "#,
    )
    .expect("the pattern is a constant, and a test compiles it");
    let found = pattern.captures(said)?;
    ["a", "b", "c"].iter().find_map(|form| {
        Some((
            found.name(&format!("{form}1"))?.as_str().to_owned(),
            found.name(&format!("{form}2"))?.as_str().to_owned(),
        ))
    })
}
