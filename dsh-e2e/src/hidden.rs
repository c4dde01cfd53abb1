//! Helpers that the harness starts itself, by its own binary and a hidden verb.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use harness::clock::Moment;
use harness::drive::{Leave, leave};
use harness::exit::Exit;
use harness::probe::effect::effect;
use harness::probe::hold::{Held, Hold, hold};
use harness::probe::surroundings::probe;
use harness::probe::talk::{Talk, talk};
use harness::supervise::{supervisor, warden};
use harness::tap::{self, Tap};

use crate::cli::Hidden;

/// Exit code of a hold that nobody let go.
const FORGOTTEN: u8 = 3;

/// Runs a helper to its end.
pub(crate) fn main(verb: Hidden) -> ExitCode {
    let done: Result<ExitCode, String> = match verb {
        Hidden::Warden => warden::main()
            .map(|()| ExitCode::SUCCESS)
            .map_err(|error| error.to_string()),
        Hidden::Supervise => supervisor::main()
            .map(|()| ExitCode::SUCCESS)
            .map_err(|error| error.to_string()),
        Hidden::Enclosed { floor, run } => return crate::enclosed::main(floor.as_deref(), &run),
        Hidden::Tap { dir, command } => tap::main(&Tap {
            dir,
            name: None,
            command,
        })
        .map(ExitCode::from)
        .map_err(|error| error.to_string()),
        Hidden::Probe { to } => probe(&to)
            .map(|()| ExitCode::SUCCESS)
            .map_err(|error| error.to_string()),
        Hidden::Hold {
            ready,
            until,
            limit,
        } => held(&Hold {
            ready,
            until,
            limit: Duration::from_secs(limit),
        }),
        Hidden::Effect { to, name } => effect(&to, &name)
            .map(|()| ExitCode::SUCCESS)
            .map_err(|error| error.to_string()),
        Hidden::Talk {
            requests,
            outcomes,
            command,
        } => talk(&Talk {
            requests,
            outcomes,
            command,
        })
        .map(ExitCode::from)
        .map_err(|error| error.to_string()),
        Hidden::Note {
            plumb,
            workspace,
            text,
            receipt,
            to,
        } => {
            let note = Leave {
                plumb: &plumb,
                workspace: &workspace,
                to: to.as_deref(),
                text: &text,
                receipt: &receipt,
            };
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| error.to_string())
                .and_then(|runtime| {
                    runtime
                        .block_on(leave(&note))
                        .map_err(|error| error.to_string())
                })
                .map(|()| ExitCode::SUCCESS)
        }
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            // Nothing is left to be told when standard error is gone.
            writeln!(std::io::stderr(), "error: {error}").ok();
            Exit::Broken.into()
        }
    }
}

/// Holds, and writes down from when to when it stood beside its ready file.
fn held(told: &Hold) -> Result<ExitCode, String> {
    let from = Moment::now();
    let span = told.ready.with_extension("json");
    let held = hold(told).map_err(|error| error.to_string())?;
    let text = serde_json::json!({"from_us": from.0, "to_us": Moment::now().0}).to_string();
    std::fs::write(&span, text).map_err(|error| format!("{}: {error}", span.display()))?;
    Ok(match held {
        Held::LetGo => ExitCode::SUCCESS,
        Held::Forgotten => FORGOTTEN.into(),
    })
}
