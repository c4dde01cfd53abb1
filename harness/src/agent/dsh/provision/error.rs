//! Why a build could not be provisioned, and what to do about it.
//!
//! Made here and in the modules beside; shown by the command line, always as exit status 2. A
//! message must never hold a setting of a client.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a build could not be provisioned. [`ProvisionError::hint`] says what to do.
#[derive(Debug, Error)]
pub enum ProvisionError {
    /// Nobody publishes it for this machine.
    #[error("dsh {build} is not published for {platform}; it is for {supported}")]
    UnsupportedPlatform {
        /// The build's name.
        build: String,
        /// What this machine is.
        platform: String,
        /// What there is.
        supported: String,
    },
    /// It is published for another C library.
    #[error("dsh {build} needs glibc, and its loader {loader} is not on this machine")]
    NoLoader {
        /// The build's name.
        build: String,
        /// The path of the loader.
        loader: String,
    },
    /// No folder can be named for the cache.
    #[error("there is no place for the cache: neither XDG_CACHE_HOME nor HOME is an absolute path")]
    NoCacheFolder,
    /// The cache cannot be written.
    #[error("the cache cannot be written: {} {}", action, path.display())]
    CacheNotWritable {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// There is no room left.
    #[error("the disk is full: {} {}", action, path.display())]
    DiskFull {
        /// What was tried.
        action: String,
        /// Where.
        path: PathBuf,
    },
    /// Something else about the disk.
    #[error("{} {}", action, path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// It is not in the cache, and no client may be started.
    #[error(
        "dsh {build} is not in the cache and --offline forbids fetching it: {}{}",
        folder.display(),
        torn_part(torn.as_deref())
    )]
    Offline {
        /// The build's name.
        build: String,
        /// Where it would be.
        folder: PathBuf,
        /// What is wrong with what is there, if something is.
        torn: Option<String>,
    },
    /// A package client is not on PATH.
    #[error("{client} is needed to fetch dsh {build} and is not on PATH (looked for {tried})")]
    NoClient {
        /// The build's name.
        build: String,
        /// What is missing.
        client: &'static str,
        /// Under which names it was looked for.
        tried: String,
    },
    /// A package client could not be started.
    #[error("start {}", program.display())]
    ClientNotStarted {
        /// The client.
        program: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A package client failed.
    #[error("{client} failed ({status}) while it was {doing}; it said last:\n{tail}")]
    ClientFailed {
        /// The client.
        client: String,
        /// What it was to do.
        doing: String,
        /// How it ended.
        status: String,
        /// The last lines of its output.
        tail: String,
    },
    /// What came is not what was pinned.
    #[error("{what} is not the one that was pinned: expected {expected}, found {found}")]
    WrongHash {
        /// The file or package.
        what: String,
        /// The pinned hash.
        expected: String,
        /// The hash of what came.
        found: String,
    },
    /// What came lacks what it must hold.
    #[error("the package of dsh {build} holds no `{path}`")]
    NotInPackage {
        /// The build's name.
        build: String,
        /// What should be there.
        path: String,
    },
}

impl ProvisionError {
    /// Says what to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::UnsupportedPlatform { .. } => {
                "name a dsh of your own (--dsh PATH --contract REVISION), or run in the container".into()
            }
            Self::NoLoader { .. } => "run on a system with glibc 2.28 or newer, or in the container".into(),
            Self::NoCacheFolder => "set HOME, or give a folder: --cache DIR".into(),
            Self::CacheNotWritable { .. } => {
                "make it writable for this account, or give another folder: --cache DIR".into()
            }
            Self::DiskFull { .. } => {
                "a build needs up to 500 MB while it is made; free some, or give a folder on another disk: --cache DIR"
                    .into()
            }
            Self::Io { .. } => "look at that path, or give another folder: --cache DIR".into(),
            Self::Offline { build, .. } => {
                format!("fetch it once with the network: dsh-e2e provision {build}")
            }
            Self::NoClient { client, .. } => match *client {
                "pip" => "install Python 3 with pip (Debian, Ubuntu: apt-get install python3-pip)".into(),
                "python3" => "install Python 3 (Debian, Ubuntu: apt-get install python3 python3-pip)".into(),
                _ => "install Node.js 20 or newer, which brings npm".into(),
            },
            Self::ClientNotStarted { .. } => "that file is on PATH; start it by hand to see what it lacks".into(),
            Self::ClientFailed { client, .. } => format!(
                "{client} was run with your own settings (proxy, index, certificates); if its last lines speak of the \
                 network, mend those and try again"
            ),
            Self::WrongHash { .. } => {
                "nothing was kept; try again, and if it stays so, the mirror or proxy that your client uses changes \
                 packages: do not use what it gives"
                    .into()
            }
            Self::NotInPackage { .. } => {
                "its hash is right, so its build.toml is wrong: report it with this message".into()
            }
        }
    }
}

fn torn_part(torn: Option<&str>) -> String {
    torn.map_or_else(String::new, |why| {
        format!(" (what is there is torn: {why})")
    })
}

/// Makes an error of something about the disk.
pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ProvisionError {
    let path = path.to_path_buf();
    move |source| match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ProvisionError::DiskFull {
            action: action.into(),
            path,
        },
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::NotADirectory => ProvisionError::CacheNotWritable {
            action,
            path,
            source,
        },
        _ => ProvisionError::Io {
            action,
            path,
            source,
        },
    }
}
