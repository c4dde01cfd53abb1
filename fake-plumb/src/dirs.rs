//! Where plumb keeps what: the layout of the facts, section 1, as data.
//!
//! Called by every command but `version`. It creates nothing, and it refuses the real account's own folders:
//! they may hold the owner's plumb.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::{User, getuid};
use thiserror::Error;

use crate::setting::Setting;

/// The home that stands for the OS account's in tests.
pub(crate) const ACCOUNT_HOME: &str = "FAKE_PLUMB_ACCOUNT_HOME";

/// Who decides where things are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Authority {
    /// The OS account: HOME and XDG are ignored, and a daemon needs a service profile.
    Account,
    /// HOME and XDG variables.
    Environment,
}

/// The folders of one plumb; each ends in `plumb`.
#[derive(Clone, Debug)]
pub(crate) struct Dirs {
    pub(crate) config: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) cache: PathBuf,
    pub(crate) runtime: PathBuf,
    pub(crate) authority: Authority,
}

/// Why there is no place to work in.
#[derive(Debug, Error)]
pub(crate) enum DirsError {
    #[error("HOME is not set and nothing else says where plumb's folders are; set HOME")]
    NoHome,
    #[error(
        "refusing to work in {path}: it is the account's own plumb folder, and a fake does not touch it; \
         set {ACCOUNT_HOME} to a folder of your own, or PLUMB_ACCOUNT_AUTHORITY=false with a private HOME"
    )]
    RealAccount { path: PathBuf },
}

impl Dirs {
    /// Works out the layout for `setting`.
    pub(crate) fn resolve(setting: &Setting) -> Result<Self, DirsError> {
        let account = User::from_uid(getuid()).ok().flatten().map(|user| user.dir);
        Self::resolve_beside(setting, account.as_deref())
    }

    fn resolve_beside(setting: &Setting, account: Option<&Path>) -> Result<Self, DirsError> {
        let by_account = setting.generation.has_account_authority()
            && setting.var("PLUMB_ACCOUNT_AUTHORITY") != Some("false");
        let dirs = if by_account {
            let home = setting
                .var(ACCOUNT_HOME)
                .map(Path::new)
                .or(account)
                .ok_or(DirsError::NoHome)?;
            Self::under(home, Authority::Account, &|_| None)
        } else {
            let xdg = |name: &str| {
                setting
                    .var(name)
                    .map(PathBuf::from)
                    .filter(|path| path.is_absolute())
            };
            let home = setting
                .var("HOME")
                .map(Path::new)
                .ok_or(DirsError::NoHome)?;
            Self::under(home, Authority::Environment, &xdg)
        };
        let real = account.map(|home| Self::under(home, Authority::Account, &|_| None));
        match real.filter(|real| real.data == dirs.data || real.runtime == dirs.runtime) {
            Some(real) => Err(DirsError::RealAccount { path: real.data }),
            None => Ok(dirs),
        }
    }

    fn under(home: &Path, authority: Authority, xdg: &dyn Fn(&str) -> Option<PathBuf>) -> Self {
        let folder = |name: &str, default: &str| {
            xdg(name)
                .unwrap_or_else(|| home.join(default))
                .join("plumb")
        };
        let cache = folder("XDG_CACHE_HOME", ".cache");
        let runtime = xdg("XDG_RUNTIME_DIR").filter(|dir| is_private(dir));
        Self {
            config: folder("XDG_CONFIG_HOME", ".config"),
            data: folder("XDG_DATA_HOME", ".local/share"),
            state: folder("XDG_STATE_HOME", ".local/state"),
            runtime: runtime.map_or_else(|| cache.clone(), |dir| dir.join("plumb")),
            cache,
            authority,
        }
    }

    pub(crate) fn sessions(&self) -> PathBuf {
        self.data.join("sessions")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.state.join("daemon.log")
    }

    /// The append-only list of what tool calls did.
    pub(crate) fn effects(&self) -> PathBuf {
        self.state.join("effects.jsonl")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.runtime.join("plumb.sock")
    }

    pub(crate) fn control(&self) -> PathBuf {
        self.runtime.join("plumb.ctrl.sock")
    }

    pub(crate) fn pidfile(&self) -> PathBuf {
        self.runtime.join("plumb.pid")
    }

    pub(crate) fn version_file(&self) -> PathBuf {
        self.runtime.join("plumb.version")
    }

    pub(crate) fn daemon_lock(&self) -> PathBuf {
        self.runtime.join("plumb.daemon.lock")
    }

    pub(crate) fn spawn_lock(&self) -> PathBuf {
        self.runtime.join("plumb.spawn.lock")
    }

    /// What `service install` writes.
    pub(crate) fn service_profile(&self) -> PathBuf {
        self.config.join("service.json")
    }
}

/// plumb trusts a runtime directory only if it is ours and has mode exactly 0700.
fn is_private(dir: &Path) -> bool {
    std::fs::metadata(dir).is_ok_and(|meta| {
        meta.is_dir() && meta.uid() == getuid().as_raw() && meta.mode() & 0o7777 == 0o700
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(vars: &[(&str, &str)]) -> Result<Dirs, DirsError> {
        Dirs::resolve_beside(&Setting::for_test(vars), Some(Path::new("/home/owner")))
    }

    #[test]
    fn the_account_decides_unless_told_otherwise() {
        let dirs = resolve(&[
            (ACCOUNT_HOME, "/a"),
            ("HOME", "/b"),
            ("XDG_DATA_HOME", "/c"),
        ])
        .unwrap();
        assert_eq!(dirs.sessions(), Path::new("/a/.local/share/plumb/sessions"));
        let dirs = resolve(&[
            ("PLUMB_ACCOUNT_AUTHORITY", "false"),
            ("HOME", "/b"),
            ("XDG_DATA_HOME", "/c"),
        ])
        .unwrap();
        assert_eq!(dirs.sessions(), Path::new("/c/plumb/sessions"));
        assert_eq!(dirs.socket(), Path::new("/b/.cache/plumb/plumb.sock"));
    }

    #[test]
    fn the_owners_own_folders_are_refused_on_every_way_to_them() {
        for vars in [
            &[("HOME", "/b")][..],
            &[("FAKE_PLUMB_AS", "0.17"), ("HOME", "/home/owner")],
            &[
                ("PLUMB_ACCOUNT_AUTHORITY", "false"),
                ("HOME", "/home/owner"),
            ],
            &[
                ("PLUMB_ACCOUNT_AUTHORITY", "false"),
                ("HOME", "/b"),
                ("XDG_CACHE_HOME", "/home/owner/.cache"),
            ],
        ] {
            assert!(
                matches!(resolve(vars), Err(DirsError::RealAccount { .. })),
                "{vars:?}"
            );
        }
    }

    #[test]
    fn a_runtime_directory_counts_only_if_it_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_str().unwrap();
        let vars = [
            ("PLUMB_ACCOUNT_AUTHORITY", "false"),
            ("HOME", "/b"),
            ("XDG_RUNTIME_DIR", path),
        ];
        let mode = |mode| {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(dir.path(), mode).unwrap();
        };
        mode(0o755);
        assert_eq!(
            resolve(&vars).unwrap().runtime,
            Path::new("/b/.cache/plumb")
        );
        mode(0o700);
        assert_eq!(resolve(&vars).unwrap().runtime, dir.path().join("plumb"));
    }
}
