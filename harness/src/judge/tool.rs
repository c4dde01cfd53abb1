//! Checks on what the model is told of a tool.

use serde_json::Value;

use super::context::{Judged, Reading};
use crate::scenario::{ToolPin, ToolWords};
use crate::verdict::Class;

/// The whole object of a tool, as pretty JSON with the keys in the order sent, is the pinned one of
/// this build, byte for byte, in every request of the session.
pub(super) fn pin(wanted: &ToolPin, reading: &Reading<'_>) -> Judged {
    let Some(pinned) = reading.build.tool_pins.get(&wanted.tool) else {
        return Judged::unobserved(format!("the build's folder pins no tool `{}`", wanted.tool));
    };
    let requests = reading.evidence.requests_of(wanted.session.as_deref());
    if requests.is_empty() {
        return Judged::unobserved("the model was never asked");
    }
    let mut judged = Judged::reading(["model.jsonl".to_owned(), reading.build.pinned_at.clone()]);
    for request in requests {
        let session = request.session.clone().unwrap_or_default();
        let Some(tool) = request.tool(&wanted.tool) else {
            judged.fail(
                Class::Missing,
                format!("a request of `{session}` offers no tool `{}`", wanted.tool),
            );
            continue;
        };
        let sent = pretty(tool);
        if sent != *pinned {
            judged.fail(
                Class::WrongValue,
                first_difference(&wanted.tool, pinned, &sent),
            );
            break;
        }
    }
    judged
}

/// How a tool is pinned: pretty JSON, keys in the order sent, a line end last.
pub fn pretty(tool: &Value) -> String {
    let mut text = serde_json::to_string_pretty(tool).unwrap_or_default();
    text.push('\n');
    text
}

fn first_difference(tool: &str, pinned: &str, sent: &str) -> String {
    let diff = similar::TextDiff::from_words(pinned, sent);
    let changes: Vec<String> = diff
        .iter_all_changes()
        .filter(|change| change.tag() != similar::ChangeTag::Equal)
        .filter(|change| !change.value().trim().is_empty())
        .take(8)
        .map(|change| format!("{}{}", change.tag(), change.value().trim()))
        .collect();
    format!("`{tool}` is not the pinned one: {}", changes.join(" "))
}

/// Words that a tool's description has and has not.
pub(super) fn words(wanted: &ToolWords, reading: &Reading<'_>) -> Judged {
    let requests = reading.evidence.requests_of(None);
    let descriptions: Vec<&str> = requests
        .iter()
        .filter_map(|request| request.tool(&wanted.tool))
        .filter_map(|tool| tool.pointer("/function/description")?.as_str())
        .collect();
    if descriptions.is_empty() {
        return Judged::unobserved(format!("no request offers a tool `{}`", wanted.tool));
    }
    let mut judged = Judged::reading(["model.jsonl".to_owned()]);
    for description in descriptions {
        for word in &wanted.has {
            if !description.contains(word.as_str()) {
                judged.fail(
                    Class::Missing,
                    format!("the description of `{}` does not say `{word}`", wanted.tool),
                );
            }
        }
        for word in &wanted.lacks {
            if description.contains(word.as_str()) {
                judged.fail(
                    Class::Leaked,
                    format!("the description of `{}` says `{word}`", wanted.tool),
                );
            }
        }
        if !judged.symptoms.is_empty() {
            break;
        }
    }
    judged
}
