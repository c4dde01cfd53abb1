//! A place for one test: folders of its own, a model, hosts in this process and runs of the program.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::rc::Rc;
use std::time::Duration;

use reference::environment::Environment;
use reference::fault::{Fault, Faults};
use reference::host::{self, Host, HostError};
use reference::model::client::Endpoint;
use reference::ops;
use reference::revision::Revision;
use reference::settings::{Persistence, Settings};
use serde_json::Value;

use super::model::Model;

/// A command that prints its environment without another process, for `Seen::variables` to read.
pub(crate) const SHOW: &str = "export -p";

/// The room.
#[derive(Debug)]
pub(crate) struct Room {
    root: tempfile::TempDir,
    /// The model.
    pub(crate) model: Model,
}

impl Room {
    /// An empty room with an obedient model.
    pub(crate) fn new() -> Self {
        Self::with(Model::obedient())
    }

    /// An empty room.
    pub(crate) fn with(model: Model) -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["ws", "user", "home/skills/greet"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        std::fs::write(root.path().join("home/skills/greet/SKILL.md"), "Say hello.").unwrap();
        Self { root, model }
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// What is planted in every environment.
    pub(crate) fn environment(&self) -> Environment {
        let user = self.path("user").display().to_string();
        let path = std::env::var("PATH").unwrap();
        let planted = [
            ("PATH", path.as_str()),
            ("HOME", &user),
            ("DSH_STALE", "stale"),
            ("DSH_EMPTY", ""),
            ("dsh_lower", "stale"),
            ("DSH_LINES", "one\ntwo"),
            ("DSH_SESSION_ID", "stale"),
            ("DSH_SESSION_JSONL", "/stale"),
            ("DSH_SHELL", "stale"),
            ("MY_TOKEN", "secret"),
            ("PLAIN", "plain"),
            ("PAGER", "less"),
        ];
        planted
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    /// Settings with an explicit home and plain logs.
    pub(crate) fn settings(&self, revision: Revision, faults: &[Fault]) -> Settings {
        Settings {
            revision,
            faults: faults.iter().copied().collect::<Faults>(),
            endpoint: Endpoint {
                base_url: self.model.url(),
                model: "m".to_owned(),
                key: None,
                idle: Duration::from_secs(20),
            },
            home: Some(self.path("home").into()),
            skills_home: None,
            persistence: Persistence::JsonlPlain,
            sessions_root: None,
            mcp: Vec::new(),
            hooks: None,
            cwd: self.path("ws"),
            environment: self.environment(),
        }
    }

    /// Executes operations in a host in this process, and gives their outcomes.
    pub(crate) fn execute(&self, settings: Settings, operations: &[Value]) -> Vec<Value> {
        hosted(settings, async |host| {
            self.outcomes(&host, operations).await
        })
        .unwrap()
    }

    /// Executes operations in a host, and gives their outcomes.
    pub(crate) async fn outcomes(&self, host: &Rc<Host>, operations: &[Value]) -> Vec<Value> {
        let (list, out) = (self.path("ops.json"), self.path("out.jsonl"));
        std::fs::write(&list, Value::from(operations.to_vec()).to_string()).unwrap();
        std::fs::remove_file(&out).ok();
        ops::execute(host, &list, &out).await.unwrap();
        let text = std::fs::read_to_string(&out).unwrap();
        let mut lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let end = lines.pop().unwrap();
        assert_eq!(end["done"], true, "{end}");
        assert_eq!(lines.len(), operations.len());
        lines
    }

    /// Runs the program with the room's home, model and workspace.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reference"));
        command
            .env_clear()
            .envs(self.environment())
            .args(["run", "--base-url", &self.model.url()]);
        command
            .arg("--home")
            .arg(self.path("home"))
            .arg("--cwd")
            .arg(self.path("ws"))
            .args(arguments);
        command.output().unwrap()
    }
}

/// Does something with a host of its own, and ends it.
pub(crate) fn hosted<T>(
    settings: Settings,
    work: impl AsyncFnOnce(Rc<Host>) -> T,
) -> Result<T, HostError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let host = host::compose(settings).await?;
        let done = work(Rc::clone(&host)).await;
        host.close().await.unwrap();
        Ok(done)
    })
}

/// Every log below a directory, as lines.
pub(crate) fn logs(root: &Path) -> Vec<(PathBuf, Vec<Value>)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "jsonl") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((
                    path,
                    text.lines()
                        .map(|line| serde_json::from_str(line).unwrap())
                        .collect(),
                ));
            }
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}
