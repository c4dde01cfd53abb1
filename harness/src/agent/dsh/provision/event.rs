//! What provisioning says while it works.
//!
//! Emitted by `provision`, shown by whoever called it. It must never carry a setting of a client: a
//! proxy's address can hold a password.

use std::fmt;
use std::path::PathBuf;

/// Something that the user may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The cache has it, sound.
    Found {
        /// The build's name.
        build: String,
        /// Where it lies.
        folder: PathBuf,
    },
    /// Another run, or a client that outlived one, holds the lock of this build.
    Waiting {
        /// The lock.
        lock: PathBuf,
    },
    /// What an interrupted run left behind is gone.
    RemovedLeftover {
        /// What was removed.
        folder: PathBuf,
    },
    /// The cache has it, but not as it was put there; it is made again.
    Torn {
        /// Where it lies.
        folder: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A package client is at work.
    Fetching {
        /// The build's name.
        build: String,
        /// What is fetched.
        what: String,
        /// The client.
        client: String,
    },
    /// The package is being unpacked.
    Unpacking {
        /// The build's name.
        build: String,
    },
    /// Everything is there and is being hashed.
    Sealing {
        /// The build's name.
        build: String,
    },
    /// It is in the cache now.
    Provisioned {
        /// The build's name.
        build: String,
        /// Where it lies.
        folder: PathBuf,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found { build, folder } => {
                write!(out, "dsh {build} is in the cache: {}", folder.display())
            }
            Self::Waiting { lock } => write!(
                out,
                "another run, or its package client, is at work on this build; waiting for {}",
                lock.display()
            ),
            Self::RemovedLeftover { folder } => {
                write!(
                    out,
                    "removed what an interrupted run left: {}",
                    folder.display()
                )
            }
            Self::Torn { folder, why } => {
                write!(out, "{} is torn ({why}); making it again", folder.display())
            }
            Self::Fetching {
                build,
                what,
                client,
            } => write!(out, "dsh {build}: fetching {what} with {client}"),
            Self::Unpacking { build } => write!(out, "dsh {build}: unpacking"),
            Self::Sealing { build } => write!(out, "dsh {build}: hashing what was brought"),
            Self::Provisioned { build, folder } => {
                write!(out, "dsh {build} is ready: {}", folder.display())
            }
        }
    }
}
