//! Checks on what the model was sent, and on what the agent printed.

use serde_json::Value;

use super::context::{Judged, Reading};
use crate::scenario::{ModelSaw, SystemPrompt, ToolResult, Warnings};
use crate::verdict::Class;

/// Text that no system message contains.
pub(super) fn system_prompt(wanted: &SystemPrompt, reading: &Reading<'_>) -> Judged {
    let requests = reading.evidence.requests_of(None);
    let systems: Vec<String> = requests
        .iter()
        .flat_map(|request| request.texts("system"))
        .collect();
    if systems.is_empty() {
        return Judged::unobserved("no request had a system message");
    }
    let mut judged = Judged::reading(["model.jsonl".to_owned()]);
    for text in &wanted.lacks {
        if systems.iter().any(|system| system.contains(text.as_str())) {
            judged.fail(Class::Leaked, format!("a system message says `{text}`"));
        }
    }
    judged
}

/// How often a text is in the tool results, each result counted once.
///
/// The history repeats every earlier result in every request, so only the last request of each
/// session is read.
pub(super) fn saw(wanted: &ModelSaw, reading: &Reading<'_>) -> Judged {
    let sessions: Vec<String> = match &wanted.session {
        Some(session) => vec![session.clone()],
        None => reading.run.sessions.keys().cloned().collect(),
    };
    let mut results = Vec::new();
    let mut asked = false;
    for session in sessions {
        if let Some(request) = reading.evidence.requests(&session).into_iter().next_back() {
            asked = true;
            results.extend(request.texts("tool"));
        }
    }
    if !asked {
        return Judged::unobserved("the model was never asked");
    }
    let times: usize = results
        .iter()
        .map(|result| result.matches(wanted.text.as_str()).count())
        .sum();
    let mut judged = Judged::reading(["model.jsonl".to_owned()]);
    if times < wanted.times {
        let (class, fate) = reading.evidence.fate_of_note(&wanted.text);
        judged.fail(
            class.unwrap_or(Class::Missing),
            format!(
                "the model saw `{}` {times} times, {} were expected{fate}",
                wanted.text, wanted.times
            ),
        );
    } else if times > wanted.times {
        let class = if wanted.times == 0 {
            Class::Leaked
        } else {
            Class::Duplicate
        };
        judged.fail(
            class,
            format!(
                "the model saw `{}` {times} times, {} were expected",
                wanted.text, wanted.times
            ),
        );
    }
    judged
}

/// What one tool call came back with.
pub(super) fn result(wanted: &ToolResult, reading: &Reading<'_>) -> Judged {
    let session = wanted.session.as_deref().unwrap_or("main");
    let Some(request) = reading.evidence.requests(session).into_iter().next_back() else {
        return Judged::unobserved(format!("the model was never asked by `{session}`"));
    };
    let results = request.texts("tool");
    let Some(text) = results.get(wanted.call) else {
        return Judged::unobserved(format!(
            "the model was sent {} tool results, none at {}",
            results.len(),
            wanted.call
        ));
    };
    let mut judged = Judged::reading(["model.jsonl".to_owned()]);
    if let Some(expected) = &wanted.contains
        && !text.contains(expected.as_str())
    {
        judged.fail(
            Class::WrongValue,
            format!(
                "the result is `{}`, `{expected}` was expected in it",
                shorten(text)
            ),
        );
    }
    if wanted.as_answered {
        let answers: Vec<String> = reading
            .evidence
            .taps
            .iter()
            .filter(|tap| tap.is_serve())
            .flat_map(crate::evidence::tap::Tap::calls)
            .filter(|call| call.answer.is_some())
            .map(|call| call.text())
            .collect();
        if answers.is_empty() {
            judged.fail(
                Class::Missing,
                format!(
                    "plumb never answered a call, yet the model was told `{}`",
                    shorten(text)
                ),
            );
        } else if !answers.iter().any(|answer| is_told(answer, text)) {
            judged.fail(
                Class::WrongValue,
                format!(
                    "the model was told `{}`, which plumb never said",
                    shorten(text)
                ),
            );
        }
    }
    judged
}

/// Whether the model was told just what a peer answered; dsh puts `Error: ` before a failure, and `(no output)` in the
/// place of nothing (measured).
pub(super) fn is_told(answer: &str, text: &str) -> bool {
    let answer = answer.trim_end();
    let text = text.trim_end();
    text == answer
        || (answer.is_empty() && text == "(no output)")
        || text.strip_prefix("Error: ") == Some(answer)
}

/// What the agent printed on its standard error.
pub(super) fn warnings(wanted: &Warnings, reading: &Reading<'_>) -> Judged {
    let launch = wanted.launch.as_deref().unwrap_or("main");
    let Some(stderr) = reading.evidence.stderr.get(launch) else {
        return Judged::unobserved(format!("the launch `{launch}` has no standard error"));
    };
    let times = stderr.matches(wanted.text.as_str()).count();
    let mut judged = Judged::reading([format!("launch/{launch}/stderr")]);
    if times < wanted.times {
        judged.fail(
            Class::Missing,
            format!(
                "`{}` was printed {times} times, {} were expected",
                wanted.text, wanted.times
            ),
        );
    } else if times > wanted.times {
        let class = if wanted.times == 0 {
            Class::Leaked
        } else {
            Class::Duplicate
        };
        judged.fail(
            class,
            format!(
                "`{}` was printed {times} times, {} were expected",
                wanted.text, wanted.times
            ),
        );
    }
    judged
}

/// The start of a text, on one line.
pub(super) fn shorten(text: &str) -> String {
    let line: String = text
        .chars()
        .take(160)
        .map(|c| if c == '\n' { ' ' } else { c })
        .collect();
    if text.chars().count() > 160 {
        format!("{line}…")
    } else {
        line
    }
}

/// The text of a JSON string, or the JSON itself.
pub(super) fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
