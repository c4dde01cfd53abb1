//! Checks on the session's own log beside its header: the tools it kept, the results, the event types.

use serde_json::Value as Json;

use super::context::{Judged, Reading};
use super::model::shorten;
use crate::evidence::session::text_of;
use crate::scenario::SessionOnly;
use crate::verdict::Class;

/// Every tool of the persisted request header is, but for its envelope, the one that went over the
/// wire: same names in the same order, same descriptions, same parameters.
pub(super) fn tools(wanted: &SessionOnly, reading: &Reading<'_>) -> Judged {
    let log = match reading.session(&wanted.session) {
        Ok(log) => log,
        Err(why) => return Judged::unobserved(why),
    };
    let Some(logged) = log
        .of_type("request/header")
        .filter_map(|event| event.pointer("/data/header/tools")?.as_array())
        .last()
    else {
        return Judged::unobserved("the log has no request header with tools");
    };
    let Some(request) = reading
        .evidence
        .requests(&wanted.session)
        .into_iter()
        .next_back()
    else {
        return Judged::unobserved("the model was never asked by this session");
    };
    let mut judged = Judged::reading([log.file.clone(), "model.jsonl".to_owned()]);
    let wire: Vec<&Json> = request
        .tools()
        .iter()
        .filter_map(|tool| tool.get("function"))
        .collect();
    let names = |tools: &mut dyn Iterator<Item = &Json>| -> Vec<String> {
        tools
            .map(|tool| {
                tool.get("name")
                    .and_then(Json::as_str)
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect()
    };
    let (logged_names, wire_names) = (names(&mut logged.iter()), names(&mut wire.iter().copied()));
    if logged_names != wire_names {
        judged.fail(
            Class::WrongValue,
            format!("the log names the tools {logged_names:?}, the wire had {wire_names:?}"),
        );
        return judged;
    }
    for (kept, sent) in logged.iter().zip(wire) {
        for key in ["description", "parameters"] {
            if kept.get(key) != sent.get(key) {
                let name = kept.get("name").and_then(Json::as_str).unwrap_or_default();
                judged.fail(
                    Class::WrongValue,
                    format!("the {key} of `{name}` in the log is not the one on the wire"),
                );
            }
        }
    }
    judged
}

/// Every tool result that the model was sent stands in the log as a durable event, word for word and in that order.
pub(super) fn results(wanted: &SessionOnly, reading: &Reading<'_>) -> Judged {
    let log = match reading.session(&wanted.session) {
        Ok(log) => log,
        Err(why) => return Judged::unobserved(why),
    };
    let sent = reading
        .evidence
        .requests(&wanted.session)
        .last()
        .map(|request| request.texts("tool"))
        .unwrap_or_default();
    if sent.is_empty() {
        return Judged::unobserved("the model was sent no tool result");
    }
    let kept: Vec<String> = log
        .of_type("tool/result")
        .filter_map(|event| event.pointer("/data/message/content"))
        .map(result_text)
        .collect();
    let mut judged = Judged::reading([log.file.clone(), "model.jsonl".to_owned()]);
    for (idx, text) in sent.iter().enumerate() {
        match kept.get(idx) {
            Some(kept) if kept == text => {}
            Some(kept) => judged.fail(
                Class::WrongValue,
                format!(
                    "result {idx} is `{}` in the log, the model was sent `{}`",
                    shorten(kept),
                    shorten(text)
                ),
            ),
            None => judged.fail(
                Class::Missing,
                format!("result {idx} is not in the log: `{}`", shorten(text)),
            ),
        }
    }
    judged
}

/// The text of a logged tool result: rc8 keeps it one level deeper than 0.2.1 (measured).
fn result_text(content: &Json) -> String {
    match content.pointer("/0/content") {
        Some(inner) => text_of(inner),
        None => text_of(content),
    }
}

/// The set of event types in the log is the pinned one of this build.
pub(super) fn events(wanted: &SessionOnly, reading: &Reading<'_>) -> Judged {
    let log = match reading.session(&wanted.session) {
        Ok(log) => log,
        Err(why) => return Judged::unobserved(why),
    };
    if reading.build.event_types.is_empty() {
        return Judged::unobserved("the build's folder pins no event types");
    }
    let mut seen: Vec<&str> = log
        .events
        .iter()
        .filter_map(|event| event.get("type")?.as_str())
        .collect();
    seen.sort_unstable();
    seen.dedup();
    let mut judged = Judged::reading([log.file.clone()]);
    for kind in &seen {
        let pins = &reading.build;
        if !pins
            .event_types
            .iter()
            .chain(&pins.packed_types)
            .any(|pinned| pinned == kind)
        {
            judged.fail(
                Class::Leaked,
                format!("the event type `{kind}` is not pinned"),
            );
        }
    }
    for pinned in &reading.build.event_types {
        if !seen.contains(&pinned.as_str()) {
            judged.fail(
                Class::Missing,
                format!("the pinned event type `{pinned}` is not there"),
            );
        }
    }
    judged
}
