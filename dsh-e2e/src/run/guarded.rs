//! From options and environment to a plumb that may be used: the guard, then the questions to the plumb itself.
//!
//! Everything here comes before the run's folders, processes and handlers; a refusal leaves nothing behind.

use std::io::Write as _;
use std::path::Path;

use harness::event::Event;
use harness::guard::{Admitted, Isolation, Request, admit as decide};
use harness::host::HostFacts;
use harness::plumb::cli::Plumb;
use harness::plumb::dialect::Dialect;
use harness::plumb::real::{RealPlumb, take as ask};
use harness::scenario::Peer;

use super::Task;
use crate::cli::{RunOptions, environment};
use crate::plumb_host::PrivatePlumbs;
use crate::refusal::Refusal;

/// Which plumb is used, and whether it may be.
pub(crate) fn admit(options: &RunOptions) -> Result<Admitted, Refusal> {
    let facts = HostFacts::of_this_machine(&environment()).map_err(Refusal::broken)?;
    let request = Request {
        plumb: options.plumb.clone(),
        jobs: options.jobs,
        repeat: options.repeat,
    };
    decide(&facts, &request, &is_program)
        .map_err(|error| Refusal::new(error.to_string(), error.hint()))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// A plumb that is there, and how scenarios are kept apart in it.
pub(crate) enum Given {
    /// By namespaces of its one daemon.
    Shared(Box<RealPlumb>),
    /// By a private home and a daemon for each.
    Private(PrivatePlumbs),
}

/// Asks an admitted plumb whether it can be used; nothing for the built-in one.
pub(crate) fn take(admitted: &Admitted) -> Result<Option<Given>, Refusal> {
    let Admitted::Real(real) = admitted else {
        return Ok(None);
    };
    let facts = HostFacts::of_this_machine(&environment()).map_err(Refusal::broken)?;
    if real.isolation == Isolation::Daemon {
        let plumb = Plumb {
            program: real.program.clone(),
            account: facts.told.account,
        };
        let version = plumb.version().map_err(|error| {
            Refusal::new(
                error.to_string(),
                "run `plumb version` by hand; nothing was created",
            )
        })?;
        return Ok(Some(Given::Private(PrivatePlumbs {
            program: real.program.clone(),
            version,
            why: real.evidence.to_string(),
        })));
    }
    ask(
        &real.program,
        facts.told.account,
        &Dialect::default(),
        &real.evidence,
    )
    .map(|real| Some(Given::Shared(Box::new(real))))
    .map_err(|error| Refusal::new(error.to_string(), error.hint()))
}

/// Leaves out what only the built-in plumb can play, and says so.
pub(crate) fn leave_out(tasks: &mut Vec<Task>) {
    let before = tasks.len();
    tasks.retain(|task| !task.run.needs_plumb() || task.run.plumb == Peer::default());
    if tasks.len() < before {
        let left = before - tasks.len();
        writeln!(
            std::io::stderr(),
            "{left} runs are left out: they need a plumb of another version or with a fault"
        )
        .ok();
    }
}

/// The acceptance line.
pub(crate) fn admitted(given: &Given) -> Event {
    match given {
        Given::Shared(real) => Event::Admitted {
            why: real.evidence().to_string(),
            program: real.program().to_owned(),
            version: real.version().to_owned(),
            isolation: Isolation::Namespace.to_string(),
        },
        Given::Private(private) => Event::Admitted {
            why: private.why.clone(),
            program: private.program.clone(),
            version: private.version.clone(),
            isolation: Isolation::Daemon.to_string(),
        },
    }
}

/// Tells what a host run left; whether that is nothing.
pub(crate) fn certify(real: &RealPlumb, tell: &mut dyn FnMut(&Event)) -> bool {
    match real.certificate() {
        Ok(None) => true,
        Ok(Some(certificate)) => {
            let is_clean = certificate.is_clean();
            tell(&Event::Certificate { certificate });
            is_clean
        }
        Err(error) => {
            tell(&Event::Stopped {
                why: format!("what the run left cannot be shown: {error}"),
            });
            false
        }
    }
}
