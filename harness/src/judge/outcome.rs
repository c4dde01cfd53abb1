//! Checks on what an operation of the driver came back with.

use serde_json::Value as Json;

use super::context::{Judged, Reading, Resolved};
use crate::scenario::DriverOutcome;
use crate::verdict::Class;

/// What a driver operation came back with.
#[expect(
    clippy::too_many_lines,
    reason = "a row for each thing that can be asked"
)]
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
        // A refusal that had to come and did not is something missing.
        let class = if ok { Class::Missing } else { Class::Refused };
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
    if wanted.ok.is_none() && !ok {
        judged.fail(
            Class::Refused,
            format!("the operation `{}` failed: {error}", wanted.of),
        );
        return judged;
    }
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
    if let Some(entries) = &wanted.contains {
        let listed = place.and_then(Json::as_array);
        for entry in entries.iter().map(|entry| serde_json::json!(entry)) {
            if !listed.is_some_and(|listed| listed.contains(&entry)) {
                judged.fail(
                    Class::Missing,
                    format!("`{}`{at} does not list {entry}", wanted.of),
                );
            }
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

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::outcome;
    use crate::evidence::Evidence;
    use crate::judge::{BuildFacts, Reading};
    use crate::plan::tests_support::run_with_flips;
    use crate::scenario::DriverOutcome;
    use crate::verdict::Class;

    /// The class of what `wanted` (TOML) finds wrong with `seen`.
    #[track_caller]
    fn class(wanted: &str, seen: &Json) -> Option<Class> {
        let wanted: DriverOutcome = toml::from_str(&format!("of = 'it'\n{wanted}")).unwrap();
        let run = run_with_flips(Vec::new());
        let evidence = Evidence {
            outcomes: [("main".to_owned(), vec![seen.clone()])].into(),
            ..Evidence::default()
        };
        let judged = outcome(
            &wanted,
            &Reading::new(&run, &evidence, &BuildFacts::default()),
        );
        judged.symptoms.first().map(|one| one.0)
    }

    #[test]
    fn a_refusal_that_does_not_come_is_missing() {
        let done = json!({"as": "it", "ok": true});
        let refused = json!({"as": "it", "ok": false, "error": {"message": "taken"}});
        assert_eq!(class("ok = false", &done), Some(Class::Missing));
        assert_eq!(class("ok = false\nerror = 'taken'", &refused), None);
        assert_eq!(
            class("ok = false\nerror = 'other'", &refused),
            Some(Class::WrongValue)
        );
        assert_eq!(class("ok = true", &refused), Some(Class::Refused));
    }

    #[test]
    fn nothing_is_absent_in_an_operation_that_failed() {
        let failed = json!({"as": "it", "ok": false, "error": {"message": "broken"}});
        let absent = "at = '/location'\nvalue = { absent = 'always' }";
        assert_eq!(class(absent, &failed), Some(Class::Refused));
        let done = json!({"as": "it", "ok": true, "value": {}});
        assert_eq!(class(absent, &done), None);
        let there = json!({"as": "it", "ok": true, "value": {"location": "/x"}});
        assert_eq!(class(absent, &there), Some(Class::Leaked));
    }

    #[test]
    fn a_list_has_the_entries_that_are_named_beside_others() {
        let done = json!({"as": "it", "ok": true, "value": {"keys": ["a", "b"]}});
        assert_eq!(class("at = '/keys'\ncontains = ['b']", &done), None);
        assert_eq!(
            class("at = '/keys'\ncontains = ['c']", &done),
            Some(Class::Missing)
        );
    }
}
