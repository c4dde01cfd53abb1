//! The owner's opt-in to a run against the daemon that their own sessions use: a PID, typed by hand.
//!
//! Called by the guard alone. The PID changes at every restart of the daemon, which is the point: no recipe, alias or
//! history entry can run the suite again. It must never be read from a file nor handed to a child.

use std::fmt;

use serde::Serialize;

use super::{GuardError, Isolation, Request};

/// The PID that the owner named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct OptIn(u32);

impl OptIn {
    /// The PID.
    pub fn pid(self) -> u32 {
        self.0
    }
}

impl fmt::Display for OptIn {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.0)
    }
}

/// Reads `DSH_E2E_HOST_DAEMON` and what may stand beside it.
pub(super) fn read(
    value: &str,
    isolation: Isolation,
    request: &Request,
) -> Result<OptIn, GuardError> {
    let opt_in = pid(value).ok_or_else(|| GuardError::OptInShape {
        value: value.to_owned(),
    })?;
    if isolation != Isolation::Namespace {
        return Err(GuardError::OptInIsolation);
    }
    if request.repeat != 1 {
        return Err(GuardError::OptInRepeat {
            times: request.repeat,
        });
    }
    match request.jobs {
        None | Some(1) => Ok(opt_in),
        Some(jobs) => Err(GuardError::OptInJobs { jobs }),
    }
}

/// A plain decimal PID: digits alone, no leading zero, within what a PID can be.
fn pid(value: &str) -> Option<OptIn> {
    let is_plain = value.bytes().all(|byte| byte.is_ascii_digit()) && !value.starts_with('0');
    // A PID is a positive `pid_t`, which is a signed 32-bit number on Linux.
    let pid: i32 = value.parse().ok().filter(|_| is_plain)?;
    u32::try_from(pid).ok().filter(|pid| *pid > 0).map(OptIn)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::pid;

    #[track_caller]
    fn check(value: &str, expected: Option<u32>) {
        assert_eq!(pid(value).map(super::OptIn::pid), expected, "`{value}`");
    }

    #[test]
    fn only_a_plain_decimal_number_is_a_pid() {
        check("48103", Some(48103));
        check("2147483647", Some(2_147_483_647));
        for value in [
            "",
            "0",
            "048103",
            " 48103",
            "48103 ",
            "48103\n",
            "+1",
            "-1",
            "true",
            "4_8",
            "0x10",
            "1e3",
            "2147483648",
            "٣",
        ] {
            check(value, None);
        }
    }

    proptest! {
        #[test]
        fn a_value_is_taken_exactly_if_it_is_how_its_number_is_written(value in "[ +0-9a-f]{0,11}") {
            let written = value.parse::<i32>().ok().filter(|number| *number > 0 && number.to_string() == value);
            prop_assert_eq!(pid(&value).map(super::OptIn::pid), written.map(i32::unsigned_abs));
        }
    }
}
