//! `provisioned.json`: what was put into the cache, and whether it still lies there.
//!
//! Written last, inside the folder aside; read first by every run. It must never take a folder
//! without it for a build.

use std::fs::{self, File};
use std::io::{self as std_io, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::super::build::Payload;
use super::TREE;
use super::error::{ProvisionError, io};

/// How closely the cache is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Size and time of the programs; a file whose time alone differs (a copied cache) is hashed.
    Quick,
    /// The hash of every file.
    EveryFile,
}

/// What lies in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing.
    Absent,
    /// What was put there.
    Sound,
    /// Something else.
    Torn(String),
}

/// The file itself.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    format: u32,
    hash: String,
    tree_sha256: String,
    programs: Vec<Program>,
}

/// A file that is started.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    path: String,
    size: u64,
    /// Nanoseconds since 1970.
    modified_ns: u64,
    sha256: String,
}

const NAME: &str = "provisioned.json";

/// Writes the manifest of a folder whose tree is complete.
pub(super) fn write(folder: &Path, hash: &str, payload: &Payload) -> Result<(), ProvisionError> {
    let tree = folder.join(TREE);
    let mut programs = Vec::new();
    for path in [&payload.executable].into_iter().chain(&payload.programs) {
        let file = tree.join(path);
        let (size, modified_ns) = size_and_time(&file).map_err(io("read", &file))?;
        let sha256 = hash_of_file(&file).map_err(io("read", &file))?;
        programs.push(Program {
            path: path.clone(),
            size,
            modified_ns,
            sha256,
        });
    }
    let manifest = Manifest {
        format: 1,
        hash: hash.into(),
        tree_sha256: hash_of_tree(&tree)?,
        programs,
    };
    let path = folder.join(NAME);
    let mut text =
        serde_json::to_vec_pretty(&manifest).map_err(|error| io("write", &path)(error.into()))?;
    text.push(b'\n');
    fs::write(&path, text).map_err(io("write", &path))
}

/// Looks whether a folder holds what its manifest says.
pub(super) fn look(folder: &Path, hash: &str, check: Check) -> Result<State, ProvisionError> {
    match fs::symlink_metadata(folder) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(State::Absent),
        Err(error) => return Err(io("look at", folder)(error)),
    }
    let text = match fs::read(folder.join(NAME)) {
        Ok(text) => text,
        Err(error) => return Ok(State::Torn(format!("{NAME} cannot be read: {error}"))),
    };
    let manifest: Manifest = match serde_json::from_slice(&text) {
        Ok(manifest) => manifest,
        Err(error) => return Ok(State::Torn(format!("{NAME} is not a manifest: {error}"))),
    };
    if manifest.format != 1 || manifest.hash != hash {
        return Ok(State::Torn(format!(
            "{NAME} is about something else: format {}, hash {}",
            manifest.format, manifest.hash
        )));
    }
    let tree = folder.join(TREE);
    for program in &manifest.programs {
        if let Some(why) = fault_of(&tree, program) {
            return Ok(State::Torn(why));
        }
    }
    if check == Check::EveryFile && hash_of_tree(&tree)? != manifest.tree_sha256 {
        return Ok(State::Torn(
            "its files are not the ones that were put there".into(),
        ));
    }
    Ok(State::Sound)
}

/// Says what is wrong with a program, if something is.
fn fault_of(tree: &Path, program: &Program) -> Option<String> {
    let path = tree.join(&program.path);
    let (size, modified_ns) = match size_and_time(&path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Some(format!("{} is missing", program.path));
        }
        Err(error) => return Some(format!("{} cannot be read: {error}", program.path)),
    };
    if size != program.size {
        return Some(format!(
            "{} has {size} bytes instead of {}",
            program.path, program.size
        ));
    }
    if modified_ns == program.modified_ns {
        return None;
    }
    match hash_of_file(&path) {
        Ok(sha256) if sha256 == program.sha256 => None,
        Ok(_) => Some(format!("{} has been changed", program.path)),
        Err(error) => Some(format!("{} cannot be read: {error}", program.path)),
    }
}

fn size_and_time(path: &Path) -> std_io::Result<(u64, u64)> {
    let metadata = fs::metadata(path)?;
    let since = metadata
        .modified()?
        .duration_since(UNIX_EPOCH)
        .map_err(std_io::Error::other)?;
    // 64 bits of nanoseconds reach to the year 2554.
    Ok((
        metadata.len(),
        u64::try_from(since.as_nanos()).map_err(std_io::Error::other)?,
    ))
}

/// Gives the SHA-256 of a file in hexadecimal digits.
pub fn hash_of_file(path: &Path) -> std_io::Result<String> {
    let mut sum = Sha256::new();
    std_io::copy(&mut File::open(path)?, &mut sum)?;
    Ok(format!("{:x}", sum.finalize()))
}

/// Gives one SHA-256 over every path, link target and content of a tree.
fn hash_of_tree(tree: &Path) -> Result<String, ProvisionError> {
    let mut paths = Vec::new();
    list_into(tree, &mut paths)?;
    paths.sort();
    let mut sum = Sha256::new();
    for path in &paths {
        let name = path
            .strip_prefix(tree)
            .unwrap_or(path)
            .as_os_str()
            .as_encoded_bytes();
        let metadata = fs::symlink_metadata(path).map_err(io("read", path))?;
        sum.update([name, b"\0"].concat());
        if metadata.is_symlink() {
            let target = fs::read_link(path).map_err(io("read", path))?;
            sum.update([b"link ", target.as_os_str().as_encoded_bytes(), b"\0"].concat());
        } else {
            sum.update(format!("file {}\0", metadata.len()));
            let mut file = File::open(path).map_err(io("read", path))?;
            std_io::copy(&mut file, &mut sum).map_err(io("read", path))?;
        }
    }
    Ok(format!("{:x}", sum.finalize()))
}

fn list_into(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), ProvisionError> {
    for entry in fs::read_dir(folder).map_err(io("list", folder))? {
        let entry = entry.map_err(io("list", folder))?;
        if entry
            .file_type()
            .map_err(io("read", &entry.path()))?
            .is_dir()
        {
            list_into(&entry.path(), paths)?;
        } else {
            paths.push(entry.path());
        }
    }
    Ok(())
}
