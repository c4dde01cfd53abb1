//! Checks on what a command saw of its environment.

use super::context::{Judged, Reading, Resolved};
use crate::scenario::{Absent, Compare, Environment};
use crate::verdict::Class;

/// The prefix of the managed namespace (seed 000: `DSH_ENV_PREFIX`).
const PREFIX: &str = "DSH_";

/// Whether a name lies in the managed namespace, in any case of letters.
pub fn is_managed(name: &str) -> bool {
    name.get(..PREFIX.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(PREFIX))
}

/// The values a probe saw, and with `exactly` that there are no further managed ones.
pub(super) fn environment(wanted: &Environment, reading: &Reading<'_>) -> Judged {
    let probe = match reading.probe(&wanted.probe) {
        Ok(probe) => probe,
        Err(why) => return Judged::unobserved(why),
    };
    let mut judged = Judged::reading([probe.file.clone()]);
    for (name, value) in &wanted.has {
        let expected = match reading.resolve(value) {
            Ok(expected) => expected,
            Err(why) => return Judged::unobserved(why),
        };
        let seen = probe.get(name);
        match (&expected, seen) {
            (Resolved::Absent, None) | (Resolved::Present, Some(_)) => {}
            (Resolved::Absent, Some(seen)) => {
                judged.fail(Class::Leaked, format!("{name} is there: `{seen}`"));
            }
            (_, None) => judged.fail(
                Class::Missing,
                format!("{name} is not there, {} was expected", expected.shown()),
            ),
            (Resolved::Text(text), Some(seen)) if text == seen => {}
            (_, Some(seen)) => judged.fail(
                Class::WrongValue,
                format!("{name} is `{seen}`, {} was expected", expected.shown()),
            ),
        }
    }
    if wanted.exactly {
        for (name, value) in probe.entries.iter().filter(|(name, _)| is_managed(name)) {
            let stated = wanted.has.contains_key(name);
            if !stated && !reading.build.further_variables.contains(name) {
                judged.fail(Class::Leaked, format!("{name} is there: `{value}`"));
            }
        }
        for name in &reading.build.further_variables {
            if probe.get(name).is_none() {
                judged.fail(
                    Class::Missing,
                    format!("{name} is not there (the build adds it)"),
                );
            }
        }
    }
    judged
}

/// Names that must be missing, beside a witness that the same probe saw.
pub(super) fn absent(wanted: &Absent, reading: &Reading<'_>) -> Judged {
    let probe = match reading.probe(&wanted.probe) {
        Ok(probe) => probe,
        Err(why) => return Judged::unobserved(why),
    };
    if probe.get(&wanted.witness).is_none() {
        return Judged::unobserved(format!(
            "the witness {} was planted and not seen: this probe proves no absence",
            wanted.witness
        ));
    }
    let mut judged = Judged::reading([probe.file.clone()]);
    for name in &wanted.names {
        if let Some(seen) = probe.get(name) {
            judged.fail(Class::Leaked, format!("{name} is there: `{seen}`"));
        }
    }
    judged
}

/// Values that must all differ, or all be equal.
pub(super) fn compare(wanted: &Compare, reading: &Reading<'_>) -> Judged {
    let (values, different) = match wanted {
        Compare::Different(values) => (values, true),
        Compare::Equal(values) => (values, false),
    };
    let mut texts = Vec::new();
    for value in values {
        match reading.resolve(value) {
            Ok(Resolved::Text(text)) => texts.push(text),
            Ok(other) => {
                return Judged::unobserved(format!("a value to compare is {}", other.shown()));
            }
            Err(why) => return Judged::unobserved(why),
        }
    }
    let mut judged = Judged::default();
    for (idx, one) in texts.iter().enumerate() {
        for other in &texts[idx + 1..] {
            if different && one == other {
                judged.fail(Class::Duplicate, format!("`{one}` is there twice"));
            }
            if !different && one != other {
                judged.fail(Class::WrongValue, format!("`{one}` and `{other}` differ"));
            }
        }
    }
    judged
}

/// Two commands that were alive at the same moment: each probe was written while the other's
/// command held.
pub(super) fn overlap(names: &[String], reading: &Reading<'_>) -> Judged {
    let mut spans = Vec::new();
    for name in names {
        match reading.evidence.holds.get(name) {
            Some(hold) => spans.push((name, hold.from_us, hold.to_us)),
            None => return Judged::unobserved(format!("the hold `{name}` never stood")),
        }
    }
    let mut judged = Judged::reading(names.iter().map(|name| format!("holds/{name}.json")));
    let latest_start = spans.iter().map(|span| span.1).max().unwrap_or_default();
    let first_end = spans.iter().map(|span| span.2).min().unwrap_or_default();
    if latest_start > first_end {
        judged.fail(
            Class::Order,
            format!(
                "{} did not overlap: one ended before the other began",
                names.join(" and ")
            ),
        );
    }
    judged
}
