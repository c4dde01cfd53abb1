//! Checks on what the agent itself recorded: headers, requests, events, driver outcomes.

use serde_json::Value as Json;

use super::context::{Judged, Reading, Resolved};
use crate::scenario::{DriverOutcome, Header, SessionOnly, Value};
use crate::verdict::Class;

/// The persisted header of a session.
pub(super) fn header(wanted: &Header, reading: &Reading<'_>) -> Judged {
    let log = match reading.session(&wanted.session) {
        Ok(log) => log,
        Err(why) => return Judged::unobserved(why),
    };
    let mut judged = Judged::reading([log.file.clone()]);
    let fields: [(&str, Option<&Value>, Option<&str>); 3] = [
        ("id", wanted.id.as_ref(), log.id()),
        ("parentSession", wanted.parent.as_ref(), log.parent()),
        ("cwd", wanted.cwd.as_ref(), log.cwd()),
    ];
    for (name, value, seen) in fields {
        let Some(value) = value else { continue };
        match reading.resolve(value) {
            Err(why) => return Judged::unobserved(why),
            Ok(expected) => match (&expected, seen) {
                (Resolved::Absent, None) | (Resolved::Present, Some(_)) => {}
                (Resolved::Text(text), Some(seen)) if text == seen => {}
                (Resolved::Absent, Some(seen)) => {
                    judged.fail(Class::Leaked, format!("the header has {name} `{seen}`"));
                }
                (_, None) => judged.fail(
                    Class::Missing,
                    format!(
                        "the header has no {name}, {} was expected",
                        expected.shown()
                    ),
                ),
                (_, Some(seen)) => judged.fail(
                    Class::WrongValue,
                    format!(
                        "the header's {name} is `{seen}`, {} was expected",
                        expected.shown()
                    ),
                ),
            },
        }
    }
    judged
}

/// Every tool of the persisted request header is, but for its envelope, the one that went over the
/// wire: same names in the same order, same descriptions, same parameters.
pub(super) fn logged_tools(wanted: &SessionOnly, reading: &Reading<'_>) -> Judged {
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

/// The set of event types in the log is the pinned one of this build.
pub(super) fn logged_events(wanted: &SessionOnly, reading: &Reading<'_>) -> Judged {
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
        if !reading
            .build
            .event_types
            .iter()
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

/// What a driver operation came back with.
pub(super) fn outcome(wanted: &DriverOutcome, reading: &Reading<'_>) -> Judged {
    let launch = wanted.launch.as_deref().unwrap_or("main");
    let Some(found) = reading.evidence.outcome(launch, &wanted.of) else {
        return Judged::unobserved(format!("the operation `{}` left no outcome", wanted.of));
    };
    let mut judged = Judged::reading([format!("launch/{launch}/outcomes.jsonl")]);
    let ok = found.get("ok").and_then(Json::as_bool).unwrap_or(false);
    let error = found
        .get("error")
        .map(ToString::to_string)
        .unwrap_or_default();
    if let Some(expected) = wanted.ok
        && expected != ok
    {
        let class = if ok { Class::Leaked } else { Class::Refused };
        let came = if ok {
            "succeeded".to_owned()
        } else {
            format!("failed: {error}")
        };
        judged.fail(class, format!("the operation `{}` {came}", wanted.of));
        return judged;
    }
    if let Some(text) = &wanted.error
        && !error.contains(text.as_str())
    {
        judged.fail(
            Class::WrongValue,
            format!(
                "`{}` failed with {error}, `{text}` was expected in it",
                wanted.of
            ),
        );
    }
    let Some(at) = &wanted.at else { return judged };
    let place = found.get("value").unwrap_or(&Json::Null).pointer(at);
    if let Some(expected) = &wanted.is {
        let expected = serde_json::json!(expected);
        match place {
            Some(seen) if *seen == expected => {}
            Some(seen) => judged.fail(
                Class::WrongValue,
                format!("`{}`{at} is {seen}, {expected} was expected", wanted.of),
            ),
            None => judged.fail(
                Class::Missing,
                format!("`{}` has no value at {at}", wanted.of),
            ),
        }
    }
    if let Some(value) = &wanted.value {
        let expected = match reading.resolve(value) {
            Ok(expected) => expected,
            Err(why) => return Judged::unobserved(why),
        };
        match (&expected, place) {
            (Resolved::Absent, None | Some(Json::Null)) => {}
            (Resolved::Present, Some(seen)) if !seen.is_null() => {}
            (Resolved::Text(text), Some(Json::String(seen))) if text == seen => {}
            (_, None) => {
                judged.fail(
                    Class::Missing,
                    format!("`{}` has no value at {at}", wanted.of),
                );
            }
            (_, Some(seen)) => judged.fail(
                if expected == Resolved::Absent {
                    Class::Leaked
                } else {
                    Class::WrongValue
                },
                format!(
                    "`{}`{at} is {seen}, {} was expected",
                    wanted.of,
                    expected.shown()
                ),
            ),
        }
    }
    judged
}
