//! Checks on plumb's identity hook, which gives the resume proof, and on where the secrets of a run stand.

use serde_json::Value;

use super::calls;
use super::context::{Judged, Reading};
use super::plumb::is_minted_for;
use crate::evidence::secrets::{Count, SecretKind};
use crate::evidence::tap::{Direction, Tap};
use crate::scenario::{Hook, Secrets};
use crate::verdict::Class;

/// What the hook was told: the first line of its standard input.
fn event(tap: &Tap) -> Option<&Value> {
    tap.frames
        .iter()
        .find(|frame| frame.direction == Direction::ToServer)
        .map(|frame| &frame.message)
}

/// How the hook was asked for a session's proof.
pub(super) fn hook(wanted: &Hook, reading: &Reading<'_>) -> Judged {
    let id = match reading.session_id(&wanted.session) {
        Ok(id) => id,
        Err(why) => return Judged::unobserved(why),
    };
    if reading.evidence.taps.is_empty() {
        return Judged::unobserved("no plumb process ran through the tap");
    }
    let text = |event: &Value, key: &str| event.get(key)?.as_str().map(str::to_owned);
    let own: Vec<(&Tap, &Value)> = reading
        .evidence
        .taps
        .iter()
        .filter(|tap| tap.words == ["hooks", "run-claude"])
        .filter_map(|tap| Some((tap, event(tap)?)))
        .filter(|(_, event)| {
            text(event, "session_id").is_some_and(|named| is_minted_for(&named, &id))
        })
        .collect();
    let mut judged = Judged::reading(own.iter().map(|(tap, _)| tap.file.clone()));
    if own.len() != wanted.times {
        let class = match (own.len() < wanted.times, wanted.times) {
            (true, _) => Class::Missing,
            (false, 0) => Class::Leaked,
            (false, _) => Class::Duplicate,
        };
        judged.fail(
            class,
            format!(
                "the hook was asked {} times for `{}`, {} expected",
                own.len(),
                wanted.session,
                wanted.times
            ),
        );
    }
    for (tap, event) in own {
        for (key, expected) in [
            ("hook_event_name", "PreToolUse"),
            ("tool_name", "mcp__plumb__session_start"),
        ] {
            let seen = text(event, key).unwrap_or_default();
            if seen != expected {
                judged.fail(
                    Class::WrongValue,
                    format!("the hook was told {key} `{seen}`, `{expected}` expected"),
                );
            }
        }
        if let Some(witness) = &wanted.witness
            && !tap.env.contains_key(witness)
        {
            return Judged::unobserved(format!(
                "the hook has no {witness}: what it lacks proves nothing"
            ));
        }
        for name in wanted
            .lacks
            .iter()
            .filter(|name| tap.env.contains_key(*name))
        {
            judged.fail(Class::Leaked, format!("the hook was given {name}"));
        }
        if wanted.at_least.is_some() || wanted.at_most.is_some() {
            bounded(wanted, tap, reading, &mut judged);
        }
    }
    judged
}

/// How long after the hook was started the declaration went out.
fn bounded(wanted: &Hook, hook: &Tap, reading: &Reading<'_>, judged: &mut Judged) {
    let declared = calls::all(reading)
        .into_iter()
        .map(|(_, call)| call)
        .find(|call| call.tool == "session_start" && call.t_us >= hook.started_us);
    let Some(declared) = declared else {
        judged.fail(Class::Missing, "no declaration followed the hook");
        return;
    };
    let took = std::time::Duration::from_micros(declared.t_us - hook.started_us);
    if wanted.at_least.is_some_and(|least| took < least)
        || wanted.at_most.is_some_and(|most| took > most)
    {
        judged.fail(
            Class::WrongValue,
            format!(
                "the declaration went out {} ms after the hook was started; at least {:?} and at most {:?} expected",
                took.as_millis(),
                wanted.at_least.unwrap_or_default(),
                wanted.at_most
            ),
        );
    }
}

/// Secrets went over plumb's wires and stand nowhere else.
pub(super) fn secrets(wanted: &Secrets, reading: &Reading<'_>) -> Judged {
    let found = &reading.evidence.facts.hidden_in;
    let mut judged = Judged::reading(["facts.json".to_owned()]);
    // The timeline repeats the wires.
    let is_wire = |file: &str| file.starts_with("mcp/") || file == "timeline.jsonl";
    let most = found.iter().filter(|(file, _)| file.starts_with("mcp/"));
    let proofs = |count: &Count| {
        let proofs = count.get(&SecretKind::ResumeProof);
        proofs.copied().unwrap_or_default()
    };
    let most = most.map(|(_, count)| proofs(count)).sum::<usize>();
    if most < wanted.at_least {
        return Judged::unobserved(format!(
            "{most} secrets stood on plumb's wires, at least {} expected: nothing was there to be kept",
            wanted.at_least
        ));
    }
    for (file, count) in found.iter().filter(|(file, _)| !is_wire(file)) {
        let count = proofs(count);
        if count == 0 {
            continue;
        }
        judged.fail(Class::Leaked, format!("{count} secrets stood in {file}"));
    }
    judged
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::hook;
    use crate::evidence::tap::{Direction, Tap};
    use crate::judge::wires::{MINTED, frame, judged, process};
    use crate::scenario::Hook;
    use crate::verdict::Class;

    fn asked(variables: &[&str]) -> Tap {
        let mut tap = process(&["hooks", "run-claude"]);
        let event = json!({
            "session_id": MINTED, "hook_event_name": "PreToolUse",
            "tool_name": "mcp__plumb__session_start", "tool_input": {},
        });
        tap.frames.push(frame(0, Direction::ToServer, event));
        for name in variables {
            tap.env.insert((*name).to_owned(), "set".to_owned());
        }
        tap
    }

    #[track_caller]
    fn check(taps: Vec<Tap>, expected: Option<Class>, unobserved: bool) {
        let wanted = Hook {
            session: "main".into(),
            times: 1,
            lacks: vec!["PLUMB_IDENTITY_HOOK".into()],
            witness: Some("PLUMB_CANARY".into()),
            ..Hook::default()
        };
        let judged = judged(taps, Vec::new(), |reading| hook(&wanted, reading));
        let class = judged.symptoms.first().map(|(class, _)| *class);
        assert_eq!(class, expected, "{:?}", judged.symptoms);
        assert_eq!(judged.unobserved.is_some(), unobserved);
    }

    #[test]
    fn a_hook_that_was_asked_once_without_the_switch_is_as_it_should_be() {
        check(vec![asked(&["PLUMB_CANARY"])], None, false);
    }

    #[test]
    fn a_switch_that_was_passed_on_is_leaked_and_without_a_witness_nothing_is_known() {
        let both = asked(&["PLUMB_CANARY", "PLUMB_IDENTITY_HOOK"]);
        check(vec![both], Some(Class::Leaked), false);
        check(vec![asked(&[])], None, true);
    }

    #[test]
    fn a_hook_that_was_never_asked_or_twice_is_told_apart() {
        check(vec![process(&["serve"])], Some(Class::Missing), false);
        let twice = vec![asked(&["PLUMB_CANARY"]), asked(&["PLUMB_CANARY"])];
        check(twice, Some(Class::Duplicate), false);
    }
}
