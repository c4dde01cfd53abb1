//! The end of a tree: wait for what ends by itself, TERM, grace, then STOP and KILL in rounds.
//!
//! Called by the supervisor over its descendants and by the warden over what a dead supervisor left. It decides and
//! signals; its caller reaps, and says when nothing is left. Must never wait by itself.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use super::{
    notice::{Notice, Outlived},
    order::Signal,
    process::{ProcessId, Seen, parents},
    scope::Scope,
};

/// The TERM grace when nobody orders one (the runner is gone): dsh answers TERM within 0.2 s (measured), plumb's
/// clients within a second.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// How long KILL is repeated before the end is given up; only a process in an uninterruptible wait lives that long.
const KILLING: Duration = Duration::from_secs(10);

/// The shortest time between two looks at the table, which costs some milliseconds on a full machine.
const ROUND: Duration = Duration::from_millis(10);

/// A tree on its way out.
#[derive(Debug)]
pub(crate) struct Ending {
    phase: Phase,
    grace: Duration,
    /// When the phase is over.
    until: Instant,
    /// When the table is looked at again even if no child ends.
    look: Instant,
    termed: BTreeSet<ProcessId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Everything started has ended; the rest may follow by itself.
    Natural,
    /// TERM was sent.
    Term,
    /// STOP and KILL are sent.
    Kill,
    /// KILL did not help.
    GivenUp,
}

impl Ending {
    /// Begins with a wait for what ends by itself; then names what is left and goes on as [`Ending::by_term`].
    pub(crate) fn by_itself(now: Instant, grace: Duration) -> Self {
        Self {
            phase: Phase::Natural,
            grace,
            until: now + grace,
            look: now + grace,
            termed: BTreeSet::new(),
        }
    }

    /// Begins with TERM at the next [`Ending::step`].
    pub(crate) fn by_term(now: Instant, grace: Duration) -> Self {
        Self {
            phase: Phase::Term,
            grace,
            until: now + grace,
            look: now,
            termed: BTreeSet::new(),
        }
    }

    /// Whether nothing more can be done.
    pub(crate) fn is_given_up(&self) -> bool {
        self.phase == Phase::GivenUp
    }

    /// When [`Ending::step`] wants to be called at the latest.
    pub(crate) fn next(&self) -> Instant {
        self.until.min(self.look)
    }

    /// Asks for a look soon, because a child ended and its own children have moved up.
    pub(crate) fn stir(&mut self, now: Instant) {
        if self.phase != Phase::Natural {
            self.look = self.look.min(now + ROUND);
        }
    }

    /// Goes on as far as `now` allows; Gives the survivors to name.
    pub(crate) fn step(&mut self, now: Instant, scope: &Scope) -> Vec<Notice> {
        if now < self.next() {
            return Vec::new();
        }
        match self.phase {
            Phase::Natural => {
                self.enter(Phase::Term, now, self.grace);
                let living = scope.living();
                self.term(&living);
                name(&living, Outlived::LeaderExit)
            }
            Phase::Term if now < self.until => {
                self.look = self.until;
                self.term(&scope.living());
                Vec::new()
            }
            Phase::Term => {
                self.enter(Phase::Kill, now, KILLING);
                let outlasting = scope.living();
                scope.kill();
                name(&outlasting, Outlived::Term)
            }
            Phase::Kill if now < self.until => {
                self.look = now + ROUND * 2;
                scope.kill();
                Vec::new()
            }
            Phase::Kill | Phase::GivenUp => {
                self.phase = Phase::GivenUp;
                Vec::new()
            }
        }
    }

    fn enter(&mut self, phase: Phase, now: Instant, lasts: Duration) {
        self.phase = phase;
        self.until = now + lasts;
        self.look = if phase == Phase::Kill {
            now + ROUND
        } else {
            self.until
        };
    }

    /// Sends TERM once to each; a stopped process gets CONT so that it can obey.
    fn term(&mut self, living: &[Seen]) {
        for one in living {
            if self.termed.insert(one.process)
                && one.process.signal(Signal::Term)
                && one.state == 'T'
            {
                one.process.signal(Signal::Cont);
            }
        }
    }
}

/// Names each of `living`.
pub(crate) fn name(living: &[Seen], outlived: Outlived) -> Vec<Notice> {
    let survivor = |one: &Seen| Notice::Survivor {
        process: one.clone(),
        parents: parents(one, living),
        outlived,
    };
    living.iter().map(survivor).collect()
}
