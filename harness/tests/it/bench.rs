//! A warden, a supervisor and a folder for one test, and the program that carries the hidden verbs.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use harness::{
    clock::Moment,
    gate::{Gate, Waiting, wait},
    supervise::{
        Said, Supervisor, Warden, WardenProgram,
        notice::{Ended, Notice, Status},
        order::{Key, Launch, OUTPUT_LIMIT, Order, Stdin},
        process::ProcessId,
    },
};

/// How long any one notice may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// The program with the hidden verbs; cargo builds examples before it runs tests.
pub(crate) fn verbs() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("examples/verbs");
    assert!(
        program.exists(),
        "{} is missing; type: cargo build -p harness --example verbs",
        program.display()
    );
    program
}

pub(crate) struct Bench {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) warden: Warden,
    pub(crate) one: Supervisor,
    /// Pid and start time of the supervisor.
    pub(crate) supervisor: ProcessId,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let warden = start_warden();
        let mut one = warden.supervisor("one").unwrap();
        let supervisor = match next(&mut one).await.notice {
            Notice::Ready { process } => process,
            other => panic!("not ready: {other:?}"),
        };
        Self {
            dir,
            warden,
            one,
            supervisor,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(crate) fn order(&self, order: Order) {
        self.one.order(order).unwrap();
    }

    /// Starts a shell script under `key`, its output in `<key>.out` and `<key>.err`.
    pub(crate) async fn start(&mut self, key: &str, script: &str) -> ProcessId {
        self.order(Order::Start {
            key: Key(key.into()),
            launch: shell(self.dir.path(), key, script),
        });
        self.until(|notice| match notice {
            Notice::Started { process, .. } => Some(*process),
            _ => None,
        })
        .await
    }

    /// Waits for a notice, skipping others.
    pub(crate) async fn until<T>(&mut self, wanted: impl Fn(&Notice) -> Option<T>) -> T {
        loop {
            let said = next(&mut self.one).await;
            if let Some(found) = wanted(&said.notice) {
                return found;
            }
        }
    }

    pub(crate) async fn exited(&mut self, key: &str) -> Status {
        self.until(|notice| match notice {
            Notice::Exited { key: of, status } if of.0 == key => Some(*status),
            _ => None,
        })
        .await
    }

    /// Waits until `n` processes of the tree are `program`: a child is its parent's copy until it has exec'd.
    pub(crate) async fn tree_has(&mut self, n: usize, program: &str) {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = Vec::new();
        while Instant::now() < deadline {
            self.order(Order::Tree);
            seen = self
                .until(|notice| match notice {
                    Notice::Snapshot { processes } => Some(processes.clone()),
                    _ => None,
                })
                .await;
            if seen.iter().filter(|one| one.argv[0] == program).count() == n {
                return;
            }
        }
        panic!("{n} of {program} were not seen; last: {seen:?}");
    }

    /// Waits until a file is there and has a whole line.
    pub(crate) async fn file(&self, name: &str) -> String {
        let path = self.path(name);
        let gate = Gate {
            what: name,
            within: PATIENCE,
            every: Duration::from_millis(2),
        };
        let check = || match std::fs::read_to_string(&path) {
            Ok(text) if text.ends_with('\n') => Waiting::Ready(text),
            other => Waiting::NotYet(format!("{other:?}")),
        };
        wait(gate, check).await.unwrap()
    }

    /// Orders the end; gives the last word and what was said before it.
    pub(crate) async fn end(&mut self, grace: Duration) -> (Ended, Vec<Notice>) {
        self.order(Order::End {
            grace_ms: u64::try_from(grace.as_millis()).unwrap(),
        });
        self.ended().await
    }

    pub(crate) async fn ended(&mut self) -> (Ended, Vec<Notice>) {
        let mut before = Vec::new();
        loop {
            match next(&mut self.one).await.notice {
                Notice::Ended(ended) => return (ended, before),
                other => before.push(other),
            }
        }
    }
}

pub(crate) fn start_warden() -> Warden {
    Warden::start(
        WardenProgram {
            program: &verbs(),
            verb: "warden",
        },
        Moment::now(),
    )
    .unwrap()
}

pub(crate) async fn next(supervisor: &mut Supervisor) -> Said {
    let said = tokio::time::timeout(PATIENCE, supervisor.next()).await;
    said.expect("a notice within the deadline")
        .expect("a notice before the stream's end")
}

pub(crate) fn shell(dir: &Path, key: &str, script: &str) -> Launch {
    Launch {
        argv: vec!["/bin/sh".into(), "-c".into(), script.into()],
        env: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
        cwd: dir.to_owned(),
        stdin: Stdin::Null,
        stdout: dir.join(format!("{key}.out")),
        stderr: dir.join(format!("{key}.err")),
        limit: OUTPUT_LIMIT,
    }
}

/// Waits until a process is gone.
pub(crate) async fn gone(process: ProcessId) {
    let gate = Gate {
        what: "its end",
        within: PATIENCE,
        every: Duration::from_millis(2),
    };
    let check = || {
        if process.is_alive() {
            Waiting::NotYet(format!("{process:?} runs"))
        } else {
            Waiting::Ready(())
        }
    };
    wait(gate, check).await.unwrap();
}

/// The survivors told, as `what: last word of argv`.
pub(crate) fn survivors(notices: &[Notice]) -> Vec<String> {
    let mut named: Vec<String> = notices
        .iter()
        .filter_map(|notice| match notice {
            Notice::Survivor {
                process, outlived, ..
            } => Some(format!("{outlived:?}: {}", process.argv.join(" "))),
            _ => None,
        })
        .collect();
    named.sort();
    named
}
