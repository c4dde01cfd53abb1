//! The files of a sandbox: folders of its own over the temporary folders, the home and the account file, and what the
//! run needs of the real ones at the places where it always is.
//!
//! `plan`ned outside, as data; [`lay`] is called inside, once, before anything of the run starts. What it mounts is
//! seen by nobody outside and ends with the sandbox. It must never write to a folder of the owner's.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount};
use nix::sys::statvfs::{FsFlags, statvfs};
use serde::{Deserialize, Serialize};

/// The account file.
const ACCOUNTS: &str = "/etc/passwd";

/// What the sandbox's files are made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Floor {
    /// An empty folder outside, over which the sandbox's own storage is mounted.
    pub base: PathBuf,
    /// The account's home.
    pub home: PathBuf,
    /// Folders that are replaced by empty ones: the home and the temporary folders.
    pub covered: BTreeSet<PathBuf>,
    /// What stays visible, by path: the shortest first.
    pub kept: Vec<Kept>,
    /// Folders that are to be there, empty.
    pub made: Vec<PathBuf>,
    /// The working folder.
    pub cwd: PathBuf,
}

/// A file or folder that the run needs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Kept {
    /// Where it is, outside and inside.
    pub path: PathBuf,
    /// Whether the run may write there.
    pub access: Access,
}

/// What may be done with something kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Reading.
    Read,
    /// Reading and writing.
    Write,
}

/// A floor that cannot be laid.
#[derive(Debug, thiserror::Error)]
#[error("the sandbox's files: {what} `{}`: {source}", path.display())]
pub struct FloorError {
    /// What failed.
    pub what: &'static str,
    /// Where.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

impl Floor {
    /// Puts what is covered and kept into order: nothing covered twice, and the outer before the inner.
    #[must_use]
    pub fn arranged(mut self) -> Self {
        let all = self.covered.clone();
        self.covered.retain(|path| {
            !all.iter()
                .any(|other| other != path && path.starts_with(other))
        });
        // Nothing is kept of a folder that is covered as a whole.
        self.kept.retain(|kept| !all.contains(&kept.path));
        self.kept.sort_by(|one, other| {
            let depth = |kept: &Kept| kept.path.components().count();
            (depth(one), &one.path, other.access).cmp(&(depth(other), &other.path, one.access))
        });
        // Of two on one path the one that may write comes first, and stays.
        self.kept
            .dedup_by(|later, earlier| later.path == earlier.path);
        self
    }

    /// Where `path` lies in the sandbox's own storage, if its place is covered.
    fn own(&self, path: &Path) -> Option<PathBuf> {
        let (idx, covered) = self
            .covered
            .iter()
            .enumerate()
            .find(|(_, covered)| path.starts_with(covered))?;
        let below = path.strip_prefix(covered).ok()?;
        Some(self.base.join(idx.to_string()).join(below))
    }
}

/// Lays the floor; this process has to be alone in its mount namespace.
pub fn lay(floor: &Floor) -> Result<(), FloorError> {
    let failed = |what, path: &Path| {
        let path = path.to_owned();
        move |source| FloorError { what, path, source }
    };
    mount(
        Some("dsh-e2e"),
        &floor.base,
        Some("tmpfs"),
        MsFlags::empty(),
        Some("mode=0700"),
    )
    .map_err(io::Error::from)
    .map_err(failed("mount", &floor.base))?;
    for path in floor.covered.iter().chain([&floor.home]) {
        let own = floor.own(path).unwrap_or_else(|| path.clone());
        fs::create_dir_all(&own).map_err(failed("make", &own))?;
    }
    for kept in &floor.kept {
        keep(floor, kept).map_err(failed("keep", &kept.path))?;
    }
    let accounts = floor.base.join("accounts");
    fs::write(&accounts, account(&floor.home)).map_err(failed("write", &accounts))?;
    bind(&accounts, Path::new(ACCOUNTS)).map_err(failed("cover", Path::new(ACCOUNTS)))?;
    for made in floor.made.iter().chain([&floor.cwd]) {
        if let Some(own) = floor.own(made) {
            fs::create_dir_all(&own).map_err(failed("make", &own))?;
        }
    }
    let mut covered: Vec<_> = floor.covered.iter().enumerate().collect();
    // Once the folder above the storage is covered, the storage is out of reach.
    covered.sort_by_key(|(_, covered)| floor.base.starts_with(covered));
    for (idx, covered) in covered {
        bind(&floor.base.join(idx.to_string()), covered).map_err(failed("cover", covered))?;
    }
    // The folder of the same name, as it is now.
    std::env::set_current_dir(&floor.cwd).map_err(failed("enter", &floor.cwd))
}

fn keep(floor: &Floor, kept: &Kept) -> io::Result<()> {
    let at = match floor.own(&kept.path) {
        Some(own) => {
            if let Some(parent) = own.parent() {
                fs::create_dir_all(parent)?;
            }
            if kept.path.is_dir() {
                fs::create_dir_all(&own)?;
            } else if !own.exists() {
                fs::write(&own, "")?;
            }
            own
        }
        None if kept.access == Access::Write => return Ok(()),
        None => kept.path.clone(),
    };
    bind(&kept.path, &at)?;
    if kept.access == Access::Read {
        protect(&at)?;
    }
    Ok(())
}

fn bind(from: &Path, to: &Path) -> io::Result<()> {
    let none: Option<&str> = None;
    mount(
        Some(from),
        to,
        none,
        MsFlags::MS_BIND | MsFlags::MS_REC,
        none,
    )
    .map_err(io::Error::from)
}

/// Makes a mount read-only. What the owner's mount forbids has to stay forbidden, or the kernel refuses.
fn protect(at: &Path) -> io::Result<()> {
    let none: Option<&str> = None;
    let mut flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
    let there = statvfs(at)?.flags();
    for (is, keep) in [
        (FsFlags::ST_NOSUID, MsFlags::MS_NOSUID),
        (FsFlags::ST_NODEV, MsFlags::MS_NODEV),
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
    ] {
        if there.contains(is) {
            flags |= keep;
        }
    }
    mount(none, at, none, flags, none).map_err(io::Error::from)
}

/// The one account of the sandbox: its user is mapped to root.
fn account(home: &Path) -> String {
    format!("root:x:0:0:dsh-e2e:{}:/bin/sh\n", home.display())
}

#[cfg(test)]
mod tests {
    use super::{Access, Floor, Kept};

    fn kept(path: &str, access: Access) -> Kept {
        Kept {
            path: path.into(),
            access,
        }
    }

    fn floor(covered: &[&str], keep: Vec<Kept>) -> Floor {
        Floor {
            base: "/tmp/box".into(),
            home: "/h".into(),
            covered: covered.iter().map(Into::into).collect(),
            kept: keep,
            made: Vec::new(),
            cwd: "/".into(),
        }
        .arranged()
    }

    #[test]
    fn a_covered_folder_within_another_is_not_covered_again() {
        let floor = floor(&["/tmp", "/tmp/t/home", "/h"], Vec::new());
        let covered: Vec<_> = floor
            .covered
            .iter()
            .map(|path| path.to_str().unwrap())
            .collect();
        assert_eq!(covered, ["/h", "/tmp"]);
        let own = |path: &str| {
            floor
                .own(path.as_ref())
                .map(|own| own.display().to_string())
        };
        assert_eq!(own("/tmp/t/home").as_deref(), Some("/tmp/box/1/t/home"));
        assert_eq!(own("/tmpx"), None);
    }

    #[test]
    fn the_outer_is_kept_first_once_and_for_writing_if_anybody_writes() {
        let keep = vec![
            kept("/h/a/b", Access::Read),
            kept("/h/a", Access::Write),
            kept("/h/a", Access::Read),
            kept("/h", Access::Write),
        ];
        let floor = floor(&["/h"], keep);
        assert_eq!(
            floor.kept,
            [kept("/h/a", Access::Write), kept("/h/a/b", Access::Read)]
        );
    }
}
