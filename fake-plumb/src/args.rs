//! The flags of one command, read as plumb reads them.
//!
//! Called by [`crate::cli`]. It knows no command: each gives its own [`Flags`].

use std::collections::BTreeMap;

use thiserror::Error;

/// The flags that a command has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flags {
    pub(crate) switches: &'static [&'static str],
    pub(crate) values: &'static [&'static str],
}

/// What was given.
#[derive(Debug, Default)]
pub(crate) struct Given {
    values: BTreeMap<&'static str, Vec<String>>,
    pub(crate) positional: Vec<String>,
    pub(crate) wants_help: bool,
}

/// A command line that the command does not take.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum ArgsError {
    #[error("unknown flag: {flag}")]
    UnknownFlag { flag: String },
    #[error("flag needs an argument: {flag}")]
    NeedsValue { flag: String },
}

impl Given {
    pub(crate) fn has(&self, switch: &str) -> bool {
        self.values.contains_key(switch)
    }

    /// The last value of a flag.
    pub(crate) fn value(&self, flag: &str) -> Option<&str> {
        self.all(flag).last().map(String::as_str)
    }

    /// Every value of a flag that can be repeated.
    pub(crate) fn all(&self, flag: &str) -> &[String] {
        self.values.get(flag).map_or(&[], Vec::as_slice)
    }
}

/// Reads `args` against `flags`. `--help` and `-h` are always known.
pub(crate) fn parse(args: &[String], flags: Flags) -> Result<Given, ArgsError> {
    let mut given = Given::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--help" || arg == "-h" {
            given.wants_help = true;
            continue;
        }
        let Some(name) = arg.strip_prefix("--").filter(|name| !name.is_empty()) else {
            given.positional.push(arg.clone());
            continue;
        };
        let (name, inline) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (name, None),
        };
        if let Some(known) = flags.switches.iter().find(|known| **known == name) {
            given.values.entry(known).or_default();
        } else if let Some(known) = flags.values.iter().find(|known| **known == name) {
            let value = inline.or_else(|| args.next().cloned());
            let value = value.ok_or_else(|| ArgsError::NeedsValue {
                flag: format!("--{name}"),
            })?;
            given.values.entry(known).or_default().push(value);
        } else {
            return Err(ArgsError::UnknownFlag {
                flag: format!("--{name}"),
            });
        }
    }
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: Flags = Flags {
        switches: &["json"],
        values: &["ttl"],
    };

    fn read(args: &[&str]) -> Result<Given, ArgsError> {
        parse(
            &args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>(),
            FLAGS,
        )
    }

    #[test]
    fn both_spellings_of_a_value_are_read_and_strangers_are_named() {
        assert_eq!(
            read(&["--ttl", "5m", "--json"]).unwrap().value("ttl"),
            Some("5m")
        );
        assert_eq!(read(&["--ttl=6m"]).unwrap().value("ttl"), Some("6m"));
        assert!(read(&["--json"]).unwrap().has("json") && !read(&[]).unwrap().has("json"));
        assert_eq!(
            read(&["--tll"]).unwrap_err().to_string(),
            "unknown flag: --tll"
        );
        assert_eq!(
            read(&["--ttl"]).unwrap_err().to_string(),
            "flag needs an argument: --ttl"
        );
    }
}
