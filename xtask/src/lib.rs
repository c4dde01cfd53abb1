//! What a maintainer of this workspace runs beside cargo: generators and tidy checks.
//!
//! Called by `cargo xtask`, and by the tests of `dsh-e2e`, which fail when a generated file is stale. Nothing here is
//! part of the shipped program.

pub mod generate;
pub mod tidy;

use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// The folder of the workspace.
pub fn root() -> anyhow::Result<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(Path::to_owned)
        .context("xtask lies at the top of the file system")
}
