//! From JSON to a checked [`Script`]. Called by [`Script::from_json`] alone.
//! Every refusal names the path inside the JSON; nothing is guessed and nothing has a silent default.

use std::collections::{BTreeSet, HashSet};

use axum::http::{HeaderName, HeaderValue};
use serde_json::Value;

use super::rows::{CallRow, ReplyBody, ScriptRow, SessionRow};
use super::{Arguments, Call, Fail, Fault, Reply, Script, Session, Step, Tool, Turn};
use crate::capture::{CaptureError, Template};

/// Why a script was refused.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The JSON has not the shape of a script.
    #[error("script at `{path}`: {source}")]
    Shape {
        /// Where in the script.
        path: String,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// The JSON has the shape, but says something that cannot be.
    #[error("script at `{path}`: {problem}")]
    Unsound {
        /// Where in the script.
        path: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// A capture cannot be used.
    #[error("script at `{path}`: {source}")]
    Capture {
        /// Where in the script.
        path: String,
        /// Why.
        source: CaptureError,
    },
}

pub(super) fn script(json: &Value) -> Result<Script, ScriptError> {
    let rows: ScriptRow =
        serde_path_to_error::deserialize(json).map_err(|error| ScriptError::Shape {
            path: error.path().to_string(),
            source: error.into_inner(),
        })?;
    let mut sessions = sessions(rows.sessions)?;
    let mut ids = HashSet::new();
    let mut gates = BTreeSet::new();
    for (index, row) in rows.replies.into_iter().enumerate() {
        let path = format!("replies[{index}]");
        let Some(session) = sessions.iter_mut().find(|known| known.name == row.session) else {
            return unsound(
                format!("{path}.session"),
                format!(
                    "no session is named `{}`; add it to `sessions`",
                    row.session
                ),
            );
        };
        let due = session.steps.len();
        if row.step != due {
            return unsound(
                format!("{path}.step"),
                format!(
                    "step {} of session `{}` stands where its step {due} must; steps count from 0, in order",
                    row.step, row.session
                ),
            );
        }
        if row.gates.iter().any(|gate| !is_name(gate)) {
            return unsound(format!("{path}.gates"), NAME_RULE.to_owned());
        }
        gates.extend(row.gates.iter().cloned());
        let spot = Spot {
            path: format!("{path}.reply"),
            session: row.session,
            step: row.step,
        };
        let reply = reply(row.reply, &spot, &mut ids)?;
        session.steps.push(Step {
            gates: row.gates,
            reply,
        });
    }
    Ok(Script {
        sessions,
        title: rows.title,
        gates,
    })
}

/// What names of tenants, sessions and gates are made of: they stand in URLs and in call ids.
pub(crate) const NAME_RULE: &str = "a name is 1 to 64 of A-Z a-z 0-9 . _ -";

/// Whether the text obeys [`NAME_RULE`].
pub(crate) fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// Where a reply stands: for messages and for the ids that are made.
struct Spot {
    path: String,
    session: String,
    step: usize,
}

fn sessions(rows: Vec<SessionRow>) -> Result<Vec<Session>, ScriptError> {
    let mut sessions: Vec<Session> = Vec::with_capacity(rows.len());
    for (index, row) in rows.into_iter().enumerate() {
        let path = format!("sessions[{index}]");
        if !is_name(&row.name) {
            return unsound(format!("{path}.name"), NAME_RULE.to_owned());
        }
        if row.opening.is_empty() {
            return unsound(
                format!("{path}.opening"),
                "an empty opening would take every conversation".to_owned(),
            );
        }
        for earlier in &sessions {
            if earlier.name == row.name {
                return unsound(
                    format!("{path}.name"),
                    format!("`{}` is named twice", row.name),
                );
            }
            if earlier.opening == row.opening {
                return unsound(
                    format!("{path}.opening"),
                    format!("session `{}` opens with the same words", earlier.name),
                );
            }
        }
        sessions.push(Session {
            name: row.name,
            opening: row.opening,
            steps: Vec::new(),
        });
    }
    Ok(sessions)
}

fn reply(body: ReplyBody, spot: &Spot, ids: &mut HashSet<String>) -> Result<Reply, ScriptError> {
    let ReplyBody {
        say,
        calls,
        fail,
        text,
        reasoning,
        fault,
        times,
    } = body;
    match (say, calls, fail) {
        (Some(say), None, None) => {
            absent(text.is_some(), "text", "calls", spot)?;
            absent(times.is_some(), "times", "fail", spot)?;
            sendable(fault.as_ref(), spot)?;
            Ok(Reply::Turn(
                Turn {
                    reasoning,
                    text: Some(say),
                    calls: Vec::new(),
                },
                fault,
            ))
        }
        (None, Some(rows), None) => {
            absent(times.is_some(), "times", "fail", spot)?;
            if rows.is_empty() {
                return unsound(
                    format!("{}.calls", spot.path),
                    "name at least one call, or use `say`".to_owned(),
                );
            }
            let calls = rows
                .into_iter()
                .enumerate()
                .map(|(index, row)| call(row, index, spot, ids))
                .collect::<Result<_, _>>()?;
            sendable(fault.as_ref(), spot)?;
            Ok(Reply::Turn(
                Turn {
                    reasoning,
                    text,
                    calls,
                },
                fault,
            ))
        }
        (None, None, Some(fail)) => {
            absent(text.is_some(), "text", "calls", spot)?;
            absent(reasoning.is_some(), "reasoning", "say or calls", spot)?;
            absent(fault.is_some(), "fault", "say or calls", spot)?;
            status(&fail, spot)?;
            Ok(Reply::Fail(fail, times))
        }
        (say, calls, fail) => {
            let given: Vec<&str> = [
                (say.is_some(), "say"),
                (calls.is_some(), "calls"),
                (fail.is_some(), "fail"),
            ]
            .into_iter()
            .filter_map(|(is_given, key)| is_given.then_some(key))
            .collect();
            let found = if given.is_empty() {
                "none".to_owned()
            } else {
                given.join(" and ")
            };
            unsound(
                spot.path.clone(),
                format!("give exactly one of say, calls, fail; found {found}"),
            )
        }
    }
}

fn call(
    row: CallRow,
    index: usize,
    spot: &Spot,
    ids: &mut HashSet<String>,
) -> Result<Call, ScriptError> {
    let path = format!("{}.calls[{index}]", spot.path);
    let id = row
        .id
        .unwrap_or_else(|| format!("call_{}_{}_{index}", spot.session, spot.step));
    if !ids.insert(id.clone()) {
        return unsound(
            format!("{path}.id"),
            format!("`{id}` is the id of another call"),
        );
    }
    let tool = match (row.tool.name, row.tool.of, row.tool.raw) {
        (Some(name), None, None) => Tool::Exact(name),
        (Some(name), Some(of), None) => Tool::Within { of, name },
        (None, None, Some(name)) => Tool::Unchecked(name),
        _ => {
            return unsound(
                format!("{path}.tool"),
                "give {name}, {of, name} or {raw}, and nothing beside it".to_owned(),
            );
        }
    };
    let arguments = match (row.arguments, row.arguments_raw) {
        (Some(value), None) => {
            Arguments::Json(
                Template::new(&value).map_err(|source| ScriptError::Capture {
                    path: format!("{path}.arguments"),
                    source,
                })?,
            )
        }
        (None, Some(text)) => Arguments::Verbatim(text),
        _ => {
            return unsound(
                path,
                "give exactly one of arguments, arguments_raw".to_owned(),
            );
        }
    };
    Ok(Call {
        id,
        tool,
        arguments,
    })
}

/// A content type must be able to stand in a header.
fn sendable(fault: Option<&Fault>, spot: &Spot) -> Result<(), ScriptError> {
    if let Some(Fault::ContentType(text)) = fault
        && HeaderValue::from_str(text).is_err()
    {
        return unsound(
            format!("{}.fault.content-type", spot.path),
            format!("{text:?} is no header value"),
        );
    }
    Ok(())
}

fn status(fail: &Fail, spot: &Spot) -> Result<(), ScriptError> {
    let Fail::Status { code, headers, .. } = fail else {
        return Ok(());
    };
    let path = format!("{}.fail.status", spot.path);
    // hyper takes 1xx for an interim answer and would wait for another one.
    if !(200..=599).contains(code) {
        return unsound(
            format!("{path}.code"),
            format!("{code} is not in 200 to 599"),
        );
    }
    for (name, value) in headers {
        if HeaderName::from_bytes(name.as_bytes()).is_err() || HeaderValue::from_str(value).is_err()
        {
            return unsound(
                format!("{path}.headers"),
                format!("`{name}: {value}` is no header"),
            );
        }
    }
    Ok(())
}

fn absent(is_given: bool, key: &str, partner: &str, spot: &Spot) -> Result<(), ScriptError> {
    if is_given {
        return unsound(
            format!("{}.{key}", spot.path),
            format!("`{key}` goes only with {partner}"),
        );
    }
    Ok(())
}

fn unsound<T>(path: String, problem: String) -> Result<T, ScriptError> {
    Err(ScriptError::Unsound { path, problem })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn refusal(script: &Value) -> String {
        Script::from_json(script).unwrap_err().to_string()
    }

    fn with_reply(reply: &Value) -> Value {
        json!({"sessions": [{"name": "main", "opening": "[main]"}],
               "replies": [{"session": "main", "step": 0, "reply": reply}]})
    }

    #[test]
    fn a_call_without_an_id_gets_one_made_of_its_place() {
        let json = with_reply(&json!({"calls": [{"tool": {"name": "bash"}, "arguments": {}}]}));
        let script = Script::from_json(&json).unwrap();
        let Reply::Turn(turn, None) = &script.sessions[0].steps[0].reply else {
            panic!("a turn")
        };
        assert_eq!(turn.calls[0].id, "call_main_0_0");
    }

    #[test]
    fn a_misspelt_key_is_shown_at_its_path() {
        insta::assert_snapshot!(refusal(&with_reply(&json!({"sey": "hi"}))),
            @"script at `replies[0].reply.sey`: unknown field `sey`, expected one of `say`, `calls`, `fail`, `text`, `reasoning`, `fault`, `times`");
        insta::assert_snapshot!(refusal(&with_reply(&json!({"say": "hi", "fault": "no-don"}))),
            @"script at `replies[0].reply.fault`: unknown variant `no-don`, expected one of `drop-after`, `hang-after`, `cut`, `malformed-after`, `error-after`, `content-type`, `finish`, `no-done`, `no-usage`, `no-index`");
    }

    #[test]
    fn a_reply_is_exactly_one_thing() {
        insta::assert_snapshot!(refusal(&with_reply(&json!({"say": "hi", "fail": "drop"}))),
            @"script at `replies[0].reply`: give exactly one of say, calls, fail; found say and fail");
        insta::assert_snapshot!(refusal(&with_reply(&json!({}))),
            @"script at `replies[0].reply`: give exactly one of say, calls, fail; found none");
        insta::assert_snapshot!(refusal(&with_reply(&json!({"fail": "drop", "fault": "cut"}))),
            @"script at `replies[0].reply.fault`: `fault` goes only with say or calls");
    }

    #[test]
    fn steps_sessions_openings_and_ids_are_checked() {
        let sessions = json!([{"name": "a", "opening": "[a]"}]);
        let say = |step: usize| json!({"session": "a", "step": step, "reply": {"say": "x"}});
        insta::assert_snapshot!(refusal(&json!({"sessions": sessions, "replies": [say(0), say(2)]})),
            @"script at `replies[1].step`: step 2 of session `a` stands where its step 1 must; steps count from 0, in order");
        insta::assert_snapshot!(refusal(&json!({"sessions": [], "replies": [say(0)]})),
            @"script at `replies[0].session`: no session is named `a`; add it to `sessions`");
        insta::assert_snapshot!(
            refusal(&json!({"sessions": [{"name": "a", "opening": "x"}, {"name": "b", "opening": "x"}], "replies": []})),
            @"script at `sessions[1].opening`: session `a` opens with the same words");
        let twice = json!({"id": "c1", "tool": {"name": "bash"}, "arguments": {}});
        insta::assert_snapshot!(refusal(&with_reply(&json!({"calls": [twice, twice]}))),
            @"script at `replies[0].reply.calls[1].id`: `c1` is the id of another call");
    }

    #[test]
    fn a_capture_needs_one_group() {
        let call =
            json!({"tool": {"name": "bash"}, "arguments": {"a": {"$capture": {"pattern": "x+"}}}});
        insta::assert_snapshot!(refusal(&with_reply(&json!({"calls": [call]}))),
            @"script at `replies[0].reply.calls[0].arguments`: pattern `x+` has 0 groups; it needs exactly one");
    }
}
