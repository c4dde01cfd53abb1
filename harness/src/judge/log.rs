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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{events, results};
    use crate::evidence::Evidence;
    use crate::evidence::model::ModelEvent;
    use crate::evidence::session::SessionLog;
    use crate::judge::{BuildFacts, Reading};
    use crate::plan::{opening, tests_support::run_with_flips};
    use crate::scenario::SessionOnly;
    use crate::verdict::Class;

    /// A session whose log keeps `kept` as the result of its call, while the model was sent `sent`.
    fn evidence(kept: &serde_json::Value, sent: &str) -> Evidence {
        let log = [
            json!({"type": "session", "id": "s"}),
            json!({"type": "user/message", "data": {"content": opening("main")}}),
            json!({"type": "tool/result", "data": {"message": {"content": kept}}}),
        ]
        .map(|line| line.to_string())
        .join("\n");
        let body = json!({"messages": [{"role": "tool", "content": sent}]});
        Evidence {
            sessions: vec![SessionLog::parse("main", "f", &log)],
            model: vec![ModelEvent(
                json!({"event": "request", "kind": "main", "session": "main", "body": body}),
            )],
            ..Evidence::default()
        }
    }

    fn main() -> SessionOnly {
        SessionOnly {
            session: "main".into(),
        }
    }

    #[track_caller]
    fn check_results(kept: &serde_json::Value, sent: &str, expected: Option<Class>) {
        let run = run_with_flips(Vec::new());
        let (evidence, build) = (evidence(kept, sent), BuildFacts::default());
        let judged = results(&main(), &Reading::new(&run, &evidence, &build));
        assert_eq!(judged.symptoms.first().map(|one| one.0), expected);
    }

    #[test]
    fn a_result_is_durable_in_the_shape_of_either_build() {
        let flat = json!([{"type": "text", "text": "red kite"}]);
        let deep =
            json!([{"type": "tool-result", "content": [{"type": "text", "text": "red kite"}]}]);
        check_results(&flat, "red kite", None);
        check_results(&deep, "red kite", None);
        check_results(&deep, "black kite", Some(Class::WrongValue));
    }

    #[test]
    fn a_type_that_is_not_pinned_is_leaked_and_a_pinned_one_may_not_be_missing() {
        let evidence = evidence(&json!([]), "x");
        let run = run_with_flips(Vec::new());
        let check = |pinned: &[&str], packed: &[&str]| {
            let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let build = BuildFacts {
                event_types: own(pinned),
                packed_types: own(packed),
                ..BuildFacts::default()
            };
            let judged = events(&main(), &Reading::new(&run, &evidence, &build));
            judged.symptoms.first().map(|one| one.0)
        };
        assert_eq!(check(&["tool/result", "user/message"], &[]), None);
        assert_eq!(check(&["user/message"], &["tool/result"]), None);
        assert_eq!(check(&["user/message"], &[]), Some(Class::Leaked));
        assert_eq!(
            check(&["tool/result", "turn/end", "user/message"], &[]),
            Some(Class::Missing)
        );
    }
}
