//! Faults of what the model is told and of what becomes of its calls.
//!
//! Asked by the turn and by the tools.

use serde_json::{Value, json};

use super::{Fault, Faults};
use crate::environment::{SESSION_ID, SESSION_JSONL};
use crate::revision::Revision;
use crate::session::header::Header;

/// How often a call is dispatched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// Never: its result is made up.
    Never,
    /// As it should be.
    Once,
    /// Again, and the second result is used.
    Twice,
}

/// The tools that are offered in place of the right ones.
pub fn tools(
    faults: &Faults,
    revision: Revision,
    header: &Header,
    mut tools: Vec<Value>,
) -> Vec<Value> {
    let Some(description) = tools
        .first_mut()
        .and_then(|tool| tool.pointer_mut("/function/description"))
    else {
        return tools;
    };
    let mut text = description.as_str().unwrap_or_default().to_owned();
    if faults.has(Fault::DescriptionDrifts) {
        text = text.replacen("fresh shell", "new shell", 1);
    }
    if faults.has(Fault::DescriptionKey) {
        text = match revision {
            Revision::Rfc => text
                .replace(&format!("${SESSION_JSONL}"), "a variable")
                .replace(&format!("${SESSION_ID}"), "a variable"),
            Revision::Located | Revision::Note => {
                format!("{text} The log of this session is `${SESSION_JSONL}`.")
            }
        };
    }
    if faults.has(Fault::DescriptionChild) && header.parent_session.is_some() {
        text.push_str(" You are a subagent.");
    }
    *description = json!(text);
    tools
}

/// The system prompt that is sent.
pub fn system(faults: &Faults, prompt: &str) -> String {
    if faults.has(Fault::ExtraSection) {
        return format!("{prompt}\n\nThe id of this session is in `${SESSION_ID}`.");
    }
    prompt.to_owned()
}

/// How often a call of a tool is dispatched.
pub fn times(faults: &Faults, is_remote: bool) -> Times {
    if is_remote && faults.has(Fault::ResultInvented) {
        return Times::Never;
    }
    if faults.has(Fault::CallTwice) {
        Times::Twice
    } else {
        Times::Once
    }
}

/// Whether a tool of a server is called that nobody asked for.
pub fn invents_call(faults: &Faults) -> bool {
    faults.has(Fault::CallInvented)
}

/// The working directory of a child.
pub fn child_cwd(faults: &Faults, asked: Option<String>) -> Option<String> {
    if faults.has(Fault::ChildLosesCwd) {
        Some("/".to_owned())
    } else {
        asked
    }
}
