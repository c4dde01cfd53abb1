//! The caller's environment and words: what there is, which of the seed's variables are known, which values are keys.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// The caller's environment.
pub(crate) fn environment() -> BTreeMap<OsString, OsString> {
    std::env::vars_os().collect()
}

/// The seed's own variables, each of which has to reach a container (RUN-17).
pub(crate) const E2E: [&str; 7] = [
    "E2E_ISOLATION",
    "E2E_EXPECT",
    "E2E_EXPECT_FAIL_MATCH",
    "E2E_RESUME_PROOF",
    "E2E_NORMALISE",
    "E2E_SIGNAL_RUNNER",
    "E2E_SIGNAL_AFTER_MS",
];

/// The words behind the program's name.
pub(crate) fn words() -> Vec<OsString> {
    std::env::args_os().skip(1).collect()
}

/// How the name of a variable ends that holds a key.
const KEY_NAMES: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS"];

/// How long a value is at the least to be taken for a key: a shorter word can stand in any text by chance.
const KEY_LENGTH: usize = 12;

/// The keys in the caller's environment: the values of variables that are called so, paths left out.
pub(crate) fn keys() -> Vec<String> {
    keys_of(&environment())
}

fn keys_of(environment: &BTreeMap<OsString, OsString>) -> Vec<String> {
    let named = environment.iter().filter(|(name, _)| {
        let name = name.to_string_lossy().to_uppercase();
        KEY_NAMES.iter().any(|ending| name.ends_with(ending))
    });
    named
        .map(|(_, value)| value.to_string_lossy().into_owned())
        .filter(|value| value.len() >= KEY_LENGTH && !value.starts_with('/'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{E2E, keys_of};

    #[test]
    fn the_container_hands_every_variable_in_and_never_the_owners_opt_in() {
        let script = include_str!("../../../container/e2e");
        let handed: Vec<&str> = script
            .lines()
            .flat_map(|line| line.split("--env ").skip(1))
            .filter_map(|rest| rest.split([' ', '\\']).next())
            .collect();
        assert_eq!(handed, E2E);
        assert!(!script.contains("DSH_E2E_HOST_DAEMON"));
    }

    #[test]
    fn no_variable_is_read_that_is_not_in_the_list() {
        let sources = [
            include_str!("../enclosed.rs"),
            include_str!("../run/expect.rs"),
            include_str!("../../../harness/src/host.rs"),
        ];
        for source in sources {
            for rest in source.split("E2E_").skip(1) {
                let is_in_name = |c: char| c.is_ascii_uppercase() || c == '_';
                let end = rest.find(|c| !is_in_name(c)).unwrap();
                // What begins all of them, and the owner's opt-in, which is no one of them.
                if !["", "HOST_DAEMON"].contains(&&rest[..end]) {
                    let name = format!("E2E_{}", &rest[..end]);
                    assert!(E2E.contains(&name.as_str()), "{name}");
                }
            }
        }
    }

    #[test]
    fn a_key_is_known_by_the_name_of_its_variable() {
        let environment = [
            ("DEEPSEEK_API_KEY", "sk-0123456789"),
            ("github_token", "ghp-0123456789"),
            ("SSL_KEY", "/etc/ssl/private.key"),
            ("SHORT_KEY", "a"),
            ("PATH", "/usr/local/bin:/usr/bin"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .into();
        assert_eq!(keys_of(&environment), ["sk-0123456789", "ghp-0123456789"]);
    }
}
