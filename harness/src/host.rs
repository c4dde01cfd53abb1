//! What this machine and this call are, as data: the few facts that decide where the harness may run.
//!
//! Gathered once by the command line, which alone reads the environment, and made up by tests. It must never hold a
//! namespace token, only whether one was in the environment.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The files that a container engine leaves at the root of a Linux container: Docker's, and Podman's.
pub const CONTAINER_MARKERS: [&str; 2] = ["/.dockerenv", "/run/.containerenv"];

/// The variables that say where an account keeps its things.
const ACCOUNT: [&str; 6] = [
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
];

/// The machine, and what the caller's environment says of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostFacts {
    /// The operating system in Rust's words, such as `linux`.
    pub os: String,
    /// The working folder.
    pub cwd: PathBuf,
    /// The container markers that exist.
    pub markers: BTreeSet<PathBuf>,
    /// What the environment says.
    pub told: Told,
}

/// The variables that the guard reads. A value that is not text is kept with its odd bytes replaced, which no rule
/// accepts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Told {
    /// `GITHUB_ACTIONS`.
    pub github_actions: Option<String>,
    /// `PLUMB_SEPARATE_ENV`.
    pub separate_env: Option<String>,
    /// `E2E_ISOLATION`.
    pub isolation: Option<String>,
    /// `DSH_E2E_HOST_DAEMON`.
    pub host_daemon: Option<String>,
    /// `PLUMB_BIN`; an empty one counts as unset, as in the shell's own `${PLUMB_BIN:-…}`.
    pub plumb_bin: Option<PathBuf>,
    /// Whether `PLUMB_NAMESPACE` is there, which proves nothing.
    pub namespace: Presence,
    /// `PATH`.
    pub path: Option<OsString>,
    /// The account's own HOME and XDG roots, as far as they are set.
    pub account: BTreeMap<String, String>,
}

/// Whether a variable is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Presence {
    /// It is not.
    #[default]
    Absent,
    /// It is, whatever its value.
    Present,
}

impl HostFacts {
    /// Gathers the facts of this machine under the given environment.
    pub fn of_this_machine(env: &BTreeMap<OsString, OsString>) -> std::io::Result<Self> {
        let cwd = std::env::current_dir()?;
        Ok(Self::gather(env, std::env::consts::OS, cwd, &|marker| {
            marker.exists()
        }))
    }

    /// Gathers the facts of a machine that is described by the arguments.
    pub fn gather(
        env: &BTreeMap<OsString, OsString>,
        os: &str,
        cwd: PathBuf,
        exists: &dyn Fn(&Path) -> bool,
    ) -> Self {
        let raw = |name: &str| env.get(OsStr::new(name));
        let text = |name: &str| raw(name).map(|value| value.to_string_lossy().into_owned());
        let stated = |name: &str| text(name).filter(|value| !value.is_empty());
        Self {
            os: os.to_owned(),
            cwd,
            markers: CONTAINER_MARKERS
                .iter()
                .map(PathBuf::from)
                .filter(|marker| exists(marker))
                .collect(),
            told: Told {
                github_actions: text("GITHUB_ACTIONS"),
                separate_env: text("PLUMB_SEPARATE_ENV"),
                isolation: text("E2E_ISOLATION"),
                host_daemon: text("DSH_E2E_HOST_DAEMON"),
                plumb_bin: raw("PLUMB_BIN")
                    .filter(|value| !value.is_empty())
                    .map(PathBuf::from),
                namespace: if raw("PLUMB_NAMESPACE").is_some() {
                    Presence::Present
                } else {
                    Presence::Absent
                },
                path: raw("PATH").cloned(),
                account: ACCOUNT
                    .iter()
                    .filter_map(|name| Some(((*name).to_owned(), stated(name)?)))
                    .collect(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{HostFacts, Presence};

    #[test]
    fn the_facts_are_the_listed_variables_and_markers_and_never_a_token() {
        let env = [
            ("PLUMB_NAMESPACE", "nst-secret"),
            ("PLUMB_BIN", ""),
            ("HOME", "/h"),
            ("XDG_DATA_HOME", ""),
            ("GITHUB_ACTIONS", "true"),
            ("SOME_KEY", "sk-1"),
        ]
        .map(|(key, value)| (key.into(), value.into()))
        .into();
        let facts = HostFacts::gather(&env, "linux", PathBuf::from("/w"), &|marker| {
            marker == Path::new("/run/.containerenv")
        });

        assert_eq!(facts.told.namespace, Presence::Present);
        assert_eq!(facts.told.plumb_bin, None);
        assert_eq!(facts.told.github_actions.as_deref(), Some("true"));
        assert_eq!(facts.told.account.keys().collect::<Vec<_>>(), ["HOME"]);
        assert_eq!(facts.markers, [PathBuf::from("/run/.containerenv")].into());
        let shown = format!("{facts:?}");
        assert!(!shown.contains("nst-secret") && !shown.contains("sk-1"));
    }
}
