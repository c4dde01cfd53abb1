//! Executes operations one after the other and reports each: the same words as the driver of DeepSeek Harness.
//!
//! Called in place of a prompt. One failing operation must never stop the list unless it says `fatal`. The last line says
//! whether the list ended by itself.

mod facts;
mod persistence;
mod registry;
mod room;
mod sessions;
mod tools;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::host::Host;
use room::Room;

/// A list that cannot be executed.
#[derive(Debug, thiserror::Error)]
pub enum OpsError {
    /// A file cannot be used.
    #[error("{verb} `{path}`: {source}")]
    File {
        /// What was tried.
        verb: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
    /// The list is none.
    #[error("`{path}`: {source}; write a JSON array: [{{\"op\": \"create\", …}}, …]")]
    Shape {
        /// The file.
        path: PathBuf,
        /// What the parser says.
        #[source]
        source: serde_json::Error,
    },
}

/// What one operation came to: a value, or why there is none.
type Came = Result<Value, OpError>;

/// An operation that failed, as its outcome names it.
#[derive(Debug)]
struct OpError(String);

impl<E: std::fmt::Display> From<E> for OpError {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// Executes the list in one file, and appends an outcome for each operation to another.
pub async fn execute(host: &Rc<Host>, ops: &Path, out: &Path) -> Result<u8, OpsError> {
    let failed = |verb, path: &Path| {
        let path = path.to_owned();
        move |source| OpsError::File { verb, path, source }
    };
    let text = std::fs::read_to_string(ops).map_err(failed("read", ops))?;
    let list: Vec<Value> = serde_json::from_str(&text).map_err(|source| OpsError::Shape {
        path: ops.to_owned(),
        source,
    })?;
    let mut file = File::options()
        .create(true)
        .append(true)
        .open(out)
        .map_err(failed("open", out))?;
    let mut append = |line: &Value| writeln!(file, "{line}").map_err(failed("append to", out));
    let mut room = Room::new(host);
    for op in &list {
        let started = Instant::now();
        let came = dispatch(&mut room, op).await;
        let mut line = json!({"op": op.get("op")});
        for key in ["as", "session"] {
            if let Some(value) = op.get(key) {
                line[key] = value.clone();
            }
        }
        let is_fatal = came.is_err() && op.get("fatal") == Some(&Value::Bool(true));
        line["ok"] = json!(came.is_ok());
        match came {
            Ok(value) => line["value"] = value,
            Err(OpError(message)) => line["error"] = json!({"name": "Error", "message": message}),
        }
        line["t"] = json!(u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX));
        append(&line)?;
        if is_fatal {
            append(&json!({"done": false, "fatal": op.get("op")}))?;
            return Ok(1);
        }
        if let Some(code) = room.exit {
            append(&json!({"done": true, "exit": code}))?;
            return Ok(code);
        }
    }
    append(&json!({"done": true, "exit": 0}))?;
    Ok(0)
}

async fn dispatch(room: &mut Room, op: &Value) -> Came {
    let name = op
        .get("op")
        .and_then(Value::as_str)
        .ok_or("an operation must be an object with an \"op\" name")?;
    match name {
        "create" => sessions::create(room, fields(op)?).await,
        "spawn" => sessions::spawn(room, fields(op)?).await,
        "fork" => sessions::fork(room, fields(op)?).await,
        "resume" => sessions::resume(room, fields(op)?).await,
        "prompt" => sessions::prompt(room, fields(op)?).await,
        "prompt_start" => sessions::prompt_start(room, &fields(op)?),
        "wait" => sessions::wait(room, fields(op)?).await,
        "idle" => sessions::idle(room, fields(op)?).await,
        "dispose" => sessions::dispose(room, &fields(op)?),
        "tool" => tools::tool(room, fields(op)?).await,
        "job_output" => tools::job_output(room, fields(op)?).await,
        "env_entry" => tools::env_entry(room, op).await,
        "register" => registry::register(room, fields(op)?),
        "dispose_contributor" => registry::dispose(room, &fields(op)?),
        "reload_contributor" => registry::reload(room, op),
        "list" => Ok(registry::list(room)),
        "collect" => registry::collect(room, &fields(op)?),
        "locate" => persistence::locate(room, fields(op)?),
        "persistence_swap" => persistence::swap(room, fields(op)?),
        "persistence_stub" => persistence::stub(room, fields(op)?),
        "persistence_unstub" => persistence::unstub(room, &fields(op)?),
        "open_file" => persistence::open_file(room, &fields(op)?),
        "process_env" => Ok(facts::process_env(room)),
        "until" => facts::until(room, fields(op)?).await,
        "touch" => facts::touch(&fields(op)?),
        "exit" => Ok(facts::exit(room, &fields(op)?)),
        unknown => Err(format!("unknown operation \"{unknown}\"").into()),
    }
}

/// The fields of an operation in the shape that it wants.
fn fields<T: DeserializeOwned>(op: &Value) -> Result<T, OpError> {
    T::deserialize(op).map_err(|error| format!("the operation {op}: {error}").into())
}
