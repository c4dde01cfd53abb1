//! What the driver plugin, or a client of the agent, is told to do: a scenario's operations with their references filled
//! in.
//!
//! Called by `home` for the launches that are driven so. It starts nothing and writes nothing.

use serde_json::{Value, json};

use super::Stage;
use crate::agent::dsh::recipe::BashTool;
use crate::plan::{opening, shell};
use crate::scenario::{Launch, Op};

/// The file that holds them, in the launch's own folder.
pub(super) const OPERATIONS: &str = "ops.json";

/// The file that takes what came of them.
pub(super) const OUTCOMES: &str = "outcomes.jsonl";

/// The same value with every `{ path = { what = … } }` replaced by the folder it stands for.
pub(super) fn placed(value: Value, stage: &Stage) -> Value {
    match value {
        Value::Object(map) => {
            let folder = (map.len() == 1)
                .then(|| map.get("path").cloned())
                .flatten()
                .and_then(|place| serde_json::from_value(place).ok())
                .and_then(|place| stage.folder(&place));
            match folder {
                Some(folder) => json!(folder),
                None => map
                    .into_iter()
                    .map(|(key, value)| (key, placed(value, stage)))
                    .collect(),
            }
        }
        Value::Array(items) => items.into_iter().map(|item| placed(item, stage)).collect(),
        other => other,
    }
}

/// What the driver, or the client, is told: what the scenario states, with the openings of its sessions as their prompts
/// and the shell text of its commands.
pub(super) fn operations(stage: &Stage, launch: &Launch, bash: &BashTool) -> Value {
    launch
        .ops
        .iter()
        .flatten()
        .map(|op| operation(stage, op, bash))
        .collect()
}

fn operation(stage: &Stage, op: &Op, bash: &BashTool) -> Value {
    let mut told = placed(json!(op.rest), stage);
    told["op"] = json!(op.op);
    if matches!(op.op.as_str(), "prompt" | "prompt_start") && told.get("text").is_none() {
        let session = told.get("session").and_then(Value::as_str);
        let session = op.opening.as_deref().or(session).unwrap_or("main");
        told["text"] = json!(opening(session));
    }
    if op.op == "session/prompt"
        && let Some(session) = &op.opening
    {
        told["params"]["contentBlocks"] = json!([{"type": "text", "text": opening(session)}]);
    }
    let Some(commands) = &op.bash else {
        return told;
    };
    let text = shell(commands, &stage.bin);
    if op.op == "env_entry" {
        told["command"] = json!(text);
        return told;
    }
    told["name"] = json!(bash.name);
    told["arguments"][&bash.command] = json!(text);
    told["arguments"][&bash.description] = json!("a driven command");
    if op.background == Some(true) {
        told["arguments"][&bash.background] = json!(true);
    }
    told
}
