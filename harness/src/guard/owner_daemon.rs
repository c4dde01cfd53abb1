//! Is the one daemon of this machine the one that its owner named? Pure over what `plumb debug daemons` listed.
//!
//! Called when a host run is admitted and again before each of its namespaces. Whatever is not said counts against.

use super::OptIn;
use crate::plumb::debug_daemons::{Listing, Yes};

/// Why the listing does not bear the opt-in out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Disagreement {
    /// None or several.
    #[error("it lists {count} daemons, not exactly one ({pids})")]
    Count {
        /// How many.
        count: usize,
        /// Their PIDs.
        pids: String,
    },
    /// Another PID.
    #[error("the daemon is PID {found}, not PID {named}")]
    Pid {
        /// The listed one.
        found: u32,
        /// The named one.
        named: u32,
    },
    /// The verdict is another.
    #[error("its verdict is `{line}`, not OK")]
    Verdict {
        /// The whole line.
        line: String,
    },
    /// The verdict speaks of another daemon.
    #[error("its verdict `{line}` does not name PID {named} alone")]
    VerdictPid {
        /// The whole line.
        line: String,
        /// The named one.
        named: u32,
    },
    /// No authority.
    #[error("daemon PID {pid} does not hold the launch authority: AUTHORITY is `{said}`")]
    Authority {
        /// The daemon.
        pid: u32,
        /// What the column says.
        said: String,
    },
    /// Not its socket.
    #[error("it is not said that daemon PID {pid} owns its socket{said}")]
    Socket {
        /// The daemon.
        pid: u32,
        /// What is said instead.
        said: String,
    },
}

/// Holds the listing against the opt-in.
pub fn agree(listing: &Listing, named: OptIn) -> Result<(), Disagreement> {
    let named = named.pid();
    let [daemon] = listing.daemons.as_slice() else {
        let pids: Vec<String> = listing
            .daemons
            .iter()
            .map(|daemon| format!("PID {}", daemon.pid))
            .collect();
        return Err(Disagreement::Count {
            count: pids.len(),
            pids: pids.join(", "),
        });
    };
    let line = || listing.verdict.line.clone();
    if daemon.pid != named {
        return Err(Disagreement::Pid {
            found: daemon.pid,
            named,
        });
    }
    if listing.verdict.word != "OK" {
        return Err(Disagreement::Verdict { line: line() });
    }
    if listing.verdict.pids != [named] {
        return Err(Disagreement::VerdictPid {
            line: line(),
            named,
        });
    }
    if daemon.authority != Yes::Yes {
        return Err(Disagreement::Authority {
            pid: named,
            said: daemon.authority.to_string(),
        });
    }
    // A column says so, or the verdict does; whichever speaks has to say yes.
    let said = [&daemon.owns_socket, &listing.verdict.owns_socket];
    match said.into_iter().flatten().find(|said| **said != Yes::Yes) {
        Some(other) => Err(Disagreement::Socket {
            pid: named,
            said: format!(": `{other}`"),
        }),
        None if said.iter().all(|said| said.is_none()) => Err(Disagreement::Socket {
            pid: named,
            said: String::new(),
        }),
        None => Ok(()),
    }
}
