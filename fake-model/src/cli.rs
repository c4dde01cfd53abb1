//! The fake model as a program: one script, one server, until stdin ends. Called by `main` and by programs that embed it.
//! Stdout has two JSON lines, the first when it is ready and the last with the report; everything else goes to stderr.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;
use serde_json::json;
use tokio::sync::oneshot;

use crate::control::{Control, serve};
use crate::event::What;
use crate::journal::Events;
use crate::model::{FakeModel, TenantError};
use crate::report::Report;

/// The one tenant of the program: it stands in its URLs.
const TENANT: &str = "main";

/// Serve a scripted model on a loopback port until stdin ends
///
/// The first line on stdout is JSON: `base_url` for an OpenAI client, `url` for control, `pid`.
/// Below `url`: POST /_fake/gates/main/GATE/open, GET /_fake/journal/main, GET /_fake/report/main,
/// GET /_fake/wait/main?count=N (answers when N requests have arrived).
/// The last line is the report. Exit: 0 all as scripted, 1 something was not, 2 refused, 3 the program broke.
#[derive(Debug, Parser)]
#[command(name = "fake-model", version)]
struct Cli {
    /// The script, a JSON file
    #[arg(long, value_name = "FILE")]
    script: PathBuf,
    /// End when this process ends, too
    #[arg(long, value_name = "PID")]
    owner_pid: Option<i32>,
}

/// Why the program ended without a report.
#[derive(Debug, thiserror::Error)]
enum CliError {
    #[error("read script `{path}`: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("parse script `{path}`: {source}")]
    Parse {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error(transparent)]
    Tenant(#[from] TenantError),
    #[error("watch owner {pid}: {source}")]
    Owner { pid: i32, source: io::Error },
    #[error("serve on loopback: {source}")]
    Serve { source: io::Error },
}

/// The last line of the program.
#[derive(Debug, Serialize)]
struct Ending {
    report: Report,
    /// Requests that belonged to no tenant.
    strays: usize,
}

/// Runs the program with these arguments, the program's name first.
pub fn main_with(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // A closed stderr leaves nobody to tell.
            drop(error.print());
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let outcome = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|source| CliError::Serve { source })
        .and_then(|runtime| runtime.block_on(run(&cli)));
    match outcome {
        Ok(ending) => {
            let is_clean = ending.report.is_clean() && ending.strays == 0;
            // The exit code says the same to a caller that has closed the pipe.
            drop(print(&ending));
            ExitCode::from(u8::from(!is_clean))
        }
        Err(error) => {
            drop(writeln!(io::stderr(), "fake-model: {error}"));
            ExitCode::from(if matches!(error, CliError::Serve { .. }) {
                3
            } else {
                2
            })
        }
    }
}

async fn run(cli: &Cli) -> Result<Ending, CliError> {
    let script = read(&cli.script)?;
    let owner = cli.owner_pid.map(Owner::find).transpose()?;
    let serving = |source| CliError::Serve { source };
    let mut model = FakeModel::start().await.map_err(serving)?;
    let mut strays = model.stray_events();
    let mut tenant = model.tenant(TENANT, &script)?;
    let base_url = tenant.base_url();
    let control = Control::new(tenant.take_events());
    let address = serve(&control, tenant.remote()).await.map_err(serving)?;
    print(&json!({"url": format!("http://{address}"), "base_url": base_url, "pid": std::process::id()})).map_err(serving)?;

    tokio::select! {
        () = stdin_ends() => {}
        () = owner_ends(owner) => {}
    }
    let report = tenant.finish().await;
    let mut count = 0;
    while let Some(event) = strays.as_mut().and_then(Events::try_recv) {
        count += usize::from(matches!(event.what, What::Unmatched { .. }));
    }
    model.shutdown().await;
    Ok(Ending {
        report,
        strays: count,
    })
}

fn read(path: &Path) -> Result<serde_json::Value, CliError> {
    let text = std::fs::read(path).map_err(|source| CliError::Read {
        path: path.to_owned(),
        source,
    })?;
    serde_json::from_slice(&text).map_err(|source| CliError::Parse {
        path: path.to_owned(),
        source,
    })
}

fn print(line: &impl Serialize) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    serde_json::to_writer(&mut stdout, line)?;
    stdout.write_all(b"\n")?;
    stdout.flush()
}

async fn stdin_ends() {
    // An error is an end as well: there is nobody on the other side.
    on_a_thread(|| drop(io::copy(&mut io::stdin().lock(), &mut io::sink()))).await;
}

/// Waits for something that blocks, on a thread that the end of the runtime does not wait for (tokio's own would).
async fn on_a_thread(blocking: impl FnOnce() + Send + 'static) {
    let (sender, ended) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        blocking();
        drop(sender);
    });
    drop(ended.await);
}

/// A process that must outlive the program.
#[derive(Debug)]
struct Owner {
    #[cfg(target_os = "linux")]
    pidfd: std::os::fd::OwnedFd,
}

impl Owner {
    /// A pidfd holds on to the process itself, so that a later process of the same number is never taken for it.
    #[cfg(target_os = "linux")]
    fn find(pid: i32) -> Result<Self, CliError> {
        use rustix::process::{Pid, PidfdFlags, pidfd_open};
        let missing = io::Error::from(io::ErrorKind::InvalidInput);
        Pid::from_raw(pid)
            .ok_or(missing)
            .and_then(|pid| Ok(pidfd_open(pid, PidfdFlags::empty())?))
            .map(|pidfd| Self { pidfd })
            .map_err(|source| CliError::Owner { pid, source })
    }

    #[cfg(not(target_os = "linux"))]
    fn find(pid: i32) -> Result<Self, CliError> {
        let source = io::Error::new(
            io::ErrorKind::Unsupported,
            "only Linux can; let stdin end instead",
        );
        Err(CliError::Owner { pid, source })
    }

    /// Returns when the process has ended.
    #[cfg(target_os = "linux")]
    fn wait(self) {
        use rustix::event::{PollFd, PollFlags, poll};
        let mut ended = [PollFd::new(&self.pidfd, PollFlags::IN)];
        while poll(&mut ended, None) == Err(rustix::io::Errno::INTR) {}
    }

    #[cfg(not(target_os = "linux"))]
    fn wait(self) {}
}

async fn owner_ends(owner: Option<Owner>) {
    match owner {
        Some(owner) => on_a_thread(|| owner.wait()).await,
        None => std::future::pending().await,
    }
}
