//! A world of its own for each call of the binary: home, temporary folder and working folder, and nothing else in the
//! environment. Beside it lies a stand-in for plumb whose answers are files.

use std::fmt;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

/// The folders of one test.
pub(crate) struct World {
    folder: tempfile::TempDir,
}

/// What a call gave.
#[must_use]
pub(crate) struct Told {
    pub(crate) exit: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl fmt::Display for Told {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "exit {:?}\n--- stdout\n{}\n--- stderr\n{}",
            self.exit, self.out, self.err
        )
    }
}

impl World {
    /// Makes the folders.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["w/home", "w/tmp", "w/cwd", "plumb"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts the stand-in for plumb there, one that could be used: namespaces, a daemon, no namespace yet.
    pub(crate) fn stand_in(&self) -> PathBuf {
        let program = self.path("plumb/plumb");
        symlink(
            concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../harness/tests/stand-ins/plumb"
            ),
            &program,
        )
        .unwrap();
        let path = |name: &str| self.path("plumb").join(name).display().to_string();
        let service = serde_json::json!({
            "session_dir": path("sessions"), "state_dir": path("state"), "log": path("log"),
            "socket": path("plumb.sock"),
        });
        self.answer("version", "plumb v0.26.0 (stand-in)\n");
        self.answer(
            "namespace --help",
            "plumb namespace create\nplumb namespace release\n",
        );
        self.answer("namespace list --json", "[]\n");
        self.answer("service show --json", &service.to_string());
        program
    }

    /// What the stand-in answers to a command.
    pub(crate) fn answer(&self, words: &str, text: &str) {
        fs::write(self.path("plumb").join(words.replace(' ', ".")), text).unwrap();
    }

    /// Makes the stand-in fail at a command.
    pub(crate) fn fail(&self, words: &str, text: &str) {
        let name = words.replace(' ', ".");
        fs::remove_file(self.path("plumb").join(&name)).ok();
        fs::write(self.path("plumb").join(format!("{name}.failed")), text).unwrap();
    }

    /// Makes the stand-in not know a command.
    pub(crate) fn forget(&self, words: &str) {
        fs::remove_file(self.path("plumb").join(words.replace(' ', "."))).unwrap();
    }

    /// The commands that the stand-in was given.
    pub(crate) fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.path("plumb/calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    /// Calls the binary with the given variables and nothing else.
    pub(crate) fn call(&self, args: &[&str], env: &[(&str, &str)]) -> Told {
        let Output {
            status,
            stdout,
            stderr,
        } = assert_cmd::Command::new(env!("CARGO_BIN_EXE_dsh-e2e"))
            .args(args)
            .env_clear()
            .env("HOME", self.path("w/home"))
            .env("TMPDIR", self.path("w/tmp"))
            .envs(env.iter().copied())
            .current_dir(self.path("w/cwd"))
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Told {
            exit: status.code(),
            out: text(stdout),
            err: text(stderr),
        }
    }

    /// Calls the binary, which has to refuse with `part` among its words and leave no trace.
    #[track_caller]
    pub(crate) fn refused(&self, args: &[&str], env: &[(&str, &str)], part: &str) {
        let before = self.listing();
        let told = self.call(args, env);
        assert_eq!(told.exit, Some(2), "{told}");
        assert!(told.err.contains(part), "no `{part}` in {told}");
        assert!(told.err.contains("\n\nhint: "), "{told}");
        assert_eq!(told.out, "");
        assert_eq!(self.listing(), before, "something was created");
    }

    /// Every path below home, temporary and working folder.
    pub(crate) fn listing(&self) -> Vec<PathBuf> {
        fn walk(folder: &Path, into: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    walk(&path, into);
                }
                into.push(path);
            }
        }
        let mut found = Vec::new();
        walk(&self.path("w"), &mut found);
        found.sort();
        found
    }
}
