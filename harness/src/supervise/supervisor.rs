//! The supervisor of one scenario: it alone starts the scenario's processes, reaps them, and ends them.
//!
//! Run by the hidden verb `supervise`, started by the warden, with orders on standard input and notices on standard
//! output. A subreaper: whatever its processes leave falls to it, so when the kernel says it has no child, the whole
//! tree is gone. At the end of its input it ends the tree and releases the namespaces as if ordered to. One thread, no
//! tokio. Must never end before its tree unless KILL does not help.

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    os::{fd::AsFd, unix::process::CommandExt as _},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::resource::{UsageWho, getrusage},
};

use super::{
    ending::{Ending, GRACE},
    namespace::{self, Held},
    notice::{Ended, Notice, Stream, Usage},
    order::{Key, Launch, Order, Reach, Signal, Stdin},
    output::{Copied, Output, create},
    process::{ProcessId, Seen, descendants},
    reap::{ChildSignal, Children, Reaped, reap_one},
    wire::{FromSupervisor, Line as _, Lines, ToSupervisor},
};

/// Orphans told one by one; a fork loop makes thousands, and the number is told at the end.
const ORPHANS_TOLD: u64 = 256;

/// Why a supervisor could not even begin.
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
    running: BTreeMap<Key, Running>,
    /// Whose group a pid once led; a reaped leader's orphans still carry it.
    groups: BTreeMap<u32, Key>,
    outputs: Vec<(Key, Output)>,
    held: Vec<Held>,
    orphans: u64,
    ending: Option<Ending>,
}

/// A started process that has not been reaped.
#[derive(Debug)]
struct Running {
    process: ProcessId,
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
                return Ok(scenario.finish(left));
            }
            for notice in ending.step(Instant::now(), &living) {
                say(notice);
            }
        }
        let ready = scenario.wait(&children)?;
        for index in ready.outputs.into_iter().rev() {
            scenario.copy(index);
        }
        if ready.input {
            scenario.hear(&mut lines);
        }
    }
}

/// What can be read without waiting.
struct Ready {
    input: bool,
    outputs: Vec<usize>,
}

impl Scenario {
    /// Waits until something can be read, a child ends, or the ending wants its next step.
    fn wait(&self, children: &ChildSignal) -> Result<Ready, SuperviseFailed> {
        let stdin = std::io::stdin();
        let mut fds = vec![PollFd::new(children.as_fd(), PollFlags::POLLIN)];
        fds.extend(
            self.outputs
                .iter()
                .map(|(_, output)| PollFd::new(output.as_fd(), PollFlags::POLLIN)),
        );
        // Nothing more is obeyed once the end has begun.
        let is_listening = self.ending.is_none();
        if is_listening {
            fds.push(PollFd::new(stdin.as_fd(), PollFlags::POLLIN));
        }
        match poll(&mut fds, self.timeout()) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(source) => return Err(SuperviseFailed::Poll { source }),
        }
        let is_ready = |fd: &PollFd<'_>| fd.revents().is_some_and(|events| !events.is_empty());
        let n_outputs = self.outputs.len();
        Ok(Ready {
            input: is_listening && fds.last().is_some_and(is_ready),
            outputs: (0..n_outputs)
                .filter(|index| fds.get(index + 1).is_some_and(is_ready))
                .collect(),
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
        let key = self
            .running
            .iter()
            .find(|(_, one)| one.process.pid == process.pid)
            .map(|(key, _)| key.clone());
        if let Some(key) = key {
            self.running.remove(&key);
            // What the leader wrote lies in the pipe; the reader of this notice wants to find it in the file.
            self.drain(&key);
            say(Notice::Exited { key, status });
            return;
        }
        self.orphans += 1;
        if self.orphans <= ORPHANS_TOLD {
            let group_of = self.groups.get(&group).cloned();
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
        let mut chunk = [0; 64 << 10];
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
                Ok(ToSupervisor::Order(order)) => self.obey(order),
                Ok(ToSupervisor::Adopt { held, .. }) => self.held.push(held),
                // Both sides are one program, so this is a defect; ending is the safe answer to it.
                Err(_) => self.ending = Some(Ending::by_term(Instant::now(), GRACE)),
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Start { key, launch } => match self.start(&key, &launch) {
                Ok(process) => say(Notice::Started { key, process }),
                Err(error) => say(Notice::StartFailed { key, error }),
            },
            Order::Signal { key, signal, reach } => {
                let reached = self.signal(&key, signal, reach);
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
                let is_over = self.running.is_empty();
                self.ending = Some(if is_over {
                    Ending::by_itself(now, grace)
                } else {
                    Ending::by_term(now, grace)
                });
            }
        }
    }

    fn start(&mut self, key: &Key, launch: &Launch) -> Result<ProcessId, String> {
        if self.running.contains_key(key) {
            return Err(format!(
                "`{key}` is running already; give each launch a key of its own"
            ));
        }
        let Some((program, args)) = launch.argv.split_first() else {
            return Err(format!("`{key}` has no program"));
        };
        let stdin = match &launch.stdin {
            Stdin::Null => Stdio::null(),
            Stdin::File(path) => std::fs::File::open(path)
                .map_err(|error| at("open", path, &error))?
                .into(),
        };
        let stdout =
            create(&launch.stdout).map_err(|error| at("create", &launch.stdout, &error))?;
        let stderr =
            create(&launch.stderr).map_err(|error| at("create", &launch.stderr, &error))?;
        let mut child = Command::new(program)
            .args(args)
            .env_clear()
            .envs(&launch.env)
            .current_dir(&launch.cwd)
            .process_group(0)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("start `{program}` in `{}`: {error}", launch.cwd.display()))?;
        if let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) {
            let out = Output::new(Stream::Stdout, out.into(), stdout, launch.limit);
            let err = Output::new(Stream::Stderr, err.into(), stderr, launch.limit);
            self.outputs
                .extend([(key.clone(), out), (key.clone(), err)]);
        }
        // It is our unreaped child, so the pid is its own even if it has ended already.
        let process = ProcessId::of(child.id()).unwrap_or(ProcessId {
            pid: child.id(),
            start: 0,
        });
        self.running.insert(key.clone(), Running { process });
        self.groups.insert(process.pid, key.clone());
        Ok(process)
    }

    fn signal(&self, key: &Key, signal: Signal, reach: Reach) -> Vec<ProcessId> {
        let leader = self.running.get(key).map(|running| running.process);
        let groups: Vec<u32> = self
            .groups
            .iter()
            .filter(|(_, of)| *of == key)
            .map(|(pid, _)| *pid)
            .collect();
        let in_group = |one: &Seen| groups.contains(&one.group);
        let mut chosen: Vec<ProcessId> = match reach {
            Reach::Leader => leader.into_iter().collect(),
            Reach::Group => living()
                .iter()
                .filter(|one| in_group(one))
                .map(|one| one.process)
                .collect(),
            Reach::Tree => {
                let below = leader
                    .map(|leader| descendants(leader.pid))
                    .unwrap_or_default();
                let group = living().into_iter().filter(in_group);
                below
                    .into_iter()
                    .chain(group)
                    .map(|one| one.process)
                    .chain(leader)
                    .collect()
            }
        };
        chosen.sort_unstable();
        chosen.dedup();
        chosen.retain(|process| process.signal(signal));
        chosen
    }

    fn copy(&mut self, index: usize) {
        let Some((key, output)) = self.outputs.get_mut(index) else {
            return;
        };
        match output.copy() {
            Copied::More => {}
            Copied::Overflowed => {
                say(Notice::Overflow {
                    key: key.clone(),
                    stream: output.stream,
                    limit: output.limit,
                });
            }
            Copied::End => drop(self.outputs.swap_remove(index)),
        }
    }

    fn drain(&mut self, whose: &Key) {
        self.outputs.retain_mut(|(key, output)| {
            let limit = output.limit;
            let overflowed = |stream| {
                say(Notice::Overflow {
                    key: key.clone(),
                    stream,
                    limit,
                })
            };
            key != whose || output.drain(overflowed) != Copied::End
        });
    }

    /// Releases the namespaces and says the last word.
    fn finish(mut self, left: Children) {
        let keys: Vec<Key> = self.outputs.iter().map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.drain(&key);
        }
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

/// Writes a notice. A runner that is gone cannot be told anything; the end of input says so by itself.
fn say(notice: Notice) {
    let mut stdout = std::io::stdout().lock();
    let line = FromSupervisor::now(notice).to_line();
    drop(
        stdout
            .write_all(line.as_bytes())
            .and_then(|()| stdout.flush()),
    );
}

fn at(verb: &str, path: &std::path::Path, error: &std::io::Error) -> String {
    format!("{verb} `{}`: {error}", path.display())
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
