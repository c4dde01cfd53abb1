//! The options of `matrix`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Options of `matrix`.
#[derive(Debug, Clone, Args)]
pub(crate) struct MatrixOptions {
    /// The plumb to test
    #[arg(
        long,
        value_name = "BIN",
        required_unless_present = "plan",
        default_value = "plumb",
        hide_default_value = true
    )]
    pub(crate) plumb: PathBuf,
    /// A plumb without namespaces, which has to be refused
    #[arg(long, value_name = "BIN")]
    pub(crate) plumb_old: Option<PathBuf>,
    /// Print the rows, how long each takes and what it starts and kills, and do nothing
    #[arg(long)]
    pub(crate) plan: bool,
    /// Run this row only (can be repeated)
    #[arg(long, value_name = "NAME")]
    pub(crate) row: Vec<String>,
    /// What each row is run in
    ///
    /// Defaults to a container where `docker` answers, else to a sandbox.
    #[arg(long = "in", value_name = "ENCLOSURE")]
    pub(crate) within: Option<Enclosure>,
    /// The dsh to drive, as for `run` (can be repeated)
    #[arg(long = "dsh", value_name = "BUILD")]
    pub(crate) dsh: Vec<String>,
    /// Where the builds are kept
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Where the evidence goes
    #[arg(long, value_name = "DIR", default_value = "e2e-matrix")]
    pub(crate) out: PathBuf,
}

/// What a row of the matrix is run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Enclosure {
    /// container/e2e
    Container,
    /// run --sandbox
    Sandbox,
}
