//! Asks a dsh for its version; the cheapest sign that it can be started here (0.1 to 0.4 s, nothing
//! is written).
//!
//! Called by the command line for what it did not provision. It must never give dsh a home or a
//! key.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use thiserror::Error;

/// Why a dsh did not say its version.
#[derive(Debug, Error)]
pub enum VersionError {
    /// It cannot be started.
    #[error("start {}", executable.display())]
    NotStarted {
        /// The dsh.
        executable: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// It did not end.
    #[error("{} --version did not end in {within:?}", executable.display())]
    DidNotEnd {
        /// The dsh.
        executable: PathBuf,
        /// How long it was waited for.
        within: Duration,
    },
    /// It failed, or said something else.
    #[error("{} --version said {said:?} ({status})", executable.display())]
    NoVersion {
        /// The dsh.
        executable: PathBuf,
        /// How it ended.
        status: ExitStatus,
        /// Its standard output.
        said: String,
    },
}

/// How long a version may take: ten times the slowest that was seen, on a loaded machine.
const WITHIN: Duration = Duration::from_secs(10);

/// Asks a dsh for its version; `path` is the PATH it gets.
pub fn version_of(executable: &Path, path: &str) -> Result<String, VersionError> {
    let not_started = |source| VersionError::NotStarted {
        executable: executable.into(),
        source,
    };
    let mut child = Command::new(executable)
        .arg("--version")
        .env_clear()
        .env("PATH", path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(not_started)?;
    let mut output = child.stdout.take();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut said = String::new();
        let read = output
            .as_mut()
            .map(|output| output.read_to_string(&mut said));
        // Nobody listens any more when the time is over.
        drop(sender.send(read.map(|_| said)));
    });
    let Ok(said) = receiver.recv_timeout(WITHIN) else {
        child.kill().map_err(not_started)?;
        child.wait().map_err(not_started)?;
        return Err(VersionError::DidNotEnd {
            executable: executable.into(),
            within: WITHIN,
        });
    };
    let status = child.wait().map_err(not_started)?;
    let said = said.unwrap_or_default().trim().to_owned();
    let is_version = said.starts_with(|first: char| first.is_ascii_digit())
        && !said.contains(char::is_whitespace);
    if status.success() && is_version {
        return Ok(said);
    }
    Err(VersionError::NoVersion {
        executable: executable.into(),
        status,
        said,
    })
}
