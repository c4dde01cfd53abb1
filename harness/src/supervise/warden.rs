//! The warden of a run: it starts the supervisors, carries lines between them and the runner, and outlives them.
//!
//! Run by the hidden verb `warden`, started by the runner. A subreaper above the supervisors: when one is killed, what
//! it left falls here, is named and ended, and a fresh supervisor under the same name releases its namespaces. At the
//! end of its input it closes the scenarios' supervisors, then the daemon's, then itself. One thread, no tokio. Must
//! never start anything but supervisors.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read as _,
    os::fd::AsFd,
    time::{Duration, Instant},
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::{
    bereaved::Bereaved,
    ending::{Ending, GRACE, name as survivors},
    notice::{Notice, Outlived},
    order::Signal,
    process::{ProcessId, Seen},
    reap::{ChildSignal, Children, Reaped, reap_one},
    scope::Scope,
    supervisor::SuperviseFailed,
    ward::Ward,
    wire::{Ask, FromSupervisor, FromWarden, Last, Line as _, Lines, News, ToWarden, write_line},
};

/// How long supervisors may take to end once their input is closed: the grace, ten seconds of KILL, and the deadlines
/// of create, release and list, ten seconds each, with room for a busy machine.
const CLOSING: Duration = Duration::from_mins(1);

/// Everything the warden knows.
#[derive(Debug, Default)]
struct Run {
    wards: BTreeMap<String, Ward>,
    /// Supervisors that died, whose processes are being ended.
    bereaved: Vec<Bereaved>,
    ending: Option<Ending>,
    /// Strays that were named.
    named: BTreeSet<ProcessId>,
    closing: Option<Closing>,
}

#[derive(Debug)]
struct Closing {
    of: Last,
    until: Instant,
}

/// How far the closing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closed {
    NotYet,
    /// The kernel says that no child is left.
    Empty,
    /// Something is left that KILL did not end.
    GivenUp,
}

/// Runs the warden until its input ended and every supervisor with its tree is gone.
pub fn main() -> Result<(), SuperviseFailed> {
    nix::sys::prctl::set_child_subreaper(true)
        .map_err(|source| SuperviseFailed::Subreaper { source })?;
    let mut children =
        ChildSignal::register().map_err(|source| SuperviseFailed::ChildSignal { source })?;
    let mut run = Run::default();
    let mut lines = Lines::default();
    loop {
        children.clear();
        let left = run.reap();
        run.end_strays();
        match run.close(left) {
            Closed::NotYet => run.turn(&children, &mut lines)?,
            Closed::Empty => return Ok(()),
            Closed::GivenUp => return Err(SuperviseFailed::Left),
        }
    }
}

impl Run {
    /// Waits for something to happen and carries what there is to carry.
    fn turn(&mut self, children: &ChildSignal, lines: &mut Lines) -> Result<(), SuperviseFailed> {
        let stdin = std::io::stdin();
        let names: Vec<String> = self.wards.keys().cloned().collect();
        let mut fds = vec![PollFd::new(children.as_fd(), PollFlags::POLLIN)];
        let mut whose = Vec::new();
        for (index, ward) in self.wards.values().enumerate() {
            for fd in [ward.reading(), ward.writing()].into_iter().flatten() {
                fds.push(fd);
                whose.push(index);
            }
        }
        let is_open = self.closing.is_none();
        if is_open {
            fds.push(PollFd::new(stdin.as_fd(), PollFlags::POLLIN));
        }
        match poll(&mut fds, self.timeout()) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(source) => return Err(SuperviseFailed::Poll { source }),
        }
        let ready: Vec<bool> = fds
            .iter()
            .map(|fd| fd.revents().is_some_and(|events| !events.is_empty()))
            .collect();
        let busy: BTreeSet<usize> = whose
            .iter()
            .zip(ready.iter().skip(1))
            .filter(|(_, ready)| **ready)
            .map(|(index, _)| *index)
            .collect();
        for name in busy.into_iter().filter_map(|index| names.get(index)) {
            if let Some(ward) = self.wards.get_mut(name) {
                ward.flush();
                for said in ward.read() {
                    tell(name, News::Said(said));
                }
            }
        }
        if is_open && ready.last() == Some(&true) {
            self.hear(lines);
        }
        Ok(())
    }

    fn timeout(&self) -> PollTimeout {
        let times = [
            self.ending.as_ref().map(Ending::next),
            self.closing.as_ref().map(|closing| closing.until),
        ];
        let Some(next) = times.into_iter().flatten().min() else {
            return PollTimeout::NONE;
        };
        let left = next.saturating_duration_since(Instant::now()) + Duration::from_micros(999);
        PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
    }

    /// Reads what the runner asks; the end of input begins the closing.
    fn hear(&mut self, lines: &mut Lines) {
        let mut chunk = vec![0; 64 << 10];
        let read = match std::io::stdin().lock().read(&mut chunk) {
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return,
            Err(_) => 0,
        };
        if read == 0 {
            self.begin_closing(Last::WithTheOthers);
        }
        for line in lines.feed(&chunk[..read]) {
            match ToWarden::from_line(&line) {
                Ok(ToWarden { name, ask }) => self.obey(name, ask),
                Err(error) => tell(
                    "",
                    News::Trouble(format!("read a line of the runner: {error}")),
                ),
            }
        }
    }

    fn obey(&mut self, name: String, ask: Ask) {
        match ask {
            Ask::Open(last) => self.open(name, last),
            Ask::Order(order) => match self.wards.get_mut(&name) {
                Some(ward) => ward.order(*order),
                None => tell(
                    &name,
                    News::Trouble("no such supervisor, or it has ended".into()),
                ),
            },
            Ask::Close => {
                if let Some(ward) = self.wards.get_mut(&name) {
                    ward.close();
                }
            }
        }
    }

    fn open(&mut self, name: String, last: Last) {
        if self.wards.contains_key(&name) {
            tell(
                &name,
                News::Trouble("a supervisor of that name exists".into()),
            );
            return;
        }
        match Ward::start(last) {
            Ok(ward) => drop(self.wards.insert(name, ward)),
            Err(error) => {
                tell(&name, News::Trouble(format!("start a supervisor: {error}")));
                tell(&name, News::Closed);
            }
        }
    }

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
            name: short,
            status,
            ..
        } = reaped;
        let of = self
            .wards
            .iter()
            .find(|(_, ward)| ward.process.pid == process.pid)
            .map(|(name, _)| name.clone());
        let Some((name, mut ward)) = of.and_then(|name| self.wards.remove_entry(&name)) else {
            if let Some(ending) = &mut self.ending {
                ending.stir(Instant::now());
            }
            if let Some(bereaved) = self.bereaved.last() {
                let orphan = Notice::Orphan {
                    process,
                    name: short,
                    group_of: None,
                    status,
                };
                tell(&bereaved.name, News::Said(FromSupervisor::now(orphan)));
            }
            return;
        };
        for said in ward.read_rest() {
            tell(&name, News::Said(said));
        }
        if ward.is_proven_empty() {
            tell(&name, News::Closed);
            return;
        }
        if !ward.has_ended {
            tell(
                &name,
                News::Said(FromSupervisor::now(Notice::Lost { status })),
            );
        }
        // Another death may have left strays a moment ago; each is named once.
        let strays = self.strays();
        let fresh: Vec<Seen> = strays
            .into_iter()
            .filter(|one| self.named.insert(one.process))
            .collect();
        for survivor in survivors(&fresh, Outlived::Supervisor) {
            tell(&name, News::Said(FromSupervisor::now(survivor)));
        }
        self.bereaved.push(Bereaved::of(name, ward));
        self.ending
            .get_or_insert_with(|| Ending::by_term(Instant::now(), GRACE));
    }

    /// Every descendant that belongs to no living supervisor.
    fn scope(&self) -> Scope {
        Scope::below_us(self.wards.values().map(|ward| ward.process.pid).collect())
    }

    fn strays(&self) -> Vec<Seen> {
        self.scope().living()
    }

    /// Ends what dead supervisors left, then lets each of them rest.
    fn end_strays(&mut self) {
        let Some(mut ending) = self.ending.take() else {
            return;
        };
        // One look can miss a process whose parent ends at that moment; two in a row that see none do not.
        let is_over =
            ending.is_given_up() || (self.strays().is_empty() && self.strays().is_empty());
        if !is_over {
            for notice in ending.step(Instant::now(), &self.scope()) {
                let last = self.bereaved.last().map_or("", |bereaved| &bereaved.name);
                tell(last, News::Said(FromSupervisor::now(notice)));
            }
            self.ending = Some(ending);
            return;
        }
        let left = self.strays();
        self.named.clear();
        for bereaved in std::mem::take(&mut self.bereaved) {
            if let Some((name, ward)) = bereaved.lay_to_rest(&left) {
                self.wards.insert(name, ward);
            }
        }
    }

    fn begin_closing(&mut self, of: Last) {
        for ward in self.wards.values_mut().filter(|ward| ward.last == of) {
            ward.close();
        }
        self.closing = Some(Closing {
            of,
            until: Instant::now() + CLOSING,
        });
    }

    /// Goes on with the closing.
    fn close(&mut self, left: Children) -> Closed {
        let Some(closing) = &mut self.closing else {
            return Closed::NotYet;
        };
        if !self.bereaved.is_empty() {
            return Closed::NotYet;
        }
        let of = closing.of;
        let is_late = Instant::now() >= closing.until;
        if self.wards.values().any(|ward| ward.last == of) {
            if is_late {
                closing.until += CLOSING;
                // Their processes fall to us and are ended like those of any supervisor that died.
                for ward in self.wards.values().filter(|ward| ward.last == of) {
                    ward.process.signal(Signal::Kill);
                }
            }
            return Closed::NotYet;
        }
        match (left, of) {
            (Children::None, _) => Closed::Empty,
            (Children::Some, Last::WithTheOthers) => {
                self.begin_closing(Last::AfterTheOthers);
                Closed::NotYet
            }
            (Children::Some, Last::AfterTheOthers) if is_late => Closed::GivenUp,
            (Children::Some, Last::AfterTheOthers) => Closed::NotYet,
        }
    }
}

/// Tells the runner something about a supervisor.
fn tell(name: &str, news: News) {
    write_line(&FromWarden {
        name: name.to_owned(),
        news,
    });
}
