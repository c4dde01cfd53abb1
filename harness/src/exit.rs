//! The whole list of exit codes. `main` maps a result to one of these and does nothing else.

use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything was as expected.
    AsExpected,
    /// A scenario failed, a control did not fail as stated, or the run was stopped.
    Unexpected,
    /// Refused: nothing was created.
    Refused,
    /// The harness broke.
    Broken,
    /// Nothing was checked, which is no success.
    NothingChecked,
    /// A signal ended the run, after its teardown.
    Signalled(u8),
}

impl Exit {
    /// The number that the shell sees.
    pub fn number(self) -> u8 {
        match self {
            Self::AsExpected => 0,
            Self::Unexpected => 1,
            Self::Refused => 2,
            Self::Broken => 3,
            Self::NothingChecked => 4,
            Self::Signalled(signal) => 128_u8.saturating_add(signal),
        }
    }
}

impl Exit {
    /// The end that a number stands for, where one of our own programs ended so.
    pub fn of_number(number: u8) -> Self {
        match number {
            0 => Self::AsExpected,
            1 => Self::Unexpected,
            2 => Self::Refused,
            4 => Self::NothingChecked,
            129.. => Self::Signalled(number - 128),
            _ => Self::Broken,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}
