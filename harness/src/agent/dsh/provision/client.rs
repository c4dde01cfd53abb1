//! Package clients as programs: how they are found, what they inherit, what their failure means.
//!
//! Called by the fetchers. A client gets the caller's environment, for that is where proxies,
//! indexes and certificates are set, less every name that steers dsh, plumb or this suite. It must
//! never write outside its work folder and its own cache.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

use super::super::surroundings::Surroundings;
use super::error::{ProvisionError, io};

/// What every client is run with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clients<'a> {
    /// The machine and the caller's environment.
    pub(super) surroundings: &'a Surroundings,
    /// The cache, for messages.
    pub(super) cache: &'a Path,
    /// The lock, an empty file; see [`Place::lock`](super::cache::Place::lock).
    pub(super) lock: &'a File,
    /// A folder for downloads and temporary files; it is removed afterwards.
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

    /// Runs a client to its end; the end of its two outputs is in the error. They go through
    /// memory, for a log on a full disk would not hold the line that says so.
    ///
    /// There is no limit of ours: a client knows best when its network has failed, and each has
    /// limits of its own.
    pub(super) fn run(&self, call: &Call<'_>) -> Result<(), ProvisionError> {
        let (mut said, output) = std::io::pipe().map_err(io("open a pipe in", self.work))?;
        let errors = output
            .try_clone()
            .map_err(io("open a pipe in", self.work))?;
        let lock = self
            .lock
            .try_clone()
            .map_err(io("share the lock of", self.cache))?;
        let env = self.surroundings.env.iter().filter(|(name, _)| {
            let name = name.to_string_lossy();
            !NOT_FOR_CLIENTS
                .iter()
                .any(|prefix| name.starts_with(prefix))
        });
        let not_started = |source| ProvisionError::ClientNotStarted {
            program: call.program.into(),
            source,
        };
        // The command holds both writing ends until it is dropped, here, at the end of the
        // statement.
        let mut child = Command::new(call.program)
            .args(&call.args)
            .current_dir(call.folder)
            .env_clear()
            .envs(env)
            .env("TMPDIR", self.work.join("tmp"))
            .stdin(lock)
            .stdout(output)
            .stderr(errors)
            .spawn()
            .map_err(not_started)?;
        let mut bytes = Vec::new();
        said.read_to_end(&mut bytes).map_err(not_started)?;
        let status = child.wait().map_err(not_started)?;
        if status.success() {
            return Ok(());
        }
        Err(failure(
            call,
            &status.to_string(),
            &String::from_utf8_lossy(&bytes),
            self.cache,
        ))
    }
}

/// Reads a client's last words.
fn failure(call: &Call<'_>, status: &str, said: &str, cache: &Path) -> ProvisionError {
    if said.contains("No space left on device") || said.contains("ENOSPC") {
        return ProvisionError::DiskFull {
            action: format!("{} was {} in", call.client, call.doing),
            path: cache.into(),
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
        .map(|line| format!("  {}", without_password(line)))
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

/// Removes user and password from every address in a line: a client may name its proxy or its
/// index.
fn without_password(line: &str) -> String {
    let pattern =
        Regex::new(r"://[^/@\s]+@").expect("the pattern is a constant, and a test compiles it");
    pattern.replace_all(line, "://…@").into_owned()
}

/// Finds the expected and the found hash in what pip, npm or pnpm says of a package that is not the
/// pinned one.
fn mismatch(said: &str) -> Option<(String, String)> {
    // The forms, in this order: pip (one line for each further hash), npm, pnpm.
    let pattern = Regex::new(
        r#"(?x)
        Expected\s+sha256\s+(?<a1>[0-9a-f]{64})
          (?:\s+Expected\s+or\s+[0-9a-f]{64})*
          \s+Got\s+(?<a2>[0-9a-f]{64})
        | wanted\s+(?<b1>sha\d+-\S+)\s+but\s+got\s+(?<b2>sha\d+-[A-Za-z0-9+/=]+)
        | Wanted\s+"(?<c1>sha\d+-[^"]+)"\.\s+Got\s+"(?<c2>sha\d+-[^"]+)"
        "#,
    )
    .expect("the pattern is a constant, and a test compiles it");
    let found = pattern.captures(said)?;
    let pair = |form: &str, kind: &str| {
        let part = |number| {
            found
                .name(&format!("{form}{number}"))
                .map(|part| format!("{kind}{}", part.as_str()))
        };
        part(1).zip(part(2))
    };
    pair("a", "sha256 ")
        .or_else(|| pair("b", ""))
        .or_else(|| pair("c", ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What pip 23.2, npm 11.19 and pnpm 10.34 said when a pin was changed.
    #[test]
    fn each_client_says_which_hash_it_wanted_and_which_it_got() {
        let (zeros, ones) = ("0".repeat(64), "1".repeat(64));
        let pip = Some((format!("sha256 {zeros}"), format!("sha256 {ones}")));
        let one_hash = format!("        Expected sha256 {zeros}\n             Got        {ones}\n");
        let several = format!(
            "Expected sha256 {zeros}\n  Expected     or {}\n  Got  {ones}\n",
            "2".repeat(64)
        );
        let npm = "when using sha512: wanted sha512-AA+/w== but got sha512-9J==.";
        let pnpm =
            r#"Got unexpected checksum for "x.tgz". Wanted "sha512-AA+/w==". Got "sha512-9J=="."#;
        let node = Some(("sha512-AA+/w==".to_owned(), "sha512-9J==".to_owned()));
        assert_eq!(
            (mismatch(&one_hash), mismatch(&several)),
            (pip.clone(), pip)
        );
        assert_eq!((mismatch(npm), mismatch(pnpm)), (node.clone(), node));
        assert_eq!(mismatch("ERROR: No matching distribution found"), None);
    }

    #[test]
    fn the_password_of_a_proxy_is_not_repeated() {
        let line =
            "cannot connect to http://me:secret@proxy.example:8080/ for https://index.example/";
        let shown = "cannot connect to http://…@proxy.example:8080/ for https://index.example/";
        assert_eq!(without_password(line), shown);
    }
}
