//! What the model asked of plumb is what went over plumb's wires: each call once, with its arguments, and its result
//! the answer, word for word. The plugin's own declarations are the only calls beside.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::calls;
use super::context::{Judged, Reading};
use super::model::{is_told, plain, shorten};
use crate::evidence::session::text_of;
use crate::evidence::tap::ToolCall;
use crate::verdict::Class;

/// Arguments that carry an identity: what a plugin may change, and nothing else. plumb reads `session_id` in other
/// spellings too (measured: `sessionId`).
fn is_identity(tool: &str, key: &str) -> bool {
    let plain: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    matches!(
        key,
        "plumb_agent" | "dev.plumbkit/logical-agent" | "plumb_hook_proof"
    ) || (tool == "session_start" && plain.eq_ignore_ascii_case("sessionid"))
}

/// One plumb call of a model: what it asked and what it was told.
struct Asked {
    tool: String,
    arguments: Value,
    told: Option<String>,
}

/// Judges every call of the run.
pub(super) fn carried(reading: &Reading<'_>) -> Judged {
    let mut judged = Judged::reading(["model.jsonl".to_owned(), "mcp/".to_owned()]);
    let mut left: Vec<ToolCall> = calls::all(reading)
        .into_iter()
        .map(|(_, call)| call)
        .collect();
    for asked in asked(reading) {
        // A tool that was never on offer goes nowhere; what is then wrong is `mounted`'s to say.
        if asked
            .told
            .as_deref()
            .is_some_and(|told| told.starts_with("Error: unknown tool"))
        {
            continue;
        }
        let same = |call: &ToolCall| {
            call.tool == asked.tool
                && without_identity(&call.tool, &call.arguments)
                    == without_identity(&asked.tool, &asked.arguments)
        };
        let is_answer = |call: &ToolCall| match &asked.told {
            // The turn ended before its result was sent to the model again.
            None => true,
            Some(told) if call.answered() => is_told(&call.said(), told),
            Some(told) => told.starts_with("Error: "),
        };
        if let Some(idx) = left.iter().position(|call| same(call) && is_answer(call)) {
            left.remove(idx);
            continue;
        }
        let told = asked.told.as_deref().map(shorten).unwrap_or_default();
        match left.iter().position(same) {
            Some(idx) => {
                let call = left.remove(idx);
                judged.fail(
                    Class::WrongValue,
                    format!(
                        "{} was answered `{}`, the model was told `{told}`",
                        call.tool,
                        shorten(&call.said())
                    ),
                );
            }
            None => judged.fail(
                Class::Missing,
                format!(
                    "the model called {} with {} and was told `{told}`; no such call reached plumb",
                    asked.tool,
                    plain(&asked.arguments)
                ),
            ),
        }
    }
    let mut driven = driven(reading);
    for call in left.iter().filter(|call| call.tool != "session_start") {
        if let Some(idx) = driven.iter().position(|tool| *tool == call.tool) {
            driven.remove(idx);
            continue;
        }
        judged.fail(
            Class::Duplicate,
            format!(
                "{} with {} reached plumb, and no model had asked for it, or it had come already",
                call.tool,
                plain(&call.arguments)
            ),
        );
    }
    judged
}

fn without_identity(tool: &str, arguments: &Value) -> Map<String, Value> {
    arguments
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| !is_identity(tool, key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The names under which plumb's tools are offered begin so.
fn prefixes(reading: &Reading<'_>) -> Vec<String> {
    let launches = reading.run.launches.values();
    let mut names: Vec<String> = launches
        .map(|launch| launch.server_name.clone().unwrap_or_else(|| "plumb".into()))
        .collect();
    names.push("other".into());
    names
        .into_iter()
        .map(|name| format!("mcp__{name}__"))
        .collect()
}

/// Every plumb call in the conversations, each once: a fork repeats its parent's.
fn asked(reading: &Reading<'_>) -> Vec<Asked> {
    let prefixes = prefixes(reading);
    let mut seen = BTreeSet::new();
    let mut asked = Vec::new();
    for session in reading.run.sessions.keys() {
        let Some(request) = reading.evidence.requests(session).into_iter().next_back() else {
            continue;
        };
        let messages = request.messages();
        let made = messages
            .iter()
            .filter_map(|message| message.get("tool_calls")?.as_array())
            .flatten();
        for call in made {
            let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
            let name = call.pointer("/function/name").and_then(Value::as_str);
            let tool = name.and_then(|name| {
                prefixes
                    .iter()
                    .find_map(|prefix| name.strip_prefix(prefix.as_str()))
            });
            let Some(tool) = tool.filter(|_| seen.insert(id.to_owned())) else {
                continue;
            };
            let arguments = call.pointer("/function/arguments").and_then(Value::as_str);
            let told = messages
                .iter()
                .find(|message| message.get("tool_call_id").and_then(Value::as_str) == Some(id))
                .and_then(|message| message.get("content"))
                .map(text_of);
            asked.push(Asked {
                tool: tool.to_owned(),
                arguments: arguments
                    .and_then(|text| serde_json::from_str(text).ok())
                    .unwrap_or_default(),
                told,
            });
        }
    }
    asked
}

/// Tools that a driver called without a model: by a `tool` operation, or several by `tools`.
fn driven(reading: &Reading<'_>) -> Vec<String> {
    let prefixes = prefixes(reading);
    let ops = reading
        .run
        .launches
        .values()
        .flat_map(|launch| launch.ops.iter().flatten());
    ops.flat_map(|op| {
        let several = op.rest.get("calls").and_then(toml::Value::as_array);
        let several = several.into_iter().flatten();
        op.rest
            .get("name")
            .into_iter()
            .chain(several.filter_map(|call| call.get("name")))
    })
    .filter_map(toml::Value::as_str)
    .filter_map(|name| {
        prefixes
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix.as_str()))
    })
    .map(str::to_owned)
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::carried;
    use crate::judge::wires::{MINTED, Sent, connection, conversation, judged};
    use crate::verdict::Class;

    #[track_caller]
    fn check(asked: &[(&str, Value, &str)], sent: &[Sent], expected: Option<Class>) {
        let judged = judged(vec![connection(sent)], vec![conversation(asked)], carried);
        let class = judged.symptoms.first().map(|(class, _)| *class);
        assert_eq!(class, expected, "{:?}", judged.symptoms);
    }

    fn git(answer: &'static str) -> Sent {
        ("git", json!({"subcommand": "status"}), answer, Value::Null)
    }

    fn asked(told: &str) -> (&str, Value, &str) {
        ("git", json!({"subcommand": "status"}), told)
    }

    #[test]
    fn a_call_that_was_made_once_and_told_word_for_word_is_carried() {
        let declared = (
            "session_start",
            json!({"session_id": MINTED}),
            "hello",
            Value::Null,
        );
        check(&[asked("clean")], &[declared, git("clean")], None);
        check(&[asked("(no output)")], &[git("")], None);
    }

    #[test]
    fn a_call_made_twice_never_or_with_other_arguments_is_not() {
        check(
            &[asked("clean")],
            &[git("clean"), git("clean")],
            Some(Class::Duplicate),
        );
        check(&[asked("clean")], &[], Some(Class::Missing));
        let other = ("git", json!({"subcommand": "push"}), "clean", Value::Null);
        check(&[asked("clean")], &[other], Some(Class::Missing));
    }

    #[test]
    fn a_result_that_plumb_never_gave_is_not_carried() {
        check(&[asked("dirty")], &[git("clean")], Some(Class::WrongValue));
    }

    #[test]
    fn what_a_plugin_may_change_of_a_declaration_is_its_identity_alone() {
        let typed = json!({"sessionId": "typed", "purpose": "p", "plumb_hook_proof": "x"});
        let taken_over = json!({"session_id": MINTED, "purpose": "p", "plumb_agent": MINTED});
        let asked = [("session_start", typed, "hello")];
        let sent = |arguments| [("session_start", arguments, "hello", Value::Null)];
        check(&asked, &sent(taken_over), None);
        let stripped = json!({"session_id": MINTED});
        check(&asked, &sent(stripped), Some(Class::Missing));
    }
}
