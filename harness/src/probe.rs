//! Small commands that run inside an agent's bash: a probe of what a child sees, a hold, a counted effect; and one that
//! runs before an agent and talks to it.
//!
//! Run by the hidden verbs `probe`, `hold`, `effect` and `talk`, by absolute path from a generated script. They take all they
//! need from their arguments: nothing of theirs may be in the environment under test.

pub mod effect;
pub mod hold;
pub mod surroundings;
pub mod talk;

use std::{io::Write as _, path::Path};

/// Why one of them failed.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// A file could not be read or written.
    #[error("{verb} `{path}`: {source}")]
    File {
        /// What was tried.
        verb: &'static str,
        /// On what.
        path: String,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
    /// A folder could not be watched.
    #[error("watch `{path}`: {source}")]
    Watch {
        /// The folder.
        path: String,
        /// The system's answer.
        #[source]
        source: nix::Error,
    },
}

/// Makes a file appear whole: a reader sees all of it or none.
fn appear(path: &Path, bytes: &[u8]) -> Result<(), ProbeError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = Path::new(&beside);
    let failed = |verb, path: &Path| {
        let path = path.display().to_string();
        move |source| ProbeError::File { verb, path, source }
    };
    let mut file = std::fs::File::create(beside).map_err(failed("create", beside))?;
    file.write_all(bytes).map_err(failed("write", beside))?;
    std::fs::rename(beside, path).map_err(failed("rename to", path))
}
