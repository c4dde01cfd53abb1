//! What the fake was started with: name, generation, faults, clock and a snapshot of the environment.
//!
//! The only reader of the process environment. Nothing here touches the disk.

use std::collections::BTreeMap;
use std::ffi::OsString;

use thiserror::Error;

use crate::fault::Faults;
use crate::generation::Generation;
use crate::time::Clock;

/// The generation to imitate; `--as` wins over it.
pub(crate) const AS_VARIABLE: &str = "FAKE_PLUMB_AS";

/// Everything a command needs to know about how it was started.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// `argv[0]` as given; a daemon started by serve is called the same.
    pub(crate) argv0: OsString,
    pub(crate) generation: Generation,
    pub(crate) faults: Faults,
    pub(crate) clock: Clock,
    vars: BTreeMap<String, String>,
}

/// A variable of the fake's own that cannot be understood.
#[derive(Debug, Error)]
pub(crate) enum SettingError {
    #[error(
        "generation \"{value}\" is not imitated; {AS_VARIABLE} and --as take 0.17, 0.24 or 0.25"
    )]
    Generation { value: String },
    #[error(
        "fault \"{name}\" is not known; FAKE_PLUMB_FAULTS takes a comma-separated list of {known}"
    )]
    Fault { name: String, known: String },
    #[error("clock factor \"{value}\" is not a number above zero; correct FAKE_PLUMB_CLOCK")]
    Clock { value: String },
}

impl Setting {
    /// Reads the environment of this process. `generation` is the value of `--as`.
    pub(crate) fn from_process(
        argv0: OsString,
        generation: Option<&str>,
    ) -> Result<Self, SettingError> {
        let vars = std::env::vars_os()
            .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Self::read(argv0, generation, vars)
    }

    fn read(
        argv0: OsString,
        generation: Option<&str>,
        vars: BTreeMap<String, String>,
    ) -> Result<Self, SettingError> {
        let var = |name: &str| {
            vars.get(name)
                .map(String::as_str)
                .filter(|value| !value.is_empty())
        };
        let generation = match generation.or(var(AS_VARIABLE)) {
            None => Generation::default(),
            Some(value) => Generation::parse(value).ok_or_else(|| SettingError::Generation {
                value: value.to_owned(),
            })?,
        };
        let faults =
            Faults::parse(var("FAKE_PLUMB_FAULTS").unwrap_or_default()).map_err(|name| {
                SettingError::Fault {
                    name,
                    known: Faults::all_names(),
                }
            })?;
        let clock = match var("FAKE_PLUMB_CLOCK") {
            None => Clock::default(),
            Some(value) => Clock::parse(value).ok_or_else(|| SettingError::Clock {
                value: value.to_owned(),
            })?,
        };
        Ok(Self {
            argv0,
            generation,
            faults,
            clock,
            vars,
        })
    }

    /// A variable that is set and not empty.
    pub(crate) fn var(&self, name: &str) -> Option<&str> {
        self.vars
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    #[cfg(test)]
    pub(crate) fn for_test(vars: &[(&str, &str)]) -> Self {
        let vars = vars
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        Self::read(OsString::from("fake-plumb"), None, vars).unwrap()
    }
}
