//! Runs the program: understands the command line, composes a host, does the work, ends everything, gives the exit code.
//!
//! The only place that prints. Exit codes: 0 done, 1 the model or the run failed (one line on standard error), 2 usage,
//! 128 and the signal's number when a signal ended it.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;
use std::rc::Rc;

use clap::Parser as _;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::LocalSet;

use crate::agent::Agent;
use crate::cli::{Cli, RunArgs, Verb, Work};
use crate::conversation::{self, Branch, BranchKind};
use crate::fault::Fault;
use crate::host::{self, Host, HostError};
use crate::session::event::{TurnReason, Writer};
use crate::settings::{Settings, Start};
use crate::{ops, tool};

/// A run that failed, as it stands on standard error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind of failure, in capitals.
    pub code: &'static str,
    /// What happened.
    pub message: String,
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        Self {
            code: error.code(),
            message: error.to_string(),
        }
    }
}

/// Runs the program with its arguments, the first of which is its own name.
pub fn main_with(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // When the answer cannot be printed, the exit code still says it.
            error.print().ok();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    match cli.verb {
        Verb::Run(arguments) => run(*arguments),
        Verb::Faults { json } => print(&faults(json)),
        Verb::Tools { revision } => print(&format!("{:#}\n", json!(tool::own(revision)))),
    }
}

fn run(arguments: RunArgs) -> ExitCode {
    let (settings, work) = match arguments.understood(std::env::vars_os().collect()) {
        Ok(understood) => understood,
        Err(error) => {
            complain(&format!("error: {error}"));
            return ExitCode::from(2);
        }
    };
    let faults = settings.faults.clone();
    if faults.has(Fault::DoNothing) {
        return ExitCode::SUCCESS;
    }
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            complain(&format!("reference: RUNTIME: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let code = LocalSet::new().block_on(&runtime, until_signalled(settings, work));
    match (code, faults.has(Fault::ExitZero)) {
        (1, true) => ExitCode::SUCCESS,
        (code, _) => ExitCode::from(code),
    }
}

/// Does the work; a signal ends everything first and is then told by the exit code.
async fn until_signalled(settings: Settings, work: Work) -> u8 {
    let host = match tokio::select! {
        host = host::compose(settings) => host,
        number = any_signal() => return 128 + number,
    } {
        Ok(host) => host,
        Err(error) => return failed(&error.into()),
    };
    let code = tokio::select! {
        done = done(&host, work) => match done {
            Ok(code) => code,
            Err(failure) => failed(&failure),
        },
        number = any_signal() => 128 + number,
    };
    match host.close().await {
        Err(error) if code == 0 => failed(&HostError::from(error).into()),
        Ok(()) | Err(_) => code,
    }
}

async fn done(host: &Rc<Host>, work: Work) -> Result<u8, Failure> {
    match work {
        Work::Prompt { start, prompt } => {
            let agent = opened(host, start).await?;
            agent.say(Writer::User, &prompt);
            host.quiet().await;
            answer(&agent)
        }
        Work::Operations { ops, out } => {
            ops::execute(host, &ops, &out)
                .await
                .map_err(|error| Failure {
                    code: "OPERATIONS",
                    message: error.to_string(),
                })
        }
    }
}

async fn opened(host: &Rc<Host>, start: Start) -> Result<Rc<Agent>, HostError> {
    let cwd = host.cwd.display().to_string();
    match start {
        Start::Fresh(id) => conversation::create(host, id, Some(cwd)).await,
        Start::Resume(id) => {
            let recorded = host.store.borrow().load(&id)?.header().cwd.clone();
            if let Some(recorded) = recorded.filter(|recorded| *recorded != cwd) {
                return Err(HostError::OtherCwd {
                    id,
                    recorded,
                    asked: cwd,
                });
            }
            conversation::resume(host, &id).await
        }
        Start::Fork { source, id } => {
            let source = host.store.borrow().load(&source)?;
            conversation::fork(
                host,
                &source,
                Branch {
                    kind: BranchKind::Plain,
                    id,
                    cwd: None,
                },
            )
            .await
        }
    }
}

/// Prints the last text, or says why there is none.
fn answer(agent: &Agent) -> Result<u8, Failure> {
    match agent.last_end() {
        Some(TurnReason::Failed { code, message }) => Err(Failure { code, message }),
        Some(TurnReason::Completed) | None => {
            print(&format!("{}\n", agent.last_text()));
            Ok(0)
        }
    }
}

fn failed(failure: &Failure) -> u8 {
    complain(&format!("reference: {}: {}", failure.code, failure.message));
    1
}

async fn any_signal() -> u8 {
    let kinds = [
        (SignalKind::interrupt(), 2),
        (SignalKind::terminate(), 15),
        (SignalKind::hangup(), 1),
    ];
    let waits = kinds.map(|(kind, number)| {
        Box::pin(async move {
            match signal(kind) {
                Ok(mut signals) => signals.recv().await,
                // Without a handler the signal ends the process by itself.
                Err(_) => std::future::pending().await,
            };
            number
        })
    });
    futures::future::select_all(waits).await.0
}

fn faults(json: bool) -> String {
    if json {
        let rows = Fault::ALL.iter().map(
            |fault| json!({"name": fault.name(), "doc": fault.doc(), "clauses": fault.clauses()}),
        );
        return format!("{:#}\n", json!(rows.collect::<Vec<_>>()));
    }
    let line = |fault: &Fault| {
        format!(
            "{:24} {} [{}]\n",
            fault.name(),
            fault.doc(),
            fault.clauses().join(" ")
        )
    };
    Fault::ALL.iter().map(line).collect::<Vec<_>>().concat()
}

/// Writes to standard output; a reader that went away is no failure of the run.
fn print(text: &str) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn complain(line: &str) {
    // There is nobody left to be told when standard error is gone.
    writeln!(std::io::stderr(), "{line}").ok();
}
