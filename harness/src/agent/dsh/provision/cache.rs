//! The cache: one folder for each build and hash, made aside under a lock and renamed into place.
//!
//! Called by `provision`. It must never remove a folder that a living run may be making.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use tempfile::TempDir;

use super::super::surroundings::Surroundings;
use super::error::{ProvisionError, io};
use super::event::Event;

/// A folder of provisioned builds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    root: PathBuf,
}

/// One build's place in the cache.
#[derive(Debug)]
pub(super) struct Place {
    root: PathBuf,
    name: String,
    /// Where the finished build lies.
    pub(super) folder: PathBuf,
}

/// How many hexadecimal digits of the hash are in a folder's name; the whole hash is in the
/// manifest.
const DIGITS: usize = 16;

impl Cache {
    /// Uses the given folder; it is made when something is put there.
    ///
    /// A relative one is resolved now: dsh starts in a folder of its own.
    pub fn at(root: &Path) -> Result<Self, ProvisionError> {
        let root = std::path::absolute(root).map_err(io("resolve", root))?;
        Ok(Self { root })
    }

    /// Uses `$XDG_CACHE_HOME/dsh-e2e`, else `~/.cache/dsh-e2e`.
    pub fn of_the_account(surroundings: &Surroundings) -> Result<Self, ProvisionError> {
        let base = surroundings
            .absolute_dir("XDG_CACHE_HOME")
            .or_else(|| {
                surroundings
                    .absolute_dir("HOME")
                    .map(|home| home.join(".cache"))
            })
            .ok_or(ProvisionError::NoCacheFolder)?;
        Self::at(&base.join("dsh-e2e"))
    }

    /// Gives its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Names the place of a build.
    pub(super) fn place(&self, build: &str, hash: &str) -> Place {
        let name = format!(
            "dsh-{build}-{}",
            hash.chars().take(DIGITS).collect::<String>()
        );
        Place {
            root: self.root.clone(),
            folder: self.root.join(&name),
            name,
        }
    }
}

impl Place {
    /// Takes the lock of this build; the kernel gives it back however its holders end.
    ///
    /// Holders are this run and, through their standard input, the clients that it starts: one that
    /// outlives a killed run keeps the next one out until it writes no more.
    pub(super) fn lock(
        &self,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<Flock<File>, ProvisionError> {
        fs::create_dir_all(&self.root).map_err(io("create", &self.root))?;
        let path = self.root.join(format!(".lock-{}", self.name));
        let open = File::options()
            .create(true)
            .read(true)
            .append(true)
            .open(&path)
            .map_err(io("open", &path))?;
        match Flock::lock(open, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Ok(lock),
            Err((open, Errno::EWOULDBLOCK)) => {
                on_event(Event::Waiting { lock: path.clone() });
                Flock::lock(open, FlockArg::LockExclusive)
                    .map_err(|(_, errno)| io("lock", &path)(errno.into()))
            }
            Err((_, errno)) => Err(io("lock", &path)(errno.into())),
        }
    }

    /// Removes what an interrupted run of this build left.
    ///
    /// Folders aside are made under the lock only, and the caller holds it: whatever is there
    /// belongs to nobody. That also holds between containers that share a cache, where a pid would
    /// say nothing.
    pub(super) fn remove_leftovers(
        &self,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ProvisionError> {
        let prefix = self.aside_prefix();
        for entry in fs::read_dir(&self.root).map_err(io("list", &self.root))? {
            let entry = entry.map_err(io("list", &self.root))?;
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                fs::remove_dir_all(entry.path()).map_err(io("remove", &entry.path()))?;
                on_event(Event::RemovedLeftover {
                    folder: entry.path(),
                });
            }
        }
        Ok(())
    }

    /// Makes an empty folder beside the final one; it goes away again unless it is put.
    pub(super) fn new_folder_aside(&self) -> Result<TempDir, ProvisionError> {
        tempfile::Builder::new()
            .prefix(&self.aside_prefix())
            .tempdir_in(&self.root)
            .map_err(io("create a folder in", &self.root))
    }

    /// Gives the folder aside its final name, in place of a torn one.
    pub(super) fn put(&self, aside: TempDir) -> Result<(), ProvisionError> {
        let torn = self.new_folder_aside()?;
        match fs::rename(&self.folder, torn.path()) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(io("move away", &self.folder)(error)),
        }
        fs::rename(aside.path(), &self.folder).map_err(io("move into place", &self.folder))?;
        // Its old name is free now, and nobody else makes folders here: there is nothing left to
        // remove.
        let _moved = aside.keep();
        Ok(())
    }

    fn aside_prefix(&self) -> String {
        format!(".building-{}-", self.name)
    }
}
