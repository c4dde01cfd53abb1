//! Skills: texts in the home of the harness, read on request.
//!
//! The home is the one that commands are told; a skill must never be looked for anywhere else.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Outcome, Request};

/// The name of the tool.
pub const NAME: &str = "skill";

/// The tool.
pub fn definition() -> Value {
    let name = json!({"name": {"type": "string", "description": "The name of the skill."}});
    super::definition(NAME, "Load the instructions of a skill.", &name, &["name"])
}

#[derive(Debug, Deserialize)]
struct Arguments {
    name: String,
}

/// Reads `<home>/skills/<name>/SKILL.md`.
pub fn call(home: &Path, request: &Request<'_>) -> Outcome {
    let Arguments { name } = match super::arguments(request.arguments) {
        Ok(arguments) => arguments,
        Err(outcome) => return outcome,
    };
    let is_plain = !name.is_empty() && !name.contains('/') && name != "." && name != "..";
    let path = home.join("skills").join(&name).join("SKILL.md");
    match std::fs::read_to_string(&path) {
        Ok(text) if is_plain => Outcome::ok(text),
        _ => Outcome::error(format!("no skill \"{name}\"")),
    }
}
