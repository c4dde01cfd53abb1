//! Finds a dsh that somebody else installed, in the order that the plugin's readme gives (RUN-12).
//!
//! Called by the command line for `--dsh installed` and `--dsh PATH`. It must never start anything,
//! and never choose between two.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use super::surroundings::Surroundings;

/// A dsh that is on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What to start.
    pub executable: PathBuf,
    /// Where it was found.
    pub origin: Origin,
    /// What its `package.json` says, where it has one; see
    /// [`version_of`](super::version::version_of).
    pub version: Option<String>,
}

/// Where a dsh was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// On the command line.
    Path,
    /// In `DSH_BIN`.
    DshBin,
    /// In the profile tree of `DSH_HOME`, else of `~/.dsh`.
    ProfileTree,
    /// In the cache of npx.
    Npx,
}

/// Why there is no dsh to start. [`DiscoverError::hint`] says what to do.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum DiscoverError {
    /// A path was named, and there is no file.
    #[error("{named_by} names {}, and there is no such file", path.display())]
    NoSuchFile {
        /// Who named it.
        named_by: &'static str,
        /// What was named.
        path: PathBuf,
    },
    /// There is none anywhere.
    #[error("no installed dsh was found; looked in:\n{}", lines(looked))]
    Nowhere {
        /// Every place, in order.
        looked: Vec<PathBuf>,
    },
    /// There are several, and nothing tells them apart.
    #[error("the npx cache holds {} installs of dsh:\n{}", installs.len(), lines(installs))]
    Several {
        /// Their executables.
        installs: Vec<PathBuf>,
    },
    /// A package is there, but does not say what to start.
    #[error("{} is not the package of a dsh that can be started: {reason}", path.display())]
    Broken {
        /// The `package.json`.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// Where the package lies below a `node_modules`.
const PACKAGE: &str = "@deepseek-ai/dsh";

/// Finds the installed dsh.
pub fn discover(surroundings: &Surroundings) -> Result<Found, DiscoverError> {
    if let Some(path) = surroundings.var("DSH_BIN") {
        return named(surroundings, PathBuf::from(path), "DSH_BIN", Origin::DshBin);
    }
    let mut looked = Vec::new();
    if let Some(home) = dsh_home(surroundings) {
        let package = home.join("profiles/node_modules").join(PACKAGE);
        if let Some(found) = read_package(surroundings, &package, Origin::ProfileTree)? {
            return Ok(found);
        }
        looked.push(package);
    }
    if let Some(cache) = npm_cache(surroundings) {
        let npx = cache.join("_npx");
        let mut installs = Vec::new();
        for key in folders_in(surroundings, &npx) {
            installs.extend(read_package(
                surroundings,
                &key.join("node_modules").join(PACKAGE),
                Origin::Npx,
            )?);
        }
        match <[Found; 1]>::try_from(installs) {
            Ok([only]) => return Ok(only),
            Err(none) if none.is_empty() => looked.push(npx.join("*/node_modules").join(PACKAGE)),
            Err(several) => {
                let installs = several.into_iter().map(|found| found.executable).collect();
                return Err(DiscoverError::Several { installs });
            }
        }
    }
    Err(DiscoverError::Nowhere { looked })
}

/// Takes the dsh that was given as a path.
pub fn at_path(surroundings: &Surroundings, path: PathBuf) -> Result<Found, DiscoverError> {
    named(surroundings, path, "--dsh", Origin::Path)
}

impl DiscoverError {
    /// Says what to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoSuchFile { .. } => {
                "name the executable of a dsh, or a pinned build: --dsh BUILD"
            }
            Self::Nowhere { .. } => "set DSH_BIN to a dsh, or name a pinned build: --dsh BUILD",
            Self::Several { .. } => "set DSH_BIN to the one that is meant",
            Self::Broken { .. } => "install that dsh again, or set DSH_BIN to another",
        }
    }
}

fn named(
    surroundings: &Surroundings,
    path: PathBuf,
    named_by: &'static str,
    origin: Origin,
) -> Result<Found, DiscoverError> {
    let place = surroundings.place(&path);
    if place.is_file() {
        Ok(Found {
            executable: place,
            origin,
            version: None,
        })
    } else {
        Err(DiscoverError::NoSuchFile { named_by, path })
    }
}

/// Gives the home whose profile tree counts: the one dsh itself would use.
fn dsh_home(surroundings: &Surroundings) -> Option<PathBuf> {
    let account = surroundings.var("HOME").map(PathBuf::from);
    let Some(named) = surroundings.var("DSH_HOME").map(PathBuf::from) else {
        return account.map(|account| account.join(".dsh"));
    };
    match (named.strip_prefix("~"), account) {
        (Ok(below), Some(account)) => Some(account.join(below)),
        _ => Some(named),
    }
}

fn npm_cache(surroundings: &Surroundings) -> Option<PathBuf> {
    let named = surroundings.var("npm_config_cache").map(PathBuf::from);
    named.or_else(|| {
        surroundings
            .var("HOME")
            .map(|home| Path::new(home).join(".npm"))
    })
}

/// Lists the folders in a folder, sorted; a folder that cannot be read has none.
fn folders_in(surroundings: &Surroundings, folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(surroundings.place(folder)) else {
        return Vec::new();
    };
    let mut names: Vec<_> = entries
        .flatten()
        .map(|entry| folder.join(entry.file_name()))
        .collect();
    names.sort();
    names
}

/// The part of a `package.json` that matters here.
#[derive(Deserialize)]
struct Package {
    version: Option<String>,
    bin: Option<Value>,
}

/// Reads the package in a folder, if there is one.
fn read_package(
    surroundings: &Surroundings,
    folder: &Path,
    origin: Origin,
) -> Result<Option<Found>, DiscoverError> {
    let path = surroundings.place(folder).join("package.json");
    // A link to an install that is gone is no install.
    let Ok(text) = fs::read(&path) else {
        return Ok(None);
    };
    let broken = |reason: String| DiscoverError::Broken {
        path: path.clone(),
        reason,
    };
    let package: Package =
        serde_json::from_slice(&text).map_err(|error| broken(error.to_string()))?;
    let script = match &package.bin {
        Some(Value::String(script)) => Some(script.as_str()),
        Some(Value::Object(scripts)) => scripts.get("dsh").and_then(Value::as_str),
        _ => None,
    };
    let script = script.ok_or_else(|| broken("it names no program `dsh`".into()))?;
    let executable = surroundings.place(folder).join(script);
    if !executable.is_file() {
        return Err(broken(format!("its program `{script}` is not there")));
    }
    Ok(Some(Found {
        executable,
        origin,
        version: package.version,
    }))
}

fn lines(paths: &[PathBuf]) -> String {
    if paths.is_empty() {
        return "  (neither DSH_HOME, npm_config_cache nor HOME is set)".into();
    }
    paths
        .iter()
        .map(|path| format!("  {}", path.display()))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests;
