//! What is compiled in beside the code: scenarios, and the plugins that rows name.
//!
//! The shipped binary needs no file beside it. Scenarios of a folder are laid over the built-in ones by their id.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

use crate::scenario::{self, Mistake, Scenario};

static SCENARIOS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../scenarios");
static IDENTITY: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../agents/dsh/identity");
static DRIVER: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../agents/dsh/driver");
static IDENTITY_FAULTS: Dir<'static> =
    include_dir!("$CARGO_MANIFEST_DIR/../agents/dsh/identity-faults");
static PROBES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../agents/dsh/probes");
static SABOTEURS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../agents/dsh/saboteurs");

/// A library that cannot be read or laid out.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum LibraryError {
    /// A scenario has a mistake.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Mistake(#[from] Mistake),
    /// Two scenarios have the same last part of their path.
    #[error(
        "two scenarios are called `{stem}`: {first} and {second}; the last part of the path must be unique"
    )]
    SameStem {
        /// The stem.
        stem: String,
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// A file cannot be read or written.
    #[error("`{path}`: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// A scenario and its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What it states.
    pub scenario: Scenario,
    /// Its file, word for word; kept with the evidence.
    pub text: String,
}

/// Every scenario, in the order of their ids: the built-in ones with those of `folder` laid over them.
#[expect(
    clippy::result_large_err,
    reason = "it is made once, for a person, and carries the file it is about"
)]
pub fn scenarios(folder: Option<&Path>) -> Result<Vec<Entry>, LibraryError> {
    let mut texts = BTreeMap::new();
    for family in SCENARIOS.dirs() {
        for file in family.files() {
            if let Some(id) = id_of(file.path()) {
                texts.insert(id, file.contents_utf8().unwrap_or_default().to_owned());
            }
        }
    }
    if let Some(folder) = folder {
        texts.extend(outside(folder)?);
    }
    let mut entries: Vec<Entry> = Vec::new();
    let mut stems: BTreeMap<String, String> = BTreeMap::new();
    for (id, text) in texts {
        let stem = id.rsplit('/').next().unwrap_or(&id).to_owned();
        if let Some(first) = stems.insert(stem.clone(), id.clone()) {
            return Err(LibraryError::SameStem {
                stem,
                first,
                second: id,
            });
        }
        entries.push(Entry {
            scenario: scenario::read(&id, &text)?,
            text,
        });
    }
    Ok(entries)
}

/// Writes the plugins below `root`; gives that folder.
#[expect(
    clippy::result_large_err,
    reason = "it is made once, for a person, and carries the file it is about"
)]
pub fn lay_out_plugins(root: &Path) -> Result<PathBuf, LibraryError> {
    for (name, folder) in [
        ("identity", &IDENTITY),
        ("identity-faults", &IDENTITY_FAULTS),
        ("driver", &DRIVER),
        ("probes", &PROBES),
        ("saboteurs", &SABOTEURS),
    ] {
        let to = root.join(name);
        let failed = |source| LibraryError::File {
            path: to.clone(),
            source,
        };
        std::fs::create_dir_all(&to).map_err(failed)?;
        folder.extract(&to).map_err(failed)?;
    }
    Ok(root.to_owned())
}

/// The id of a scenario file: its path without the ending; requirement sets and pins are none.
fn id_of(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let id = text.strip_suffix(".toml")?;
    let family = id.split_once('/')?.0;
    (!matches!(family, "requirements" | "pins")).then(|| id.to_owned())
}

#[expect(
    clippy::result_large_err,
    reason = "it is made once, for a person, and carries the file it is about"
)]
fn outside(folder: &Path) -> Result<BTreeMap<String, String>, LibraryError> {
    let failed = |path: &Path, source| LibraryError::File {
        path: path.to_owned(),
        source,
    };
    let mut texts = BTreeMap::new();
    for family in std::fs::read_dir(folder).map_err(|source| failed(folder, source))? {
        let family = family.map_err(|source| failed(folder, source))?.path();
        if !family.is_dir() {
            continue;
        }
        for file in std::fs::read_dir(&family).map_err(|source| failed(&family, source))? {
            let path = file.map_err(|source| failed(&family, source))?.path();
            if let Some(id) = path.strip_prefix(folder).ok().and_then(id_of) {
                let text =
                    std::fs::read_to_string(&path).map_err(|source| failed(&path, source))?;
                texts.insert(id, text);
            }
        }
    }
    Ok(texts)
}
