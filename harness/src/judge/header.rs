//! Checks on the persisted header of a session.

use super::context::{Judged, Reading, Resolved};
use crate::scenario::{Header, Value};
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
