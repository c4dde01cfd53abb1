//! The hidden verb `enclosed`: the first process of a sandbox, and the entry of the container.
//!
//! With a real plumb it plays the part that the plugin's readme gives to the container: it installs plumb's service,
//! starts the one daemon before the run and stops it after. It counts the daemons, and ends as the run does, but never
//! well when the count is wrong.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;
use harness::enclosure::floor::{Floor, lay};
use harness::enclosure::keeper::{Keep, Kept, Told, Until, keep};
use harness::enclosure::loopback;
use harness::exit::Exit;
use harness::guard::{Admitted, Isolation};
use harness::host::HostFacts;
use harness::plumb::cli::Plumb;
use harness::supervise::notice::Status;

use crate::cli::{Cli, RunOptions, Verb, environment};
use crate::refusal::Refusal;
use crate::run::guarded;

/// Keeps the run.
pub(crate) fn main(floor: Option<&str>, run: &[OsString]) -> ExitCode {
    match enclosed(floor, run) {
        Ok(exit) => exit.into(),
        Err(refusal) => {
            writeln!(std::io::stderr(), "{refusal}").ok();
            refusal.exit.into()
        }
    }
}

fn enclosed(floor: Option<&str>, run: &[OsString]) -> Result<Exit, Refusal> {
    let options = options(run)?;
    if let Some(floor) = floor {
        let floor: Floor = serde_json::from_str(floor).map_err(Refusal::broken)?;
        lay(&floor).map_err(Refusal::broken)?;
        loopback::up()
            .map_err(|error| Refusal::broken(format!("the sandbox's loopback: {error}")))?;
    }
    let plumb = daemon(&options)?;
    let program = std::env::current_exe().map_err(Refusal::broken)?;
    let argv: Vec<OsString> = [program.into_os_string()]
        .into_iter()
        .chain(run.iter().cloned())
        .collect();
    let what = Keep {
        argv: &argv,
        told: if floor.is_some() {
            Told::ByPipe
        } else {
            Told::BySignal
        },
        until: if floor.is_some() {
            Until::NothingIsLeft
        } else {
            Until::TimeIsUp
        },
    };
    let ask = |words: &[&str]| match &plumb {
        Some(plumb) => plumb
            .succeed(words)
            .map(drop)
            .map_err(std::io::Error::other),
        None => Ok(()),
    };
    let kept = keep(
        &what,
        || {
            // The first installs and starts nothing, the second starts a daemon when none is running.
            ask(&["service", "install"])?;
            ask(&["restart", "--force"])
        },
        || ask(&["stop", "--force"]),
    );
    let kept = kept.map_err(Refusal::broken)?;
    Ok(told(&kept, &options.out))
}

/// The options of the run that is kept.
fn options(run: &[OsString]) -> Result<RunOptions, Refusal> {
    let words = [OsString::from("dsh-e2e")]
        .into_iter()
        .chain(run.iter().cloned());
    match Cli::try_parse_from(words) {
        Ok(Cli {
            verb: Verb::Run(options),
        }) if !options.sandbox => Ok(options),
        Ok(_) => Err(Refusal::new(
            "only a `run` can be enclosed",
            "write `enclosed -- run …`",
        )),
        Err(error) => Err(Refusal::new(error.to_string(), "write `enclosed -- run …`")),
    }
}

/// The real plumb whose daemon is ours to start, if the run uses one and the guard lets it.
fn daemon(options: &RunOptions) -> Result<Option<Plumb>, Refusal> {
    match guarded::admit(options)? {
        Admitted::Real(real) if real.isolation == Isolation::Namespace => {
            let facts = HostFacts::of_this_machine(&environment()).map_err(Refusal::broken)?;
            Ok(Some(Plumb {
                program: real.program,
                account: facts.told.account,
            }))
        }
        Admitted::Real(_) | Admitted::Fake => Ok(None),
    }
}

/// Tells what the census found, and how it all ends.
fn told(kept: &Kept, out: &Path) -> Exit {
    let mut problems = kept.census.problems();
    if kept.status.is_none() {
        problems.push("the run was cut off".to_owned());
    }
    let mut text = format!("e2e: {}\n", kept.census.line());
    for problem in &problems {
        text.push_str(&format!(" FAIL census: {problem}\n"));
    }
    std::io::stdout().write_all(text.as_bytes()).ok();
    let census = serde_json::to_string_pretty(&kept.census).unwrap_or_default();
    // The run's own folder, if it has come so far as to make one.
    let latest = out.join("latest");
    if latest.is_dir() {
        std::fs::write(latest.join("census.json"), census).ok();
    }
    let exit = match kept.status {
        Some(Status::Code(code)) => Exit::of_number(u8::try_from(code).unwrap_or(u8::MAX)),
        Some(Status::Signal { number, .. }) => Exit::Signalled(u8::try_from(number).unwrap_or(0)),
        Some(Status::Unknown) | None => Exit::Broken,
    };
    if exit == Exit::AsExpected && !problems.is_empty() {
        return Exit::Unexpected;
    }
    exit
}
