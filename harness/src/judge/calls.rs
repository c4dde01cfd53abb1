//! Checks on the calls that went to plumb, as the tap saw them: tools, order, arguments, answers, stamps.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::context::{Judged, Reading, Resolved};
use super::model::{plain, shorten};
use super::plumb::is_minted_for;
use crate::evidence::tap::{Tap, ToolCall};
use crate::scenario::Calls;
use crate::verdict::Class;

/// The channel on which a call names its agent (seed 002).
const STAMP: &str = "dev.plumbkit/logical-agent";

/// The name under which dsh's own MCP client introduces itself (measured on both builds).
const SHARED_CLIENT: &str = "dsh-mcp-client";

/// A call, with the connection that carried it.
pub(super) type Carried<'a> = (&'a Tap, ToolCall);

/// Every `tools/call` of the run, in the order of time; the harness's own are left out.
pub(super) fn all<'a>(reading: &Reading<'a>) -> Vec<Carried<'a>> {
    let mut calls: Vec<Carried<'a>> = reading
        .evidence
        .taps
        .iter()
        .filter(|tap| tap.is_serve() && tap.client() != Some(crate::drive::NOTE_CLIENT))
        .flat_map(|tap| tap.calls().into_iter().map(move |call| (tap, call)))
        .collect();
    calls.sort_by_key(|(_, call)| call.t_us);
    calls
}

/// Whether the connection is the one that dsh itself opened.
fn is_shared(tap: &Tap) -> bool {
    // A server that answered dsh's probe sees no introduction at all; the plugin always introduces itself.
    tap.client().is_none_or(|client| client == SHARED_CLIENT)
}

/// The stamp in a call's `_meta`.
fn stamp(call: &ToolCall) -> Option<&str> {
    call.meta.as_ref()?.get(STAMP)?.as_str()
}

/// The id in whose name a call was made: on an agent's own connection the first that was declared there, on the shared
/// one the call's stamp or the id it declares.
fn speaker(tap: &Tap, call: &ToolCall) -> Option<String> {
    let typed = |call: &ToolCall| Some(call.arguments.get("session_id")?.as_str()?.to_owned());
    if is_shared(tap) {
        return stamp(call).map(str::to_owned).or_else(|| typed(call));
    }
    tap.calls()
        .iter()
        .filter(|call| call.tool == "session_start")
        .find_map(typed)
}

/// The calls that an expectation is about.
fn traffic<'a>(wanted: &Calls, reading: &Reading<'a>) -> Result<Vec<Carried<'a>>, String> {
    let calls = all(reading).into_iter();
    Ok(match (&wanted.session, &wanted.shared) {
        (Some(session), _) => {
            let id = reading.session_id(session)?;
            calls
                .filter(|(tap, call)| {
                    speaker(tap, call).is_some_and(|speaker| is_minted_for(&speaker, &id))
                })
                .collect()
        }
        (None, Some(_)) => calls.filter(|(tap, _)| is_shared(tap)).collect(),
        (None, None) => calls.collect(),
    })
}

/// Which calls went to plumb.
pub(super) fn calls(wanted: &Calls, reading: &Reading<'_>) -> Judged {
    if reading.evidence.taps.is_empty() {
        return Judged::unobserved("no plumb process ran through the tap");
    }
    let calls = match traffic(wanted, reading) {
        Ok(calls) => calls,
        Err(why) => return Judged::unobserved(why),
    };
    let files: BTreeSet<String> = calls.iter().map(|(tap, _)| tap.file.clone()).collect();
    let mut judged = Judged::reading(files);
    sequence(wanted, &calls, &mut judged);
    if let Err(why) = arguments(wanted, &calls, reading, &mut judged) {
        return Judged::unobserved(why);
    }
    answers(wanted, &calls, &mut judged);
    if let Some(stamped) = &wanted.stamped {
        stamps(stamped, &calls, &mut judged);
    }
    if let Some(at_once) = wanted.at_once {
        let seen = most_at_once(&calls);
        if seen != at_once {
            judged.fail(
                Class::WrongValue,
                format!("{seen} calls were under way at once, {at_once} expected"),
            );
        }
    }
    judged
}

fn sequence(wanted: &Calls, calls: &[Carried<'_>], judged: &mut Judged) {
    let seen: Vec<&str> = calls.iter().map(|(_, call)| call.tool.as_str()).collect();
    if seen == wanted.calls {
        return;
    }
    let mut sorted = (
        seen.clone(),
        wanted.calls.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    sorted.0.sort_unstable();
    sorted.1.sort_unstable();
    let class = if sorted.0 == sorted.1 {
        Class::Order
    } else if wanted.calls.is_empty() {
        Class::Leaked
    } else if seen.len() > wanted.calls.len() {
        Class::Duplicate
    } else if seen.len() < wanted.calls.len() {
        Class::Missing
    } else {
        Class::WrongValue
    };
    judged.fail(
        class,
        format!("the calls were {seen:?}, {:?} expected", wanted.calls),
    );
}

/// The call at a position that an expectation names.
fn at<'a>(
    position: &str,
    calls: &'a [Carried<'_>],
    judged: &mut Judged,
) -> Option<(usize, &'a ToolCall)> {
    let found = position
        .parse::<usize>()
        .ok()
        .and_then(|idx| Some((idx, &calls.get(idx)?.1)));
    if found.is_none() {
        judged.fail(Class::Missing, format!("there is no call {position}"));
    }
    found
}

fn arguments(
    wanted: &Calls,
    calls: &[Carried<'_>],
    reading: &Reading<'_>,
    judged: &mut Judged,
) -> Result<(), String> {
    let positions: BTreeSet<&String> = wanted
        .arguments
        .keys()
        .chain(wanted.values.keys())
        .collect();
    for position in positions {
        let Some((idx, call)) = at(position, calls, judged) else {
            continue;
        };
        let mut stated: Vec<(&String, Resolved)> = Vec::new();
        let mut literal = Vec::new();
        for (key, value) in wanted.arguments.get(position).into_iter().flatten() {
            literal.push((key, json!(value)));
        }
        for (key, value) in wanted.values.get(position).into_iter().flatten() {
            stated.push((key, reading.resolve(value)?));
        }
        let mut differ = |key: &str, class: Class, expected: &str| {
            let seen = call.arguments.get(key).map_or("nothing".to_owned(), plain);
            judged.fail(
                class,
                format!(
                    "call {idx} ({}) has {key} {seen}, {expected} expected",
                    call.tool
                ),
            );
        };
        for (key, expected) in &literal {
            if call.arguments.get(*key) != Some(expected) {
                differ(key, Class::WrongValue, &plain(expected));
            }
        }
        for (key, expected) in &stated {
            let seen = call.arguments.get(*key);
            let class = match (expected, seen) {
                (Resolved::Absent, None) | (Resolved::Present, Some(_)) => continue,
                (Resolved::Text(text), Some(Value::String(seen))) if seen == text => continue,
                (Resolved::Absent, Some(_)) => Class::Leaked,
                (_, None) => Class::Missing,
                _ => Class::WrongValue,
            };
            differ(key, class, &expected.shown());
        }
        if wanted.exactly {
            let is_stated = |key: &String| {
                literal.iter().any(|(other, _)| *other == key)
                    || stated.iter().any(|(other, _)| *other == key)
            };
            for key in call.arguments.as_object().into_iter().flatten() {
                if !is_stated(key.0) {
                    differ(key.0, Class::Leaked, "nothing");
                }
            }
        }
    }
    Ok(())
}

fn answers(wanted: &Calls, calls: &[Carried<'_>], judged: &mut Judged) {
    for (position, text) in &wanted.answers {
        let Some((idx, call)) = at(position, calls, judged) else {
            continue;
        };
        let answer = call.text();
        if !answer.contains(text.as_str()) {
            judged.fail(
                Class::WrongValue,
                format!(
                    "call {idx} ({}) was answered `{}`, `{text}` expected in it",
                    call.tool,
                    shorten(&answer)
                ),
            );
        }
    }
}

fn stamps(stamped: &[usize], calls: &[Carried<'_>], judged: &mut Judged) {
    for (idx, (_, call)) in calls.iter().enumerate() {
        match (stamp(call), stamped.contains(&idx)) {
            (Some(_), true) | (None, false) => {}
            (None, true) => judged.fail(
                Class::Missing,
                format!("call {idx} ({}) carries no stamp", call.tool),
            ),
            (Some(id), false) => judged.fail(
                Class::Leaked,
                format!("call {idx} ({}) carries the stamp {id}", call.tool),
            ),
        }
    }
}

/// How many calls were under way at once at the most: sent, and not yet answered.
fn most_at_once(calls: &[Carried<'_>]) -> usize {
    calls
        .iter()
        .map(|(_, one)| {
            let under_way = |other: &ToolCall| {
                other.t_us <= one.t_us && other.answered_us.is_none_or(|at| at > one.t_us)
            };
            calls.iter().filter(|(_, other)| under_way(other)).count()
        })
        .max()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::calls;
    use crate::judge::wires::{MINTED, Sent, connection, judged};
    use crate::scenario::Calls;
    use crate::verdict::Class;

    fn declaration() -> Sent {
        (
            "session_start",
            json!({"session_id": MINTED, "mail": "preview"}),
            "hello",
            Value::Null,
        )
    }

    #[track_caller]
    fn check(wanted: &str, sent: &[Sent], expected: Option<Class>) {
        let wanted: Calls = toml::from_str(&format!("session = 'main'\n{wanted}")).unwrap();
        let judged = judged(vec![connection(sent)], Vec::new(), |reading| {
            calls(&wanted, reading)
        });
        assert_eq!(judged.unobserved, None);
        let class = judged.symptoms.first().map(|(class, _)| *class);
        assert_eq!(class, expected, "{:?}", judged.symptoms);
    }

    #[test]
    fn a_call_too_many_too_few_or_in_another_order_is_told_apart() {
        let read: Sent = ("read_file", json!({}), "text", Value::Null);
        let two = [declaration(), read.clone()];
        let all = "calls = ['session_start', 'read_file']";
        check(all, &two, None);
        check(all, &[declaration()], Some(Class::Missing));
        check(
            all,
            &[declaration(), read.clone(), read.clone()],
            Some(Class::Duplicate),
        );
        check(
            "calls = ['read_file', 'session_start']",
            &two,
            Some(Class::Order),
        );
        check("calls = []", &two, Some(Class::Leaked));
    }

    #[test]
    fn an_argument_that_differs_lacks_or_was_not_stated_is_told_apart() {
        let one = [declaration()];
        let with = |arguments: &str| {
            format!("calls = ['session_start']\nexactly = true\narguments.0 = {{ {arguments} }}")
        };
        let id = format!("session_id = '{MINTED}'");
        check(&with(&format!("{id}, mail = 'preview'")), &one, None);
        check(
            &with(&format!("{id}, mail = 'claim'")),
            &one,
            Some(Class::WrongValue),
        );
        check(&with(&id), &one, Some(Class::Leaked));
        let proof =
            "calls = ['session_start']\nvalues.0 = { plumb_hook_proof = { present = 'always' } }";
        check(proof, &one, Some(Class::Missing));
        let answers = "calls = ['session_start']\nanswers = { 0 = 'bye' }";
        check(answers, &one, Some(Class::WrongValue));
    }

    #[test]
    fn a_stamp_too_many_and_one_too_few_are_told_apart() {
        let stamped = (
            "git",
            json!({}),
            "",
            json!({"dev.plumbkit/logical-agent": MINTED}),
        );
        let sent = [declaration(), stamped];
        let all = "calls = ['session_start', 'git']";
        check(&format!("{all}\nstamped = [1]"), &sent, None);
        check(&format!("{all}\nstamped = []"), &sent, Some(Class::Leaked));
        check(
            &format!("{all}\nstamped = [0, 1]"),
            &sent,
            Some(Class::Missing),
        );
    }

    #[test]
    fn calls_that_follow_each_other_are_not_under_way_at_once() {
        let sent = [declaration(), ("git", json!({}), "", Value::Null)];
        let all = "calls = ['session_start', 'git']";
        check(&format!("{all}\nat_once = 1"), &sent, None);
        check(
            &format!("{all}\nat_once = 2"),
            &sent,
            Some(Class::WrongValue),
        );
    }
}
