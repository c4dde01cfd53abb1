//! The runner's side: an async handle on the warden and one on each supervisor.
//!
//! Called by the stage and the drive, in tokio. The warden is the only child this crate's async half ever spawns.
//! Must never block, and must never stop reading, or the warden would stand still.

use std::{collections::BTreeMap, path::Path, process::Stdio, time::Duration};

use futures::{StreamExt as _, channel::mpsc, stream};
use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, ChildStdin, Command},
    task::JoinHandle,
};
use tokio_util::codec::{FramedRead, LinesCodec};

use super::{
    notice::{Notice, Status},
    order::{Key, Launch, Order},
    process::ProcessId,
    reap::status_of_exit,
    wire::{Ask, FromWarden, Last, Line as _, News, ToWarden},
};
use crate::{
    clock::Moment,
    gate::{Gate, Waiting, wait},
};

/// The longest line taken: a snapshot of a few thousand processes.
const LINE: usize = 64 << 20;

/// How long supervisors whose warden died may take: what the warden itself gives them.
const UNHEARD: Duration = Duration::from_mins(1);

/// Which program the warden is.
#[derive(Debug, Clone, Copy)]
pub struct WardenProgram<'a> {
    /// Our own binary.
    pub program: &'a Path,
    /// Its hidden verb.
    pub verb: &'a str,
}

/// The run's warden. Dropped without [`Warden::close`], it ends everything all the same, unwatched.
#[derive(Debug)]
pub struct Warden {
    child: Child,
    origin: Moment,
    asked: mpsc::UnboundedSender<Asked>,
    reading: JoinHandle<Heard>,
}

/// One scenario's supervisor. Dropped, it ends its tree and releases its namespaces, unwatched.
#[derive(Debug)]
pub struct Supervisor {
    name: String,
    asked: mpsc::UnboundedSender<Asked>,
    notices: mpsc::UnboundedReceiver<Said>,
}

/// A notice and its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Since the run's origin.
    pub at: Moment,
    /// What was said.
    pub notice: Notice,
}

/// What came of the run's processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closing {
    /// How the warden ended; `Code(0)` says that its own tree was proven empty.
    pub status: Status,
    /// What it complained of, supervisor by supervisor.
    pub trouble: Vec<String>,
}

/// Why the processes cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum SuperviseError {
    /// The warden could not be started.
    #[error("start the warden `{program}`: {source}")]
    Start {
        /// Our own binary.
        program: String,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
    /// The warden could not be waited for.
    #[error("wait for the warden: {source}")]
    Wait {
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
    /// The warden is gone.
    #[error(
        "the warden is gone; nothing can be started, and what ran is being ended by its supervisors"
    )]
    Gone,
}

/// What a handle asks of the reader.
#[derive(Debug)]
enum Asked {
    Open(String, Last, mpsc::UnboundedSender<Said>),
    Send(Box<ToWarden>),
    Close,
}

/// What the reader heard in all.
#[derive(Debug, Default)]
struct Heard {
    trouble: Vec<String>,
    /// Supervisors that stood and were not reported closed.
    open: BTreeMap<String, ProcessId>,
}

/// What the reader wakes for.
enum Event {
    Asked(Asked),
    Heard(Option<String>),
}

impl Warden {
    /// Starts the warden; times are told since `origin`.
    pub fn start(program: WardenProgram<'_>, origin: Moment) -> Result<Self, SuperviseError> {
        let shown = program.program.display().to_string();
        let start = |source| SuperviseError::Start {
            program: shown.clone(),
            source,
        };
        let mut child = Command::new(program.program)
            .arg(program.verb)
            .env_clear()
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(start)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(start(std::io::Error::other("its pipes are missing")));
        };
        let (asked, asks) = mpsc::unbounded();
        let (lines, to_write) = mpsc::unbounded();
        tokio::spawn(write(stdin, to_write));
        let heard = FramedRead::new(stdout, LinesCodec::new_with_max_length(LINE));
        let heard = heard
            .map(|line| Event::Heard(line.ok()))
            .chain(stream::once(async { Event::Heard(None) }));
        let events = stream::select(asks.map(Event::Asked), heard);
        let reading = tokio::spawn(read(events.boxed(), lines, origin));
        Ok(Self {
            child,
            origin,
            asked,
            reading,
        })
    }

    /// The moment from which times are told.
    pub fn origin(&self) -> Moment {
        self.origin
    }

    /// Starts a supervisor; its first notice is `Ready`.
    pub fn supervisor(&self, name: &str) -> Result<Supervisor, SuperviseError> {
        self.open(name, Last::WithTheOthers)
    }

    /// Starts a run-wide daemon under a supervisor of its own, which is closed after all scenarios'.
    pub fn daemon(&self, name: &str, launch: Launch) -> Result<Supervisor, SuperviseError> {
        let supervisor = self.open(name, Last::AfterTheOthers)?;
        supervisor.order(Order::Start {
            key: Key(name.into()),
            launch,
        })?;
        Ok(supervisor)
    }

    /// Ends everything, the daemon last, and waits until it is gone.
    pub async fn close(mut self) -> Result<Closing, SuperviseError> {
        // A warden that is gone has closed its side already.
        drop(self.asked.unbounded_send(Asked::Close));
        let Heard { mut trouble, open } = self.reading.await.unwrap_or_default();
        let status = self
            .child
            .wait()
            .await
            .map_err(|source| SuperviseError::Wait { source })?;
        // Only after the death of the warden is anybody left; they end their trees by themselves, unheard.
        for (name, process) in open {
            let what = format!("the end of supervisor {name}");
            let gate = Gate {
                what: &what,
                within: UNHEARD,
                every: Duration::from_millis(20),
            };
            let look = || {
                if process.is_alive() {
                    Waiting::NotYet(format!("{process:?} runs"))
                } else {
                    Waiting::Ready(())
                }
            };
            match wait(gate, look).await {
                Ok(()) => trouble.push(format!(
                    "{name}: the warden died before it, so nobody heard how it ended"
                )),
                Err(error) => trouble.push(format!("{name}: {error}")),
            }
        }
        Ok(Closing {
            status: status_of_exit(status),
            trouble,
        })
    }

    fn open(&self, name: &str, last: Last) -> Result<Supervisor, SuperviseError> {
        let (told, notices) = mpsc::unbounded();
        let open = Asked::Open(name.to_owned(), last, told);
        self.asked
            .unbounded_send(open)
            .map_err(|_| SuperviseError::Gone)?;
        Ok(Supervisor {
            name: name.to_owned(),
            asked: self.asked.clone(),
            notices,
        })
    }
}

impl Supervisor {
    /// The name it was opened under.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives an order; what comes of it is a notice.
    pub fn order(&self, order: Order) -> Result<(), SuperviseError> {
        let line = ToWarden {
            name: self.name.clone(),
            ask: Ask::Order(Box::new(order)),
        };
        self.asked
            .unbounded_send(Asked::Send(Box::new(line)))
            .map_err(|_| SuperviseError::Gone)
    }

    /// Gives the next notice; `None` after the last. A last one that is not `Ended` says that the warden died.
    pub async fn next(&mut self) -> Option<Said> {
        self.notices.next().await
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let line = ToWarden {
            name: std::mem::take(&mut self.name),
            ask: Ask::Close,
        };
        // Nothing is left to close when the warden is gone.
        drop(self.asked.unbounded_send(Asked::Send(Box::new(line))));
    }
}

/// Carries asks out and notices in until the warden's output ends; gives what it complained of.
async fn read(
    mut events: stream::BoxStream<'static, Event>,
    lines: mpsc::UnboundedSender<String>,
    origin: Moment,
) -> Heard {
    let mut lines = Some(lines);
    let mut listeners = BTreeMap::new();
    let mut all = Heard::default();
    while let Some(event) = events.next().await {
        match event {
            Event::Asked(Asked::Close) => lines = None,
            Event::Asked(Asked::Send(line)) => send(lines.as_ref(), &line),
            Event::Asked(Asked::Open(name, last, told)) => {
                send(
                    lines.as_ref(),
                    &ToWarden {
                        name: name.clone(),
                        ask: Ask::Open(last),
                    },
                );
                listeners.insert(name, told);
            }
            Event::Heard(None) => break,
            Event::Heard(Some(line)) => all.hear(&line, origin, &mut listeners),
        }
    }
    all
}

impl Heard {
    /// Takes one line of the warden.
    fn hear(
        &mut self,
        line: &str,
        origin: Moment,
        listeners: &mut BTreeMap<String, mpsc::UnboundedSender<Said>>,
    ) {
        let FromWarden { name, news } = match FromWarden::from_line(line) {
            Ok(read) => read,
            Err(error) => return self.trouble.push(format!("a line of the warden: {error}")),
        };
        match news {
            News::Said(said) => {
                if let Notice::Ready { process } = said.notice {
                    self.open.insert(name.clone(), process);
                }
                if let Some(told) = listeners.get(&name) {
                    // A dropped handle does not listen any more.
                    drop(told.unbounded_send(Said {
                        at: said.at.since(origin),
                        notice: said.notice,
                    }));
                }
            }
            News::Closed => {
                self.open.remove(&name);
                listeners.remove(&name);
            }
            News::Trouble(what) => self.trouble.push(format!("{name}: {what}")),
        }
    }
}

fn send(lines: Option<&mpsc::UnboundedSender<String>>, line: &ToWarden) {
    if let Some(lines) = lines {
        // The writer ends when the warden does, which the reader learns by itself.
        drop(lines.unbounded_send(line.to_line()));
    }
}

/// Writes lines until the last sender is gone, then closes the warden's input.
async fn write(mut stdin: ChildStdin, mut lines: mpsc::UnboundedReceiver<String>) {
    while let Some(line) = lines.next().await {
        if stdin.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}
