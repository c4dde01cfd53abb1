//! What provisioning and discovery may know of this machine, as data: environment, platform, root
//! of the file system.
//!
//! Built by the command line, which alone reads the environment, and by tests. It must never read
//! it itself.

use std::collections::BTreeMap;
use std::env::consts;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What the machine looks like from here.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The caller's environment.
    pub env: BTreeMap<OsString, OsString>,
    /// Operating system and processor in the words of the build files, such as `linux-x64`.
    pub platform: String,
    /// Where the file system starts: `/`, or a folder of a test.
    pub root: PathBuf,
}

impl Surroundings {
    /// Describes this machine under the given environment.
    pub fn of_this_machine(env: BTreeMap<OsString, OsString>) -> Self {
        let processor = match consts::ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => other,
        };
        Self {
            env,
            platform: format!("{}-{processor}", consts::OS),
            root: PathBuf::from("/"),
        }
    }

    /// Gives a variable's value; an empty one counts as unset.
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.env
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|value| !value.is_empty())
    }

    /// Gives a folder named by a variable, when that is an absolute path.
    ///
    /// The XDG base directory specification says to ignore a relative one.
    pub fn absolute_dir(&self, name: &str) -> Option<PathBuf> {
        self.var(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    }

    /// Gives the place of an absolute path below the root of this file system.
    pub fn place(&self, path: &Path) -> PathBuf {
        match path.strip_prefix("/") {
            Ok(below) => self.root.join(below),
            Err(_) => path.to_path_buf(),
        }
    }

    /// Finds a program on the caller's PATH.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        which::which_in_global(name, self.var("PATH")).ok()?.next()
    }
}
