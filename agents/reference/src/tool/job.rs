//! Commands that run: started, read, waited for, ended.
//!
//! Each leads a process group of its own and writes into files without a name. One task owns each command and is the
//! only one to signal it, while it has not been waited for: its pid cannot be another's by then. Nothing outlives the
//! host's own close.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::rc::Rc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::sync::{Notify, watch};

use super::{Outcome, Request};
use crate::environment::Environment;
use crate::host::Host;
use crate::session::id;

/// The name of the tool that reads a job.
pub const OUTPUT: &str = "job_output";
/// The name of the tool that ends one.
pub const KILL: &str = "job_kill";

/// How much of an output is given back: its tail (dsh cuts at 64 000 bytes, too).
const SHOWN_BYTES: u64 = 64_000;
/// How long a process group has between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);

/// A command that is to be run.
#[derive(Debug)]
pub struct Spec {
    /// For `bash -c`.
    pub command: String,
    /// Where.
    pub cwd: PathBuf,
    /// Its whole environment.
    pub environment: Environment,
    /// What it reads; nothing when left out.
    pub stdin: Option<String>,
}

/// A command that cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The system refused.
    #[error("spawn bash in `{cwd}`: {source}")]
    Spawn {
        /// Where.
        cwd: PathBuf,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code, if it exited.
    pub code: Option<i32>,
    /// The signal, if one ended it.
    pub signal: Option<i32>,
    /// Whether it was ended by the harness.
    pub cancelled: bool,
}

impl Ended {
    /// In words.
    pub fn detail(&self) -> String {
        match (self.code, self.signal) {
            (Some(code), _) => format!("exit code: {code}"),
            (None, Some(signal)) => format!("killed by signal: {signal}"),
            (None, None) => "lost".to_owned(),
        }
    }
}

/// A command that was started.
#[derive(Debug)]
pub struct Job {
    id: String,
    stdout: File,
    stderr: File,
    read: Cell<(u64, u64)>,
    ended: watch::Receiver<Option<Ended>>,
    stop: Rc<Notify>,
}

impl Job {
    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Waits until it has ended.
    pub async fn ended(&self) -> Ended {
        let mut ended = self.ended.clone();
        let lost = Ended {
            code: None,
            signal: None,
            cancelled: true,
        };
        match ended.wait_for(Option::is_some).await {
            Ok(ended) => ended.clone().unwrap_or(lost),
            Err(_) => lost,
        }
    }

    /// Ends it and everything in its process group, and waits until it is gone.
    pub async fn stop(&self) {
        self.stop.notify_one();
        self.ended().await;
    }

    /// What it wrote so far, cut to its tail.
    pub fn whole(&self) -> (String, String) {
        (tail(&self.stdout, 0), tail(&self.stderr, 0))
    }

    /// What it wrote since the last look.
    fn news(&self) -> (String, String) {
        let (out, err) = self.read.get();
        self.read.set((length(&self.stdout), length(&self.stderr)));
        (tail(&self.stdout, out), tail(&self.stderr, err))
    }
}

/// The commands of a host.
#[derive(Debug, Default)]
pub struct Jobs {
    running: RefCell<BTreeMap<String, Rc<Job>>>,
}

impl Jobs {
    /// Starts a command; `settled` is told when it has ended.
    pub fn start(
        &self,
        spec: &Spec,
        settled: impl FnOnce(&str, &Ended) + 'static,
    ) -> Result<Rc<Job>, JobError> {
        let refused = |source| JobError::Spawn {
            cwd: spec.cwd.clone(),
            source,
        };
        let stdout = tempfile::tempfile().map_err(refused)?;
        let stderr = tempfile::tempfile().map_err(refused)?;
        let child = Command::new("bash")
            .arg("-c")
            .arg(&spec.command)
            .current_dir(&spec.cwd)
            .env_clear()
            .envs(&spec.environment)
            .stdin(
                spec.stdin
                    .as_deref()
                    .map_or_else(|| Ok(Stdio::null()), input)
                    .map_err(refused)?,
            )
            .stdout(stdout.try_clone().map_err(refused)?)
            .stderr(stderr.try_clone().map_err(refused)?)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(refused)?;
        let (tell, ended) = watch::channel(None);
        let stop = Rc::new(Notify::new());
        let read = Cell::new((0, 0));
        let job = Job {
            id: format!("bash-{}", id::short()),
            stdout,
            stderr,
            read,
            ended,
            stop,
        };
        let job = Rc::new(job);
        self.running
            .borrow_mut()
            .insert(job.id.clone(), Rc::clone(&job));
        let (name, stop) = (job.id.clone(), Rc::clone(&job.stop));
        tokio::task::spawn_local(async move {
            let ended = wait(child, &stop).await;
            settled(&name, &ended);
            tell.send_replace(Some(ended));
        });
        Ok(job)
    }

    /// A job by its id.
    pub fn find(&self, id: &str) -> Option<Rc<Job>> {
        self.running.borrow().get(id).cloned()
    }

    /// Lets a job go whose output has been read.
    pub fn forget(&self, id: &str) {
        self.running.borrow_mut().remove(id);
    }

    /// Ends every command that still runs.
    pub async fn stop_all(&self) {
        let jobs: Vec<Rc<Job>> = self.running.borrow().values().cloned().collect();
        futures::future::join_all(
            jobs.iter()
                .filter(|job| job.ended.borrow().is_none())
                .map(|job| job.stop()),
        )
        .await;
    }
}

/// The tools that read and end jobs.
pub fn definitions() -> [Value; 2] {
    let id = json!({"type": "string", "description": "The id that the tool which started the job returned."});
    let wait = json!({"type": "boolean", "description": "Wait until the job has ended. Defaults to false."});
    let read = "Read a background job: what it wrote since the last read, and its status.";
    [
        super::definition(
            OUTPUT,
            read,
            &json!({"job_id": id, "wait": wait}),
            &["job_id"],
        ),
        super::definition(
            KILL,
            "End a background job.",
            &json!({"job_id": id}),
            &["job_id"],
        ),
    ]
}

#[derive(Debug, Deserialize)]
struct Arguments {
    job_id: String,
    #[serde(default)]
    wait: bool,
}

/// Reads a job.
pub async fn output(host: &Host, request: &Request<'_>) -> Outcome {
    let (job, wait) = match asked(host, request) {
        Ok(asked) => asked,
        Err(outcome) => return outcome,
    };
    if wait {
        job.ended().await;
    }
    let ended = job.ended.borrow().clone();
    let (stdout, stderr) = job.news();
    let mark = match &ended {
        None => "[status: running]".to_owned(),
        Some(ended) if ended.cancelled => format!("[status: cancelled, {}]", ended.detail()),
        Some(ended) => format!("[status: completed, {}]", ended.detail()),
    };
    Outcome::ok(super::bash::joined(&stdout, &stderr, &mark))
}

/// Ends a job.
pub async fn kill(host: &Host, request: &Request<'_>) -> Outcome {
    match asked(host, request) {
        Ok((job, _)) => {
            job.stop().await;
            Outcome::ok(format!("{} has ended", job.id))
        }
        Err(outcome) => outcome,
    }
}

fn asked(host: &Host, request: &Request<'_>) -> Result<(Rc<Job>, bool), Outcome> {
    let arguments: Arguments = super::arguments(request.arguments)?;
    let job = host.jobs.find(&arguments.job_id);
    let job = job.ok_or_else(|| Outcome::error(format!("no job \"{}\"", arguments.job_id)))?;
    Ok((job, arguments.wait))
}

/// Waits for a command; told to stop, ends its group: TERM, a grace period, KILL.
async fn wait(mut child: Child, stop: &Notify) -> Ended {
    let status = tokio::select! {
        status = child.wait() => return ended(status, false),
        () = stop.notified() => {
            signal(&child, Signal::TERM);
            tokio::time::timeout(GRACE, child.wait()).await
        }
    };
    if let Ok(status) = status {
        return ended(status, true);
    }
    signal(&child, Signal::KILL);
    ended(child.wait().await, true)
}

/// Signals the group of a command that has not been waited for.
fn signal(child: &Child, signal: Signal) {
    let pid = child
        .id()
        .and_then(|pid| i32::try_from(pid).ok())
        .and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // The group may be gone already; the wait that follows tells.
        kill_process_group(pid, signal).ok();
    }
}

fn ended(status: std::io::Result<ExitStatus>, cancelled: bool) -> Ended {
    let status = status.ok();
    Ended {
        code: status.and_then(|status| status.code()),
        signal: status.and_then(|status| status.signal()),
        cancelled,
    }
}

fn input(text: &str) -> std::io::Result<Stdio> {
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file.into())
}

fn length(file: &File) -> u64 {
    file.metadata().map_or(0, |about| about.len())
}

/// The text of a file from one place on; of a long one the tail.
fn tail(file: &File, from: u64) -> String {
    let end = length(file);
    let start = from.max(end.saturating_sub(SHOWN_BYTES));
    let mut bytes = vec![0; usize::try_from(end.saturating_sub(start)).unwrap_or(0)];
    let read = file.read_exact_at(&mut bytes, start);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match read {
        Err(error) => format!("[output lost: {error}]"),
        Ok(()) if start > from => {
            format!("[{} bytes before this are not shown]\n{text}", start - from)
        }
        Ok(()) => text,
    }
}
