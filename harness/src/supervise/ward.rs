//! One supervisor as the warden sees it: its process, its two pipes, and what must be known if it dies.
//!
//! Called by the warden alone. Writing never blocks: a supervisor that is busy telling would otherwise wait for a
//! warden that is busy ordering.

use std::{
    collections::VecDeque,
    fs::File,
    io::{Read as _, Write as _},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::process::CommandExt as _,
    },
    process::{Command, Stdio},
};

use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    poll::{PollFd, PollFlags},
};

use super::{
    namespace::Held,
    notice::Notice,
    order::{Call, Order},
    output::is_readable,
    process::{ProcessId, Seen},
    wire::{FromSupervisor, Last, Line as _, Lines, ToSupervisor},
};
use crate::plumb::dialect::Dialect;

/// The hidden verb of the supervisor.
const VERB: &str = "supervise";

/// One supervisor.
#[derive(Debug)]
pub(crate) struct Ward {
    pub(crate) process: ProcessId,
    pub(crate) last: Last,
    /// The namespaces it holds.
    pub(crate) held: Vec<Held>,
    /// Whether it said its last word.
    pub(crate) has_ended: bool,
    /// Whether that said that nothing is left.
    is_empty: bool,
    /// What its predecessor left and nobody could end.
    pub(crate) left: Vec<Seen>,
    /// Creates that were ordered and not answered.
    ordered: VecDeque<(Call, Dialect)>,
    stdin: Option<File>,
    is_closing: bool,
    outbox: Vec<u8>,
    stdout: Option<File>,
    lines: Lines,
}

impl Ward {
    /// Starts a supervisor from this very program, with an empty environment and a process group of its own: a Ctrl-C
    /// at the terminal is for the runner alone.
    pub(crate) fn start(last: Last) -> std::io::Result<Self> {
        // The link leads to this program even when its file was replaced meanwhile.
        let mut child = Command::new("/proc/self/exe")
            .arg0(std::env::current_exe()?)
            .arg(VERB)
            .env_clear()
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let pid = child.id();
        let stdin = child
            .stdin
            .take()
            .map(|pipe| File::from(OwnedFd::from(pipe)));
        let stdout = child
            .stdout
            .take()
            .map(|pipe| File::from(OwnedFd::from(pipe)));
        if let Some(stdin) = &stdin {
            fcntl(stdin, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        Ok(Self {
            process: ProcessId::of(pid).unwrap_or(ProcessId { pid, start: 0 }),
            last,
            held: Vec::new(),
            has_ended: false,
            is_empty: false,
            left: Vec::new(),
            ordered: VecDeque::new(),
            stdin,
            is_closing: false,
            outbox: Vec::new(),
            stdout,
            lines: Lines::default(),
        })
    }

    /// What to poll for its notices.
    pub(crate) fn reading(&self) -> Option<PollFd<'_>> {
        self.stdout
            .as_ref()
            .map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLIN))
    }

    /// What to poll while orders are waiting.
    pub(crate) fn writing(&self) -> Option<PollFd<'_>> {
        let pipe = self.stdin.as_ref().filter(|_| !self.outbox.is_empty())?;
        Some(PollFd::new(pipe.as_fd(), PollFlags::POLLOUT))
    }

    /// Whether it ended with the proof that its tree is gone.
    pub(crate) fn is_proven_empty(&self) -> bool {
        self.has_ended && self.is_empty
    }

    /// Whether a namespace may exist that nobody can release.
    pub(crate) fn is_unanswered(&self) -> bool {
        !self.ordered.is_empty()
    }

    /// Sends an order, and remembers what a namespace needs to be released.
    pub(crate) fn order(&mut self, order: Order) {
        if let Order::Namespace { plumb, dialect, .. } = &order {
            self.ordered.push_back((plumb.clone(), dialect.clone()));
        }
        self.send(&ToSupervisor::Order(Box::new(order)));
    }

    /// Hands over a namespace of a supervisor that died; it is remembered here in case this one dies too.
    pub(crate) fn adopt(&mut self, held: Held) {
        self.send(&ToSupervisor::adopt(held.clone()));
        self.held.push(held);
    }

    /// Sends a line, now or when the pipe has room.
    fn send(&mut self, line: &ToSupervisor) {
        self.outbox.extend_from_slice(line.to_line().as_bytes());
        self.flush();
    }

    /// Closes its input once everything is sent.
    pub(crate) fn close(&mut self) {
        self.is_closing = true;
        self.flush();
    }

    /// Writes what the pipe takes.
    pub(crate) fn flush(&mut self) {
        while let Some(pipe) = self.stdin.as_mut().filter(|_| !self.outbox.is_empty()) {
            match pipe.write(&self.outbox) {
                Ok(written) => drop(self.outbox.drain(..written)),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                // It is dead, and its death is told by its status.
                Err(_) => self.outbox.clear(),
            }
        }
        if self.is_closing {
            self.stdin = None;
        }
    }

    /// Reads once, if something is there.
    pub(crate) fn read(&mut self) -> Vec<FromSupervisor> {
        let Some(pipe) = self
            .stdout
            .as_mut()
            .filter(|pipe| is_readable(pipe.as_fd()))
        else {
            return Vec::new();
        };
        let mut chunk = vec![0; 64 << 10];
        let read = match pipe.read(&mut chunk) {
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return Vec::new(),
            Err(_) => 0,
        };
        if read == 0 {
            self.stdout = None;
        }
        let lines = self.lines.feed(&chunk[..read]);
        // A line that is no notice can only be the torn last one of a killed supervisor, which is not whole and so
        // never comes here.
        lines
            .iter()
            .filter_map(|line| FromSupervisor::from_line(line).ok())
            .map(|said| self.note(said))
            .collect()
    }

    /// Reads all that a dead supervisor had written.
    pub(crate) fn read_rest(&mut self) -> Vec<FromSupervisor> {
        let mut said = Vec::new();
        while self
            .stdout
            .as_ref()
            .is_some_and(|pipe| is_readable(pipe.as_fd()))
        {
            said.extend(self.read());
        }
        said
    }

    /// Keeps what must be known if this supervisor dies.
    fn note(&mut self, mut said: FromSupervisor) -> FromSupervisor {
        match &mut said.notice {
            Notice::Namespace { id, token } => {
                if let Some((plumb, dialect)) = self.ordered.pop_front() {
                    self.held.push(Held {
                        id: id.clone(),
                        token: token.clone(),
                        plumb,
                        dialect,
                    });
                }
            }
            Notice::NamespaceFailed { .. } => drop(self.ordered.pop_front()),
            Notice::Ended(ended) => {
                self.has_ended = true;
                self.is_empty = ended.empty;
                self.held.clear();
                ended.empty &= self.left.is_empty();
                ended.left.append(&mut self.left);
            }
            _ => {}
        }
        said
    }
}
