//! The environment of a command: what is inherited, what is taken out, what is put in, and in which order.
//!
//! Called for every bash child, hook and MCP server. It is pure: the order of the layers is this file and nothing else.
//! A managed value must never be displaced by anything but the overlay, and a missing one must never be inherited.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::revision::Revision;

/// The one source of the namespace that the harness manages.
pub const MANAGED_PREFIX: &str = "DSH_";
/// The id of the session that owns a call.
pub const SESSION_ID: &str = "DSH_SESSION_ID";
/// The log of that session, where there is one.
pub const SESSION_JSONL: &str = "DSH_SESSION_JSONL";
/// The home of the harness.
pub const HOME: &str = "DSH_HOME";
/// The mark of a child that the harness manages.
pub const SHELL: &str = "DSH_SHELL";

/// What a command without a terminal is told about terminals: no pager, no colour (as dsh sets them).
pub const TERMINAL: [(&str, &str); 4] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
];

/// Words that make a name look like a credential when one of its parts between underscores is one of them.
const CREDENTIAL_WORDS: [&str; 8] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "CREDENTIAL",
    "CREDENTIALS",
    "APIKEY",
];

/// Names and values, sorted by name; bytes as the system has them.
pub type Environment = BTreeMap<OsString, OsString>;

/// The managed values of one call, fixed when it is dispatched.
pub type Overlay = BTreeMap<String, String>;

/// Everything that makes up the environment of one command.
#[derive(Debug, Clone, Copy)]
pub struct Layers<'a> {
    /// The environment of this process.
    pub ambient: &'a Environment,
    /// What an in-process caller sets explicitly.
    pub explicit: &'a Environment,
    /// The managed values.
    pub overlay: &'a Overlay,
    /// Which names are managed.
    pub revision: Revision,
}

/// The environment of a command: ambient less managed names and credentials, terminal settings, explicit entries, and
/// the overlay last.
pub fn of_command(layers: &Layers<'_>) -> Environment {
    let mut environment = inherited(layers.ambient, layers.revision);
    environment.extend(TERMINAL.map(|(name, value)| (name.into(), value.into())));
    let explicit = layers
        .explicit
        .iter()
        .filter(|(name, _)| !is_absent_fact(name, layers));
    environment.extend(explicit.map(|(name, value)| (name.clone(), value.clone())));
    environment.extend(
        layers
            .overlay
            .iter()
            .map(|(name, value)| (name.into(), value.into())),
    );
    environment
}

/// What a child may inherit at all. Hooks and MCP servers get this and none of the facts.
pub fn inherited(ambient: &Environment, revision: Revision) -> Environment {
    let kept = ambient
        .iter()
        .filter(|(name, _)| !is_managed(name, revision) && !is_credential(name));
    kept.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Whether a name is one that the harness alone may set: any with the prefix, in any case, also as an exported shell
/// function. The RFC manages two names only.
pub fn is_managed(name: &OsStr, revision: Revision) -> bool {
    let bytes = name.as_encoded_bytes();
    if !revision.has_registry() {
        return bytes == SESSION_ID.as_bytes() || bytes == SESSION_JSONL.as_bytes();
    }
    // How bash exports a function: `BASH_FUNC_name%%` (bash 4.3 and later).
    let bytes = bytes.strip_prefix(b"BASH_FUNC_").unwrap_or(bytes);
    let prefix = MANAGED_PREFIX.as_bytes();
    bytes.len() >= prefix.len() && bytes[..prefix.len()].eq_ignore_ascii_case(prefix)
}

/// Whether a name looks like a credential.
pub fn is_credential(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let upper = name.to_ascii_uppercase();
    upper
        .split('_')
        .any(|word| CREDENTIAL_WORDS.contains(&word))
}

/// The RFC's overlay travels among the explicit entries, so one of its two names that is absent now stays absent.
fn is_absent_fact(name: &OsStr, layers: &Layers<'_>) -> bool {
    !layers.revision.has_registry() && is_managed(name, layers.revision)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(entries: &[(&str, &str)]) -> Environment {
        entries
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    #[track_caller]
    fn check(
        ambient: &[(&str, &str)],
        explicit: &[(&str, &str)],
        overlay: &[(&str, &str)],
        expected: &[(&str, &str)],
    ) {
        let overlay: Overlay = overlay
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let mut made = of_command(&Layers {
            ambient: &environment(ambient),
            explicit: &environment(explicit),
            overlay: &overlay,
            revision: Revision::Note,
        });
        for (name, value) in TERMINAL {
            if made.get(OsStr::new(name)).is_some_and(|seen| seen == value) {
                made.remove(OsStr::new(name));
            }
        }
        assert_eq!(made, environment(expected));
    }

    #[test]
    fn every_inherited_managed_name_is_gone_in_any_case_and_form() {
        let planted = [
            ("DSH_STALE", "x"),
            ("DSH_EMPTY", ""),
            ("DSH_", "bare"),
            ("dsh_lower", "x"),
            ("Dsh_Mixed", "x"),
            ("DSH_LINES", "a\nb"),
            ("BASH_FUNC_DSH_F%%", "() { :; }"),
        ];
        check(&planted, &[], &[], &[]);
        check(
            &[("DSHX", "kept"), ("XDSH_A", "kept")],
            &[],
            &[],
            &[("DSHX", "kept"), ("XDSH_A", "kept")],
        );
    }

    #[test]
    fn a_name_that_looks_like_a_credential_is_not_inherited() {
        check(
            &[
                ("FAKE_KEY", "x"),
                ("my_secret_token", "x"),
                ("MONKEY", "kept"),
                ("AWS_X", "kept"),
            ],
            &[],
            &[],
            &[("MONKEY", "kept"), ("AWS_X", "kept")],
        );
    }

    #[test]
    fn a_later_layer_wins_and_the_overlay_is_last() {
        check(
            &[("TERM", "xterm"), ("A", "ambient"), (SHELL, "0")],
            &[
                ("TERM", "mine"),
                ("A", "explicit"),
                (SHELL, "2"),
                ("DSH_FREE", "explicit"),
            ],
            &[(SHELL, "1")],
            &[
                ("TERM", "mine"),
                ("A", "explicit"),
                (SHELL, "1"),
                ("DSH_FREE", "explicit"),
            ],
        );
    }

    #[test]
    fn a_managed_key_that_looks_like_a_credential_survives() {
        check(
            &[("DSH_MY_TOKEN", "stale")],
            &[],
            &[("DSH_MY_TOKEN", "fresh")],
            &[("DSH_MY_TOKEN", "fresh")],
        );
    }

    #[test]
    fn the_rfc_manages_its_two_names_only() {
        let ambient = environment(&[
            (SESSION_ID, "stale"),
            (SESSION_JSONL, "/stale"),
            ("DSH_OTHER", "kept"),
        ]);
        assert_eq!(
            inherited(&ambient, Revision::Rfc),
            environment(&[("DSH_OTHER", "kept")])
        );
    }
}
