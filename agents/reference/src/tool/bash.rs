//! The bash tool: a command, with the managed values of exactly this call.
//!
//! The values are made when the call is dispatched and go to the command with its environment, in the foreground and in
//! the background alike. `env` and `stdin` among the model's arguments must change nothing.

use std::ffi::OsString;
use std::rc::Rc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::job::{Ended, Job, JobError, Spec};
use super::{Outcome, Request};
use crate::agent::Agent;
use crate::environment::{self, Environment, Layers, Overlay, SESSION_ID, SESSION_JSONL};
use crate::fault::environment::Mode;
use crate::fault::{self, Fault};
use crate::host::Host;
use crate::revision::Revision;
use crate::session::event::{self, Settled};
use crate::session::header::Header;

/// The name of the tool.
pub const NAME: &str = "bash";

/// How long a command may run when the model does not say.
const DEFAULT_TIMEOUT_MS: u64 = 120_000;

/// What the tool does; the same under every revision.
const DESCRIPTION: &str = "Run a bash command (`bash -c`) and return its output. Each call runs in a fresh shell in the \
                           session's working directory; pass `workdir` instead of using `cd`. A command that does not \
                           exit with 0 ends with a line `[exit code: N]`.";

/// The tool as it goes over the wire.
pub fn definition(revision: Revision) -> Value {
    let facts = match revision {
        Revision::Rfc => format!(
            "The id of this session is in `${SESSION_ID}`; where sessions are kept as JSONL files, the path of this \
             one's is in `${SESSION_JSONL}`."
        ),
        Revision::Located | Revision::Note => {
            "Current facts of the harness are in managed `$DSH_*` variables; inspect them when you need them."
                .to_owned()
        }
    };
    let properties = json!({
        "command": {"type": "string", "description": "The command."},
        "description": {"type": "string", "description": "What it does, in a few words."},
        "workdir": {"type": "string", "description": "Where it runs, from the session's working directory."},
        "timeoutMs": {"type": "number", "description": "How long it may run; then it is ended."},
        "run_in_background": {
            "type": "boolean",
            "description": "Return the id of a job at once; read it with job_output. No timeout applies."
        },
    });
    super::definition(
        NAME,
        &format!("{DESCRIPTION} {facts}"),
        &properties,
        &["command"],
    )
}

#[derive(Debug, Deserialize)]
struct Arguments {
    command: String,
    workdir: Option<String>,
    #[serde(rename = "timeoutMs")]
    timeout_ms: Option<u64>,
    #[serde(default)]
    run_in_background: bool,
}

/// A command of an in-process caller, past the tool.
#[derive(Debug, Deserialize)]
pub struct Explicit {
    /// The command.
    pub command: String,
    /// What the caller sets.
    #[serde(default)]
    pub env: std::collections::BTreeMap<String, String>,
    /// The managed values that it hands on.
    #[serde(default)]
    pub dsh_env: Overlay,
    /// Where it runs.
    pub workdir: Option<String>,
}

/// Runs a command of a tool call.
pub async fn call(host: &Rc<Host>, agent: Option<&Rc<Agent>>, request: &Request<'_>) -> Outcome {
    let arguments: Arguments = match super::arguments(request.arguments) {
        Ok(arguments) => arguments,
        Err(outcome) => return outcome,
    };
    let mode = if arguments.run_in_background {
        Mode::Background
    } else {
        Mode::Foreground
    };
    let header = agent.map(|agent| agent.header());
    let overlay = match host.overlay(header, mode) {
        Ok(overlay) => overlay,
        Err(error) => return Outcome::error(error),
    };
    let folder = host.fault_folder();
    let typed = typed(request.arguments);
    let spec = Spec {
        command: fault::environment::script(&host.faults, &arguments.command, &folder),
        cwd: header.map_or_else(
            || host.cwd.join(arguments.workdir.as_deref().unwrap_or(".")),
            |header: &Header| host.place(header, arguments.workdir.as_deref()),
        ),
        environment: environment(host, &overlay, &Environment::new(), &typed),
        stdin: stdin(host, request.arguments),
    };
    fault::environment::dispatched(
        &host.faults,
        &overlay,
        &folder,
        &mut host.process.borrow_mut(),
    );
    let job = match start(host, agent, &spec, request) {
        Ok(job) => job,
        Err(error) => return Outcome::error(error),
    };
    match mode {
        Mode::Background => Outcome {
            value: json!({"jobId": job.id()}),
            ..Outcome::ok(format!("started background job {}", job.id()))
        },
        Mode::Foreground => {
            let limit = Duration::from_millis(arguments.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS));
            foreground(host, &job, limit).await
        }
    }
}

/// Runs a command with explicit entries of its caller.
pub async fn run(
    host: &Rc<Host>,
    explicit: &Explicit,
) -> Result<(Option<i32>, String, String), JobError> {
    let entries = explicit
        .env
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)))
        .collect();
    let spec = Spec {
        command: explicit.command.clone(),
        cwd: host.cwd.join(explicit.workdir.as_deref().unwrap_or(".")),
        environment: environment(host, &explicit.dsh_env, &entries, &Environment::new()),
        stdin: None,
    };
    let job = host.jobs.start(&spec, |_, _| {})?;
    let ended = job.ended().await;
    let (stdout, stderr) = job.whole();
    host.jobs.forget(job.id());
    Ok((ended.code, stdout, stderr))
}

fn environment(
    host: &Host,
    overlay: &Overlay,
    explicit: &Environment,
    typed: &Environment,
) -> Environment {
    let process = host.process.borrow();
    let layers = Layers {
        ambient: &process,
        explicit,
        overlay,
        revision: host.revision,
    };
    fault::environment::command(
        &host.faults,
        environment::of_command(&layers),
        &layers,
        typed,
    )
}

/// Starts a command as a job; its session records the beginning and the end.
fn start(
    host: &Rc<Host>,
    agent: Option<&Rc<Agent>>,
    spec: &Spec,
    request: &Request<'_>,
) -> Result<Rc<Job>, JobError> {
    let label = request
        .arguments
        .get("command")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let recorder = agent.cloned();
    let job = host.jobs.start(spec, move |job, ended| {
        if let Some(agent) = recorder {
            let settled = if ended.cancelled {
                Settled::Cancelled
            } else {
                Settled::Completed
            };
            agent.record(event::job_settled(job, settled, &ended.detail()));
        }
    })?;
    if let Some(agent) = agent {
        agent.record(event::job_registered(job.id(), label, request.call));
    }
    Ok(job)
}

async fn foreground(host: &Host, job: &Job, limit: Duration) -> Outcome {
    let Ok(ended) = tokio::time::timeout(limit, job.ended()).await else {
        job.stop().await;
        let (stdout, stderr) = job.whole();
        host.jobs.forget(job.id());
        return Outcome::ok(joined(
            &stdout,
            &stderr,
            &format!("[timed out after {}ms]", limit.as_millis()),
        ));
    };
    let (stdout, stderr) = job.whole();
    host.jobs.forget(job.id());
    let mark = match &ended {
        Ended { code: Some(0), .. } => String::new(),
        ended => format!("[{}]", ended.detail()),
    };
    Outcome {
        value: json!({"exitCode": ended.code}),
        ..Outcome::ok(joined(&stdout, &stderr, &mark))
    }
}

/// The output as the model reads it.
pub fn joined(stdout: &str, stderr: &str, mark: &str) -> String {
    let mut parts = vec![stdout.trim_end_matches('\n')];
    if !stderr.is_empty() {
        parts.extend(["[stderr]", stderr.trim_end_matches('\n')]);
    }
    parts.push(mark);
    parts.retain(|part| !part.is_empty());
    if parts.is_empty() {
        "(no output)".to_owned()
    } else {
        parts.join("\n")
    }
}

/// What a model wrote as `env`; only a fault reads it.
fn typed(arguments: &Value) -> Environment {
    let entries = arguments
        .get("env")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    entries
        .filter_map(|(name, value)| Some((name.into(), value.as_str()?.into())))
        .collect()
}

/// What a model wrote as `stdin`; only a fault uses it.
fn stdin(host: &Host, arguments: &Value) -> Option<String> {
    let text = arguments.get("stdin")?.as_str()?;
    host.faults.has(Fault::ModelStdin).then(|| text.to_owned())
}
