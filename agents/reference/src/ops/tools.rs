//! Operations that run a tool or a command without a model.
//!
//! An agent must never be added to a call that asked for none.

use serde::Deserialize;
use serde_json::{Value, json};

use super::room::{Room, Within};
use super::sessions::live;
use super::{Came, fields};
use crate::tool::{self, Outcome, Request, bash, job};

#[derive(Debug, Deserialize)]
pub(super) struct Tool {
    name: String,
    #[serde(default)]
    arguments: Value,
    session: Option<String>,
    #[serde(rename = "as")]
    job: Option<String>,
    #[serde(default)]
    within_ms: Within,
}

#[derive(Debug, Deserialize)]
pub(super) struct JobOutput {
    job: String,
    #[serde(default)]
    within_ms: Within,
}

/// `tool {name, arguments, session?, as?}`: with that session's agent, or with none.
pub(super) async fn tool(room: &mut Room, op: Tool) -> Came {
    let agent = op
        .session
        .as_deref()
        .map(|name| live(room, name))
        .transpose()?;
    let arguments = if op.arguments.is_null() {
        json!({})
    } else {
        op.arguments
    };
    room.calls += 1;
    let call = format!("driver-{}", room.calls);
    let request = Request {
        name: &op.name,
        arguments: &arguments,
        call: &call,
    };
    let work = tool::dispatch(&room.host, agent.as_ref(), &request);
    let outcome = op
        .within_ms
        .wait(work, || format!("{} running", op.name))
        .await?;
    if let (Some(name), Some(id)) = (op.job, outcome.value.get("jobId").and_then(Value::as_str)) {
        room.jobs.insert(name, id.to_owned());
    }
    Ok(told(&outcome))
}

/// `job_output {job}`: waits for the job that a `tool … as` started.
pub(super) async fn job_output(room: &mut Room, op: JobOutput) -> Came {
    let id = room
        .jobs
        .get(&op.job)
        .ok_or_else(|| format!("no job named \"{}\"", op.job))?;
    let arguments = json!({"job_id": id, "wait": true});
    let request = Request {
        name: job::OUTPUT,
        arguments: &arguments,
        call: "driver-job-output",
    };
    let work = tool::dispatch(&room.host, None, &request);
    let outcome = op
        .within_ms
        .wait(work, || format!("job {id} running"))
        .await?;
    Ok(told(&outcome))
}

/// `env_entry {command, env?, dsh_env?, workdir?}`: a caller's own explicit environment, past the bash tool.
pub(super) async fn env_entry(room: &mut Room, op: &Value) -> Came {
    let explicit: bash::Explicit = fields(op)?;
    let work = bash::run(&room.host, &explicit);
    let (code, stdout, stderr) = Within::default()
        .wait(work, || "command running".to_owned())
        .await??;
    Ok(json!({"exitCode": code, "stdout": stdout, "stderr": stderr}))
}

fn told(outcome: &Outcome) -> Value {
    let error = outcome.is_error.then(|| json!({"message": outcome.text}));
    json!({"isError": outcome.is_error, "text": outcome.text, "value": outcome.value, "error": error})
}
