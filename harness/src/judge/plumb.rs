//! Checks on plumb's own records, on the tap, on effects and on the daemon's log.

use serde_json::Value;

use super::context::{Judged, Reading, Resolved};
use super::model::shorten;
use crate::plumb::records::Record;
use crate::scenario::{Declared, Effects, LogLines, Pins, Records};
use crate::verdict::Class;

/// The last part of a session id, without its separators: what a minted id ends with the start of.
fn bare(session_id: &str) -> String {
    session_id
        .trim_start_matches("session-")
        .chars()
        .filter(|c| *c != '-')
        .collect()
}

/// Whether `external` is an id minted for the session: its last segment starts the session's id.
/// At least four digits, since older plugins kept no more.
pub(crate) fn is_minted_for(external: &str, session_id: &str) -> bool {
    external
        .rsplit_once('-')
        .is_some_and(|(_, short)| short.len() >= 4 && bare(session_id).starts_with(short))
}

/// The records of a session: those that declared an id minted for it, or any id at all where it is the only one. A
/// record that is linked to another id by now is then still the session's.
fn of_session<'a>(session: &str, reading: &Reading<'a>) -> Result<Vec<&'a Record>, String> {
    let id = reading.session_id(session)?;
    let alone = reading.run.sessions.len() == 1;
    Ok(reading
        .evidence
        .records
        .iter()
        .filter(|record| !record.is_agent_row() && !record.external_id().is_empty())
        .filter(|record| alone || is_minted_for(record.external_id(), &id))
        .collect())
}

/// The one id, minted for it, that a session declared at plumb.
pub(super) fn declared_id(session: &str, reading: &Reading<'_>) -> Result<String, String> {
    let minted_for = reading.session_id(session)?;
    let own = of_session(session, reading)?;
    let mut ids: Vec<&str> = own.iter().map(|record| record.external_id()).collect();
    ids.retain(|id| is_minted_for(id, &minted_for));
    ids.sort_unstable();
    ids.dedup();
    match ids.as_slice() {
        [id] => Ok((*id).to_owned()),
        [] => Err(format!("no record declared an id of `{session}`")),
        many => Err(format!("`{session}` declared more than one id: {many:?}")),
    }
}

/// What plumb recorded.
#[expect(
    clippy::too_many_lines,
    reason = "a row for each thing that can be asked"
)]
pub(super) fn records(wanted: &Records, reading: &Reading<'_>) -> Judged {
    let all: Vec<&Record> = reading.evidence.records.iter().collect();
    if all.is_empty() {
        return Judged::unobserved("the namespace holds no record: nothing ever reached plumb");
    }
    let own = match &wanted.session {
        None => all
            .iter()
            .copied()
            .filter(|record| !record.is_agent_row())
            .collect(),
        Some(session) => match of_session(session, reading) {
            Ok(own) => own,
            Err(why) => return Judged::unobserved(why),
        },
    };
    let mut judged = Judged::reading(
        own.iter()
            .map(|record| format!("records/{}.json", record.id())),
    );
    judged.assumes.clone_from(&reading.evidence.facts.assumes);
    let mut ids: Vec<&str> = own.iter().map(|record| record.id()).collect();
    ids.sort_unstable();
    ids.dedup();
    let whose = wanted
        .session
        .as_deref()
        .map_or(String::new(), |name| format!(" of `{name}`"));
    let mut count = |expected: Option<usize>, seen: usize, what: &str| {
        let Some(expected) = expected else { return };
        if seen < expected {
            judged.fail(
                Class::Missing,
                format!("{seen} {what}{whose}, {expected} expected"),
            );
        } else if seen > expected {
            let class = if expected == 0 {
                Class::Leaked
            } else {
                Class::Duplicate
            };
            judged.fail(class, format!("{seen} {what}{whose}, {expected} expected"));
        }
    };
    count(
        wanted.connections,
        reading.evidence.connections(&own),
        "connections",
    );
    count(
        wanted.declared,
        own.iter().filter(|r| !r.external_id().is_empty()).count(),
        "declared",
    );
    let shared = own.iter().filter(|record| record.shared()).count();
    if let Some(expected) = wanted.session_ids
        && ids.len() != expected
    {
        judged.fail(
            Class::WrongValue,
            format!(
                "{expected} session ids{whose} expected, there are {}: {}",
                ids.len(),
                ids.join(", ")
            ),
        );
    }
    if let Some(expected) = wanted.shared
        && shared != expected
    {
        judged.fail(
            Class::SharedConnection,
            format!(
                "{shared} connections{whose} marked shared_connection_detected, {expected} expected"
            ),
        );
    }
    if let Some(least) = wanted.at_least
        && own.len() < least
    {
        judged.fail(
            Class::Missing,
            format!("{} records{whose}, at least {least} expected", own.len()),
        );
    }
    if let Some(clients) = &wanted.clients {
        for record in &own {
            if !clients.iter().any(|client| client == record.client()) {
                judged.fail(
                    Class::WrongValue,
                    format!("record {} is of client `{}`", record.id(), record.client()),
                );
            }
        }
    }
    if let Some(never) = &wanted.never {
        let linked = all.iter().any(|record| record.external_id() == never)
            || reading
                .evidence
                .taps
                .iter()
                .any(|tap| tap.declared().contains(never));
        if linked {
            judged.fail(
                Class::Leaked,
                format!("the model's own session_id {never} became a declared linkage"),
            );
        }
    }
    judged
}

/// What a session declared.
pub(super) fn declared(wanted: &Declared, reading: &Reading<'_>) -> Judged {
    let own = match of_session(&wanted.session, reading) {
        Ok(own) => own,
        Err(why) => return Judged::unobserved(why),
    };
    let mut judged = Judged::reading(
        own.iter()
            .map(|record| format!("records/{}.json", record.id())),
    );
    if own.is_empty() {
        let all: Vec<&str> = reading
            .evidence
            .records
            .iter()
            .map(Record::external_id)
            .collect();
        judged.fail(
            Class::Missing,
            format!(
                "no record declared an id of `{}`; declared were {all:?}",
                wanted.session
            ),
        );
        return judged;
    }
    let session_id = match reading.session_id(&wanted.session) {
        Ok(id) => id,
        Err(why) => return Judged::unobserved(why),
    };
    let folder = match wanted.folder.as_ref().map(|value| reading.resolve(value)) {
        None => None,
        Some(Ok(Resolved::Text(text))) => Some(text),
        Some(Ok(other)) => return Judged::unobserved(format!("the folder is {}", other.shown())),
        Some(Err(why)) => return Judged::unobserved(why),
    };
    for record in own {
        if let Some(purpose) = &wanted.purpose
            && record.purpose() != purpose
        {
            judged.fail(
                Class::WrongValue,
                format!(
                    "the purpose is `{}`, `{purpose}` expected",
                    record.purpose()
                ),
            );
        }
        if let Some(folder) = &folder
            && record.folder() != folder
        {
            judged.fail(
                Class::WrongValue,
                format!("the folder is `{}`, `{folder}` expected", record.folder()),
            );
        }
        let prefix = wanted.prefix.as_deref().unwrap_or("dsh");
        if wanted.minted
            && let Some(why) =
                not_minted(record.external_id(), prefix, record.folder(), &session_id)
        {
            judged.fail(Class::WrongValue, why);
        }
    }
    judged
}

/// Why an id is not `<prefix>-<slug of the workspace>-<start of the session id>`; none if it is.
fn not_minted(external: &str, prefix: &str, folder: &str, session_id: &str) -> Option<String> {
    let base = folder.rsplit('/').next().unwrap_or_default().to_lowercase();
    let slug: String = base
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let slug = slug.trim_matches('-');
    let start = format!("{prefix}-{slug}-");
    if external.starts_with(&start) && is_minted_for(external, session_id) {
        return None;
    }
    Some(format!(
        "the declared id is `{external}`, `{start}<start of {session_id}>` expected"
    ))
}

/// Records for which the tool took effect and that are none of the scenario's. Where the scenario has none at all, as with
/// records that went elsewhere, `namespace` tells so, and nothing is said here.
fn foreign_effects<'a>(wanted: &Effects, reading: &Reading<'a>) -> Vec<&'a str> {
    let evidence = reading.evidence;
    if wanted.tool.is_none() || evidence.records.is_empty() {
        return Vec::new();
    }
    let text = |line: &'a Value, key: &str| line.get(key).and_then(Value::as_str);
    let ledger = evidence.ledger.iter().flatten();
    ledger
        .filter(|line| text(line, "tool") == wanted.tool.as_deref())
        .map(|line| text(line, "record").unwrap_or_default())
        .filter(|id| evidence.records.iter().all(|record| record.id() != *id))
        .collect()
}

/// How often something physically happened.
pub(super) fn effects(wanted: &Effects, reading: &Reading<'_>) -> Judged {
    let (times, what, file) = if let Some(tool) = &wanted.tool {
        let Some(ledger) = &reading.evidence.ledger else {
            return Judged::unobserved("this plumb keeps no ledger of effects");
        };
        let times = ledger
            .iter()
            .filter(|line| line.get("tool").and_then(Value::as_str) == Some(tool))
            .count();
        (times, tool.clone(), "effects.jsonl")
    } else {
        let name = wanted.name.clone().unwrap_or_default();
        (
            reading
                .evidence
                .counted
                .get(&name)
                .copied()
                .unwrap_or_default(),
            name,
            "counted.jsonl",
        )
    };
    let mut judged = Judged::reading([file.to_owned()]);
    for record in foreign_effects(wanted, reading) {
        let symptom =
            format!("`{what}` took effect for record {record}, which is none of the scenario's");
        judged.fail(Class::WrongValue, symptom);
    }
    if times != wanted.times {
        let class = if times > wanted.times {
            Class::Duplicate
        } else {
            Class::Missing
        };
        judged.fail(
            class,
            format!(
                "`{what}` took effect {times} times, {} expected",
                wanted.times
            ),
        );
    }
    judged
}

/// Lines of the daemon's log, narrowed to every id the scenario ever had.
pub(super) fn log(wanted: &LogLines, reading: &Reading<'_>) -> Judged {
    let lines = &reading.evidence.log;
    if lines.is_empty() {
        return Judged::unobserved("the daemon's log has no line of this scenario's sessions");
    }
    let found: Vec<&String> = lines
        .iter()
        .filter(|line| line.contains(&wanted.text))
        .collect();
    let mut judged = Judged::reading(["daemon.log".to_owned()]);
    if found.len() != wanted.times {
        let class = if wanted.text.contains("shared connection") {
            Class::SharedConnection
        } else if found.len() > wanted.times {
            Class::Leaked
        } else {
            Class::Missing
        };
        let example = found
            .first()
            .map(|line| format!(": {}", shorten(line)))
            .unwrap_or_default();
        let text = if wanted.text.contains("shared connection") {
            "the daemon reported a shared connection".to_owned()
        } else {
            format!(
                "`{}` is in the log {} times, {} expected",
                wanted.text,
                found.len(),
                wanted.times
            )
        };
        judged.fail(class, format!("{text}{example}"));
    }
    judged
}

/// A row of plumb's table of pinned workspaces.
pub(super) fn pins(wanted: &Pins, reading: &Reading<'_>) -> Judged {
    let Some(rows) = &reading.evidence.pins else {
        return Judged::unobserved("this plumb has no table of pinned workspaces");
    };
    let id = match reading.session_id(&wanted.session) {
        Ok(id) => id,
        Err(why) => return Judged::unobserved(why),
    };
    let expected = match reading.resolve(&wanted.workspace) {
        Ok(Resolved::Text(text)) => text,
        Ok(other) => return Judged::unobserved(format!("the workspace is {}", other.shown())),
        Err(why) => return Judged::unobserved(why),
    };
    let mut judged = Judged::reading(["pins.json".to_owned()]);
    let own: Vec<&crate::evidence::Pin> = rows
        .iter()
        .filter(|row| is_minted_for(&row.agent, &id))
        .collect();
    if own.is_empty() {
        judged.fail(
            Class::Missing,
            format!("no row for an id of `{}`", wanted.session),
        );
    }
    for row in own {
        if row.workspace != expected {
            judged.fail(
                Class::WrongValue,
                format!(
                    "{} is pinned to `{}`, `{expected}` expected",
                    row.agent, row.workspace
                ),
            );
        }
    }
    judged
}
