//! The hidden verb `enclosed`: the first process of a sandbox, and the entry of the container.
//!
//! With a real plumb it plays the part that the plugin's readme gives to the container: it installs plumb's service,
//! starts the one daemon before the run and stops it after. It counts the daemons, and ends as the run does, but never
//! well when the count is wrong.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;
use harness::enclosure::floor::{Floor, lay};
use harness::enclosure::keeper::{Keep, Kept, Planned, Told, Until, keep};
use harness::enclosure::loopback;
use harness::exit::Exit;
use harness::guard::{Admitted, Isolation};
use harness::host::HostFacts;
use harness::plumb::cli::Plumb;
use harness::plumb::dialect::Dialect;
use harness::supervise::notice::Status;

use crate::cli::{Cli, RunOptions, Verb, environment};
use crate::refusal::Refusal;
use crate::run::guarded;

/// The variables that ask for a signal: which, and when.
const SIGNAL: [&str; 2] = ["E2E_SIGNAL_RUNNER", "E2E_SIGNAL_AFTER_MS"];

/// When it is sent if nothing is said: a scenario is then on its way (a run is ready within 2 s, measured).
const SIGNAL_AFTER_MS: &str = "5000";

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
    let (plumb, isolation) = daemon(&options)?;
    let program = std::env::current_exe().map_err(Refusal::broken)?;
    let argv: Vec<OsString> = [program.into_os_string()]
        .into_iter()
        .chain(run.iter().cloned())
        .collect();
    let what = Keep {
        argv: &argv,
        without: &SIGNAL,
        signal: planned()?,
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
    let started = Cell::new(None);
    let kept = keep(
        &what,
        || started.set(plumb.as_ref().filter(|plumb| start(plumb))),
        || started.get().map_or_else(Vec::new, stop),
    );
    let kept = kept.map_err(Refusal::broken)?;
    let problems = kept.census.problems(isolation);
    Ok(told(&kept, problems, what.signal, &options.out))
}

/// Installs the service, which starts nothing, and starts the daemon, as none is running; whether it did. A plumb that
/// cannot do that is the run's to refuse: it says why.
fn start(plumb: &Plumb) -> bool {
    let started = plumb
        .succeed(&["service", "install"])
        .and_then(|_| plumb.succeed(&["restart", "--force"]));
    if let Err(error) = &started {
        writeln!(std::io::stderr(), "warning: no daemon was started: {error}").ok();
    }
    started.is_ok()
}

/// Looks whether every namespace is over, and stops the daemon; what was wrong.
fn stop(plumb: &Plumb) -> Vec<String> {
    let dialect = Dialect::default();
    let list: Vec<&str> = dialect.list.iter().map(String::as_str).collect();
    let mut wrong = match plumb.succeed(&list) {
        Ok(answer) => match dialect.read_active(&answer) {
            Ok(active) => active
                .iter()
                .map(|id| format!("the namespace {id} is still active"))
                .collect(),
            Err(error) => vec![format!("the namespaces cannot be read: {error}")],
        },
        Err(error) => vec![error.to_string()],
    };
    if let Err(error) = plumb.succeed(&["stop", "--force"]) {
        wrong.push(error.to_string());
    }
    wrong
}

/// The signal that the seed's variables ask for.
fn planned() -> Result<Option<Planned>, Refusal> {
    let environment = environment();
    let value = |name: &str| {
        let value = environment.get(OsStr::new(name))?.to_str()?;
        (!value.is_empty()).then_some(value)
    };
    let number = match value(SIGNAL[0]) {
        None => return Ok(None),
        Some("TERM") => 15,
        Some("INT") => 2,
        Some("HUP") => 1,
        Some("KILL") => 9,
        Some(other) => {
            let what = format!("E2E_SIGNAL_RUNNER={other} is not known");
            return Err(Refusal::new(what, "write `TERM`, `INT`, `HUP` or `KILL`"));
        }
    };
    let after = value(SIGNAL[1]).unwrap_or(SIGNAL_AFTER_MS);
    let after = after.parse().map_err(|_| {
        let what = format!("E2E_SIGNAL_AFTER_MS={after} is no number of milliseconds");
        Refusal::new(what, "write `5000`")
    })?;
    Ok(Some(Planned {
        number,
        after: Duration::from_millis(after),
    }))
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

/// The real plumb whose daemon is ours to start, if the run uses one and the guard lets it; and how scenarios are kept
/// apart in it.
fn daemon(options: &RunOptions) -> Result<(Option<Plumb>, Isolation), Refusal> {
    match guarded::admit(options)? {
        Admitted::Real(real) if real.isolation == Isolation::Namespace => {
            let facts = HostFacts::of_this_machine(&environment()).map_err(Refusal::broken)?;
            let plumb = Plumb {
                program: real.program,
                account: facts.told.account,
            };
            Ok((Some(plumb), real.isolation))
        }
        Admitted::Real(real) => Ok((None, real.isolation)),
        Admitted::Fake => Ok((None, Isolation::Namespace)),
    }
}

/// Tells what the census found, and how it all ends. A run that was to be signalled ends well when the signal ended it
/// and nothing is left.
fn told(kept: &Kept, mut problems: Vec<String>, signal: Option<Planned>, out: &Path) -> Exit {
    let exit = match kept.status {
        Some(Status::Code(code)) => Exit::of_number(u8::try_from(code).unwrap_or(u8::MAX)),
        Some(Status::Signal { number, .. }) => Exit::Signalled(u8::try_from(number).unwrap_or(0)),
        Some(Status::Unknown) | None => Exit::Broken,
    };
    problems.extend(kept.left.iter().cloned());
    if kept.status.is_none() {
        problems.push("the run was cut off".to_owned());
    }
    let mut lines = vec![format!("e2e: {}", kept.census.line())];
    if let Some(signal) = signal {
        let number = signal.number;
        if !kept.is_signalled || exit != Exit::Signalled(u8::try_from(number).unwrap_or(0)) {
            problems.push(format!(
                "signal {number} was to end the run, and did not: {exit:?}"
            ));
        }
        lines.push(format!("e2e: the run was sent signal {number}: {exit:?}"));
    }
    lines.extend(
        problems
            .iter()
            .map(|problem| format!(" FAIL enclosure: {problem}")),
    );
    let text = lines.join("\n") + "\n";
    std::io::stdout().write_all(text.as_bytes()).ok();
    let census = serde_json::to_string_pretty(&kept.census).unwrap_or_default();
    // The run's own folder, if it has come so far as to make one.
    let latest = out.join("latest");
    if latest.is_dir()
        && let Err(error) = std::fs::write(latest.join("census.json"), census)
    {
        writeln!(std::io::stderr(), "warning: census.json: {error}").ok();
    }
    match exit {
        Exit::AsExpected | Exit::Signalled(_) if !problems.is_empty() => Exit::Unexpected,
        Exit::Signalled(_) if signal.is_some() => Exit::AsExpected,
        exit => exit,
    }
}
