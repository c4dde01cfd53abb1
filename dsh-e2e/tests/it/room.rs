//! A room for one test: private HOME, TMPDIR, root and results; the shipped binary in a cleared environment.
//!
//! The cache of builds is the account's own, so that a pinned dsh is fetched once for all tests and runs.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long a test waits for something that must happen: many times what it takes on a loaded machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// One test's folders.
pub(crate) struct Room {
    folder: TempDir,
    cache: PathBuf,
}

/// What a finished program said.
#[must_use]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "exit {:?}\n--- out\n{}\n--- err\n{}",
            self.code, self.out, self.err
        )
    }
}

impl Room {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("it-")
            .tempdir()
            .expect("a temporary folder can be made");
        for sub in ["home", "tmp", "r", "out"] {
            std::fs::create_dir(folder.path().join(sub)).expect("the room is writable");
        }
        let home = std::env::var_os("HOME")
            .map(PathBuf::from)
            .unwrap_or_default();
        let cache = std::env::var_os("XDG_CACHE_HOME").map_or(home.join(".cache"), PathBuf::from);
        Self {
            folder,
            cache: cache.join("dsh-e2e"),
        }
    }

    pub(crate) fn path(&self, sub: &str) -> PathBuf {
        self.folder.path().join(sub)
    }

    /// The binary, with nothing of the caller's environment but a PATH.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dsh-e2e"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .current_dir(self.path("out"))
            .stdin(Stdio::null());
        command
    }

    /// `run` with the room's folders.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.command();
        command
            .arg("run")
            .arg("--cache")
            .arg(&self.cache)
            .arg("--root")
            .arg(self.path("r"))
            .arg("--out")
            .arg(self.path("out/results"))
            .args(args);
        command
    }

    /// Evidence of a run of the default build.
    pub(crate) fn evidence(&self, id: &str) -> PathBuf {
        self.path("out/results/latest/0.2.1").join(id)
    }

    /// Processes that have anything of this room in their command line or as their working directory.
    pub(crate) fn processes(&self) -> BTreeSet<String> {
        let room = self.folder.path().display().to_string();
        let mut found = BTreeSet::new();
        for process in procfs::process::all_processes()
            .expect("/proc can be read")
            .flatten()
        {
            let argv = process.cmdline().unwrap_or_default().join(" ");
            let cwd = process.cwd().unwrap_or_default();
            if process.pid() != i32::try_from(std::process::id()).unwrap_or(0)
                && (argv.contains(&room) || cwd.starts_with(self.folder.path()))
            {
                found.insert(format!("{} {argv}", process.pid()));
            }
        }
        found
    }
}

/// Runs to the end.
pub(crate) fn said(command: &mut Command) -> Said {
    told(&command.output().expect("the program can be started"))
}

pub(crate) fn told(output: &Output) -> Said {
    Said {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Waits for a fact; panics with what was seen last.
#[track_caller]
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match look() {
            Ok(found) => return found,
            Err(seen) if Instant::now() > deadline => panic!("{what}: not seen; last: {seen}"),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// The only file below `folder` whose path ends so.
pub(crate) fn find(folder: &Path, ending: &str) -> Result<PathBuf, String> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.to_string_lossy().ends_with(ending) {
                return Ok(path);
            }
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            }
        }
    }
    Err(format!(
        "nothing below {} ends in {ending}",
        folder.display()
    ))
}
