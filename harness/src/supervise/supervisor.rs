//! The supervisor of one scenario: it alone starts the scenario's processes, reaps them, and ends them.
//!
//! Run by the hidden verb `supervise`, started by the warden, with orders on standard input and notices on standard
//! output. A subreaper: whatever its processes leave falls to it, so when the kernel says it has no child, the whole
//! tree is gone. At the end of its input it ends the tree and releases the namespaces as if ordered to. One thread, no
//! tokio. Must never end before its tree unless KILL does not help.

use std::{
    collections::BTreeSet,
    io::Read as _,
    os::fd::AsFd as _,
    time::{Duration, Instant},
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::resource::{UsageWho, getrusage},
};

use super::{
    ending::{Ending, GRACE},
    launched::Launched,
    namespace::{self, Held},
    notice::{Ended, Notice, Usage},
    order::Order,
    process::{ProcessId, Seen, descendants},
    reap::{ChildSignal, Children, Reaped, reap_one},
    scope::Scope,
    wire::{FromSupervisor, Line as _, Lines, ToSupervisor, write_line},
};

/// Orphans told one by one; a fork loop makes thousands, and the number is told at the end.
const ORPHANS_TOLD: u64 = 256;

/// Why a supervisor or the warden stops before its work is done.
#[derive(Debug, thiserror::Error)]
pub enum SuperviseFailed {
    /// The process could not become a subreaper.
    #[error("become the reaper of orphans (Linux 3.4 or newer is needed): {source}")]
    Subreaper {
        /// The system's answer.
        #[source]
        source: nix::Error,
    },
    /// Ended children cannot be heard of.
    #[error("listen for ended children: {source}")]
    ChildSignal {
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
    /// The warden gave up.
    #[error("processes are left that KILL did not end")]
    Left,
    /// Waiting for input failed.
    #[error("wait for orders: {source}")]
    Poll {
        /// The system's answer.
        #[source]
        source: nix::Error,
    },
}

/// Everything a supervisor knows.
#[derive(Debug, Default)]
struct Scenario {
    launched: Launched,
    held: Vec<Held>,
    orphans: u64,
    ending: Option<Ending>,
}

/// Runs a supervisor to its end: until the tree is empty after `End`, or after the end of standard input.
pub fn main() -> Result<(), SuperviseFailed> {
    nix::sys::prctl::set_child_subreaper(true)
        .map_err(|source| SuperviseFailed::Subreaper { source })?;
    let mut children =
        ChildSignal::register().map_err(|source| SuperviseFailed::ChildSignal { source })?;
    let mut scenario = Scenario::default();
    let mut lines = Lines::default();
    let me = std::process::id();
    say(Notice::Ready {
        process: ProcessId::of(me).unwrap_or(ProcessId { pid: me, start: 0 }),
    });
    loop {
        children.clear();
        let left = scenario.reap();
        if let Some(ending) = &mut scenario.ending {
            if left == Children::None || ending.is_given_up() {
                scenario.finish(left);
                return Ok(());
            }
            say_all(ending.step(Instant::now(), &Scope::below_us(BTreeSet::new())));
        }
        let ready = scenario.wait(&children)?;
        say_all(scenario.launched.copy(&ready.outputs));
        if ready.input {
            scenario.hear(&mut lines);
        }
    }
}

/// What can be read without waiting.
struct Ready {
    input: bool,
    outputs: Vec<bool>,
}

impl Scenario {
    /// Waits until something can be read, a child ends, or the ending wants its next step.
    fn wait(&self, children: &ChildSignal) -> Result<Ready, SuperviseFailed> {
        let stdin = std::io::stdin();
        let mut fds = vec![PollFd::new(children.as_fd(), PollFlags::POLLIN)];
        // Nothing more is obeyed once the end has begun, and an ended input would wake the poll for ever.
        let is_listening = self.ending.is_none();
        if is_listening {
            fds.push(PollFd::new(stdin.as_fd(), PollFlags::POLLIN));
        }
        let n_others = fds.len();
        fds.extend(self.launched.reading());
        match poll(&mut fds, self.timeout()) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(source) => return Err(SuperviseFailed::Poll { source }),
        }
        let is_ready = |fd: &PollFd<'_>| fd.revents().is_some_and(|events| !events.is_empty());
        Ok(Ready {
            input: is_listening && fds.get(1).is_some_and(is_ready),
            outputs: fds.iter().skip(n_others).map(is_ready).collect(),
        })
    }

    fn timeout(&self) -> PollTimeout {
        let Some(ending) = &self.ending else {
            return PollTimeout::NONE;
        };
        // Rounded up, or the loop would spin through the last fraction of a millisecond.
        let left =
            ending.next().saturating_duration_since(Instant::now()) + Duration::from_micros(999);
        PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
    }

    /// Takes the status of every child that has ended.
    fn reap(&mut self) -> Children {
        loop {
            match reap_one() {
                Ok(reaped) => self.bury(reaped),
                Err(left) => return left,
            }
        }
    }

    fn bury(&mut self, reaped: Reaped) {
        let Reaped {
            process,
            name,
            group,
            status,
        } = reaped;
        if let Some(ending) = &mut self.ending {
            ending.stir(Instant::now());
        }
        if let Some(key) = self.launched.bury(process.pid) {
            // What the leader wrote lies in the pipe; the reader of this notice wants to find it in the file.
            say_all(self.launched.drain(Some(&key)));
            say(Notice::Exited { key, status });
            return;
        }
        self.orphans += 1;
        if self.orphans <= ORPHANS_TOLD {
            let group_of = self.launched.of_group(group);
            say(Notice::Orphan {
                process,
                name,
                group_of,
                status,
            });
        }
    }

    /// Reads orders; the end of input is an order to end.
    fn hear(&mut self, lines: &mut Lines) {
        let mut chunk = vec![0; 64 << 10];
        let read = match std::io::stdin().lock().read(&mut chunk) {
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return,
            Err(_) => 0,
        };
        if read == 0 {
            self.ending = Some(Ending::by_term(Instant::now(), GRACE));
        }
        for line in lines.feed(&chunk[..read]) {
            match ToSupervisor::from_line(&line) {
                Ok(ToSupervisor::Order(order)) => self.obey(*order),
                Ok(ToSupervisor::Adopt { held, .. }) => self.held.push(*held),
                // Both sides are one program, so this is a defect; ending is the safe answer to it.
                Err(_) => self.ending = Some(Ending::by_term(Instant::now(), GRACE)),
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Start { key, launch } => match self.launched.start(&key, &launch) {
                Ok(process) => say(Notice::Started { key, process }),
                Err(error) => say(Notice::StartFailed { key, error }),
            },
            Order::Signal { key, signal, reach } => {
                let reached = self.launched.signal(&key, signal, reach, &living());
                say(Notice::Signalled {
                    key,
                    signal,
                    reached,
                });
            }
            Order::Namespace {
                plumb,
                dialect,
                owner,
            } => match namespace::create(plumb, dialect, owner) {
                Ok(held) => {
                    say(Notice::Namespace {
                        id: held.id.clone(),
                        token: held.token.clone(),
                    });
                    self.held.push(held);
                }
                Err(notice) => say(notice),
            },
            Order::Tree => say(Notice::Snapshot {
                processes: living(),
            }),
            Order::End { grace_ms } => {
                let (now, grace) = (Instant::now(), Duration::from_millis(grace_ms));
                let is_over = self.launched.is_over();
                self.ending = Some(if is_over {
                    Ending::by_itself(now, grace)
                } else {
                    Ending::by_term(now, grace)
                });
            }
        }
    }

    /// Releases the namespaces and says the last word.
    fn finish(mut self, left: Children) {
        say_all(self.launched.drain(None));
        let usage = usage();
        let left_over = if left == Children::None {
            Vec::new()
        } else {
            living()
        };
        let namespaces = self.held.iter().map(namespace::release).collect();
        // The release commands are processes too, and must have left nothing.
        let is_empty = left == Children::None && self.reap() == Children::None;
        say(Notice::Ended(Ended {
            empty: is_empty,
            left: left_over,
            orphans: self.orphans,
            usage,
            namespaces,
        }));
    }
}

fn living() -> Vec<Seen> {
    descendants(std::process::id())
}

fn say_all(notices: Vec<Notice>) {
    notices.into_iter().for_each(say);
}

fn say(notice: Notice) {
    write_line(&FromSupervisor::now(notice));
}

fn usage() -> Usage {
    let micros = |time: nix::sys::time::TimeVal| {
        u64::try_from(time.tv_sec() * 1_000_000 + time.tv_usec()).unwrap_or(0)
    };
    match getrusage(UsageWho::RUSAGE_CHILDREN) {
        Ok(usage) => Usage {
            user_us: micros(usage.user_time()),
            sys_us: micros(usage.system_time()),
            max_rss_kb: u64::try_from(usage.max_rss()).unwrap_or(0),
        },
        Err(_) => Usage {
            user_us: 0,
            sys_us: 0,
            max_rss_kb: 0,
        },
    }
}
