//! `cargo xtask`: dispatch only.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, ensure};
use clap::{Args, Parser, Subcommand};
use xtask::{generate, root, tidy};

/// Generators and tidy checks of this workspace
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Write the generated documents
    Gen(GenOptions),
    /// Check what neither the compiler nor clippy checks
    Tidy,
    /// Compare a plumb with the recorded transcript and the measured facts
    ///
    /// It is run under a private HOME and private XDG roots with `PLUMB_ACCOUNT_AUTHORITY=false`; `stop` and `restart`
    /// are never called. Without `--plumb` the fake of this workspace is compared.
    Fidelity(FidelityOptions),
}

#[derive(Debug, Args)]
struct FidelityOptions {
    /// The program
    #[arg(long, value_name = "PATH")]
    plumb: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct GenOptions {
    /// Write nothing; fail when a document is stale
    #[arg(long)]
    check: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    match Cli::parse().verb {
        Verb::Gen(options) => run_generators(&options),
        Verb::Tidy => run_tidy(),
        Verb::Fidelity(options) => run_fidelity(options),
    }
}

/// The comparison is the fake's own test suite: this hands it the program and gives back how it went.
fn run_fidelity(options: FidelityOptions) -> anyhow::Result<ExitCode> {
    let cargo = std::env::var_os("CARGO").context("run this as `cargo xtask fidelity`")?;
    let mut suite = Command::new(cargo);
    suite
        .args(["test", "--package", "fake-plumb", "--test", "it"])
        .args(["--", "fidelity::"])
        .current_dir(root()?)
        .env_remove("FIDELITY_PLUMB");
    if let Some(plumb) = options.plumb {
        let plumb = plumb
            .canonicalize()
            .with_context(|| format!("{} cannot be found; name the program", plumb.display()))?;
        let mode = plumb.metadata()?.permissions().mode();
        ensure!(
            plumb.is_file() && mode & 0o111 != 0,
            "{} is not a program",
            plumb.display()
        );
        suite.env("FIDELITY_PLUMB", plumb);
    }
    Ok(if suite.status()?.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn run_generators(options: &GenOptions) -> anyhow::Result<ExitCode> {
    let root = root()?;
    let documents = generate::documents(&program()?)?;
    let stale = generate::stale(&root, &documents);
    for document in &stale {
        if options.check {
            say(&format!("{} is stale", document.path))?;
        } else {
            generate::write(&root, document)?;
            say(&format!("wrote {}", document.path))?;
        }
    }
    if options.check && !stale.is_empty() {
        say("run `cargo xtask gen` and commit what it writes")?;
        return Ok(ExitCode::FAILURE);
    }
    say(&format!(
        "{} generated documents are up to date",
        documents.len()
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn run_tidy() -> anyhow::Result<ExitCode> {
    let report = tidy::check(&root()?)?;
    for warning in &report.warnings {
        say(&format!("warning: {warning}"))?;
    }
    for problem in &report.problems {
        say(&format!("error: {problem}"))?;
    }
    say(&format!(
        "{} files looked at, {} problems",
        report.files,
        report.problems.len()
    ))?;
    Ok(if report.problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The program whose command line is documented, which lies beside this one. Run by cargo, it is built first.
fn program() -> anyhow::Result<PathBuf> {
    if let Some(cargo) = std::env::var_os("CARGO") {
        let built = Command::new(cargo)
            .args(["build", "--quiet", "--package", "dsh-e2e"])
            .current_dir(root()?)
            .status()?;
        ensure!(built.success(), "dsh-e2e does not build");
    }
    let program = std::env::current_exe()?.with_file_name("dsh-e2e");
    ensure!(
        program.is_file(),
        "{} is not there; build the workspace first",
        program.display()
    );
    Ok(program)
}

fn say(line: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}
