//! The real DeepSeek Harness: its builds as data, and the way each gets onto this machine.
//!
//! Called by the command line (`provision`, `doctor`) and by staging. It must never start dsh
//! itself, and never let a setting that is meant for a package client reach the agent.

pub mod build;
pub mod builds;
pub mod discover;
pub mod profile;
pub mod provision;
pub mod recipe;
pub mod reviewed;
pub mod surroundings;
pub mod version;

pub use build::{Build, BuildError, Revision};
pub use builds::{UnknownBuild, builds, find, with_version};
pub use discover::{DiscoverError, Found, Origin, at_path, discover};
pub use provision::{
    Cache, Check, Event, Installed, Network, ProvisionError, Request, hash_of_file, provision,
};
pub use surroundings::Surroundings;
pub use version::{VersionError, version_of};
