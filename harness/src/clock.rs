//! The one clock: microseconds of `CLOCK_MONOTONIC`, which every process of a machine reads alike.
//!
//! Called by the supervisors, the tap, the probe and the runner. Processes write the absolute value and the runner
//! subtracts its own origin, so nobody has to be told when the run began. It must never be set against wall time.

use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// A moment, in microseconds of `CLOCK_MONOTONIC`, or since an origin once it went through [`Moment::since`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(pub u64);

impl Moment {
    /// Reads the clock; zero on a kernel without it, which does not exist on Linux.
    pub fn now() -> Self {
        let time =
            clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(std::time::Duration::ZERO, Into::into);
        Self(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
    }

    /// Gives this moment as a distance from `origin`; zero when it lies before.
    #[must_use]
    pub fn since(self, origin: Self) -> Self {
        Self(self.0.saturating_sub(origin.0))
    }
}
