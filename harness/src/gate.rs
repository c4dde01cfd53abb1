//! The gate: the one place of the runner that lets time pass.
//!
//! Called by the drive and the stage. It waits for a fact, with a deadline, and says what it saw last. It must never
//! be used to wait for time itself, nor where something can notify: a notice of a supervisor, a line of a journal.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// What one look found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waiting<T> {
    /// Not yet; what was seen instead, for the message.
    NotYet(String),
    /// It is so.
    Ready(T),
    /// It can no longer become so, and why.
    Failed(String),
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate<'a> {
    /// The fact, as a reader would say it: `session main declared`.
    pub what: &'a str,
    /// How long at most.
    pub within: Duration,
    /// How often it is looked for.
    pub every: Duration,
}

/// Why a gate did not open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// The deadline came first.
    #[error("{what}: not seen in {within:?}; last seen: {last_seen}")]
    TimedOut {
        /// The fact.
        what: String,
        /// How long it was waited for.
        within: Duration,
        /// What the last look saw.
        last_seen: String,
    },
    /// It became impossible.
    #[error("{what}: {why}")]
    Failed {
        /// The fact.
        what: String,
        /// Why it can no longer come.
        why: String,
    },
}

/// Looks until `check` has an answer or the deadline has passed; the last look is after the deadline, so a machine
/// that stood still does not turn a fact into a time-out.
pub async fn wait<T>(
    gate: Gate<'_>,
    mut check: impl FnMut() -> Waiting<T>,
) -> Result<T, GateError> {
    let deadline = Instant::now() + gate.within;
    loop {
        let is_last = Instant::now() >= deadline;
        match check() {
            Waiting::Ready(value) => return Ok(value),
            Waiting::Failed(why) => {
                return Err(GateError::Failed {
                    what: gate.what.to_owned(),
                    why,
                });
            }
            Waiting::NotYet(last_seen) if is_last => {
                return Err(GateError::TimedOut {
                    what: gate.what.to_owned(),
                    within: gate.within,
                    last_seen,
                });
            }
            Waiting::NotYet(_) => sleep_until(deadline.min(Instant::now() + gate.every)).await,
        }
    }
}

/// Lets the time until the next look pass; for a loop that waits for several things at once.
pub async fn pause(every: Duration) {
    sleep_until(Instant::now() + every).await;
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Gate, Waiting, wait};

    /// Opens at look `ready`, fails for good at look `failed`.
    async fn looked(ready: u32, failed: u32) -> String {
        let mut looks = 0;
        let gate = Gate {
            what: "a record",
            within: Duration::from_millis(20),
            every: Duration::from_millis(1),
        };
        let check = || {
            looks += 1;
            match looks {
                look if look == ready => Waiting::Ready(look),
                look if look == failed => Waiting::Failed("the process ended".into()),
                _ => Waiting::NotYet("0 records".into()),
            }
        };
        match wait(gate, check).await {
            Ok(look) => format!("look {look}"),
            Err(error) => error.to_string(),
        }
    }

    #[tokio::test]
    async fn a_gate_has_three_ends() {
        assert_eq!(looked(3, 0).await, "look 3");
        assert_eq!(looked(0, 2).await, "a record: the process ended");
        assert_eq!(
            looked(0, 0).await,
            "a record: not seen in 20ms; last seen: 0 records"
        );
    }
}
