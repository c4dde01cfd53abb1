//! Gathers what a scenario left into its evidence folder, once everything has ended.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{NOTE_CLIENT, PlumbProgram, searched};
use crate::clock::Moment;
use crate::evidence::facts::Facts;
use crate::evidence::secrets::SecretKind;
use crate::evidence::session;
use crate::evidence::{Folder, FolderError, Pin};
use crate::plumb::{daemon_log, records};
use crate::stage::Stage;
use crate::tap::record::Record;

/// Keys of frames whose values are secrets: they prove who may resume a session.
const SECRET_KEYS: [&str; 2] = ["plumb_hook_proof", "dev.plumbkit/resume-credential"];

/// Where everything lies.
pub(super) struct Sources<'a> {
    /// The scenario's text.
    pub(super) scenario: &'a str,
    pub(super) stage: &'a Stage,
    pub(super) plumb: Option<&'a PlumbProgram>,
    pub(super) namespace: Option<&'a str>,
    pub(super) field: &'a str,
    pub(super) journal: &'a [Value],
    pub(super) origin: Moment,
}

/// Gathers everything.
pub(super) fn collect(
    sources: &Sources<'_>,
    facts: &mut Facts,
    folder: &mut Folder,
) -> Result<(), FolderError> {
    taps(sources, folder)?;
    folder.journal("model.jsonl", sources.journal)?;
    launches(sources, facts, folder)?;
    caught(sources, folder)?;
    if let Some(plumb) = sources.plumb {
        plumbs(sources, plumb, facts, folder)?;
    }
    timeline(sources, folder)?;
    facts.not_searched = searched::search(facts, sources.stage, folder);
    facts.looked_for = folder.known();
    facts.hidden_in.clone_from(folder.hidden_in());
    facts.not_hidden = folder.residue();
    folder.json("facts.json", facts)
}

/// The tap's journals, with times since the run's origin. Secrets in frames are learnt here, before anything of the
/// scenario is written.
fn taps(sources: &Sources<'_>, folder: &mut Folder) -> Result<(), FolderError> {
    let at = sources.stage.caught.join("mcp");
    let mut journals = Vec::new();
    for name in names(&at) {
        let text = read(&at.join(&name));
        let records: Vec<Record> = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .map(|record| shifted(record, sources.origin))
            .collect();
        for record in &records {
            if let Record::Frame(frame) = record {
                learn_text(&frame.text, sources, folder);
            }
        }
        journals.push(records);
    }
    for (idx, records) in journals.iter().enumerate() {
        folder.lines(&format!("mcp/{idx:02}.jsonl"), records)?;
    }
    Ok(())
}

fn shifted(mut record: Record, origin: Moment) -> Record {
    let at = match &mut record {
        Record::Start(start) => &mut start.t_us,
        Record::Frame(frame) => &mut frame.t_us,
        Record::Eof(eof) => &mut eof.t_us,
        Record::Exit(exit) => &mut exit.t_us,
    };
    *at = at.since(origin);
    record
}

/// Learns the secrets of one line, whether it is whole JSON or a part of a longer document.
fn learn_text(text: &str, sources: &Sources<'_>, folder: &mut Folder) {
    if let Ok(message) = serde_json::from_str::<Value>(text) {
        learn(&message, sources, folder);
        return;
    }
    for key in SECRET_KEYS {
        for part in text.split(key).skip(1) {
            let value = part.trim_start_matches(['"', '\\', ' ', ':']);
            let value: String = value
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c))
                .collect();
            if value.len() >= 20 && !sources.scenario.contains(&value) {
                folder.hide(SecretKind::ResumeProof, &value);
            }
        }
    }
}

/// Learns the secrets of one frame.
fn learn(value: &Value, sources: &Sources<'_>, folder: &mut Folder) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    // What a scenario has its model type is no secret, whatever it is called.
                    Value::String(text)
                        if SECRET_KEYS.contains(&key.as_str())
                            && !sources.scenario.contains(text.as_str()) =>
                    {
                        folder.hide(SecretKind::ResumeProof, text);
                    }
                    _ => learn(value, sources, folder),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| learn(item, sources, folder)),
        _ => {}
    }
}

fn launches(
    sources: &Sources<'_>,
    facts: &mut Facts,
    folder: &mut Folder,
) -> Result<(), FolderError> {
    let mut read_roots = BTreeSet::new();
    for (name, place) in &sources.stage.launches {
        if !facts.launches.contains_key(name) {
            continue;
        }
        for stream in ["stdout", "stderr"] {
            folder.text(
                &format!("launch/{name}/{stream}"),
                &read(&place.out.join(stream)),
            )?;
        }
        let outcomes = place.out.join("outcomes.jsonl");
        if outcomes.exists() {
            folder.text(&format!("launch/{name}/outcomes.jsonl"), &read(&outcomes))?;
        }
        // Launches that share a home share its logs; they are kept once, with the first.
        if !read_roots.insert(place.sessions.clone()) {
            continue;
        }
        let logs = match session::find(name, &place.sessions) {
            Ok(logs) => logs,
            Err(error) => {
                facts.broken.get_or_insert(error.to_string());
                continue;
            }
        };
        let mut index = Vec::new();
        for (idx, (log, text)) in logs.iter().enumerate() {
            let file = format!("{idx}.jsonl");
            folder.text(&format!("launch/{name}/session/{file}"), text)?;
            index.push((file, log.file.clone()));
        }
        folder.json(&format!("launch/{name}/sessions.json"), &index)?;
    }
    Ok(())
}

/// What generated commands wrote.
fn caught(sources: &Sources<'_>, folder: &mut Folder) -> Result<(), FolderError> {
    let caught = &sources.stage.caught;
    for sub in ["probes", "holds"] {
        for name in names(&caught.join(sub)) {
            if Path::new(&name)
                .extension()
                .is_some_and(|kind| kind == "json")
            {
                let text = searched::without_strangers(&caught.join(sub).join(&name));
                folder.text(&format!("{sub}/{name}"), &text)?;
            }
        }
    }
    for file in ["counted.jsonl", "sabotage.jsonl"] {
        let path = caught.join(file);
        if path.exists() {
            folder.text(file, &read(&path))?;
        }
    }
    Ok(())
}

/// What plumb recorded: records by namespace, the ledger, pinned workspaces, the narrowed log.
fn plumbs(
    sources: &Sources<'_>,
    plumb: &PlumbProgram,
    facts: &mut Facts,
    folder: &mut Folder,
) -> Result<(), FolderError> {
    let records = match records::read(&plumb.sessions) {
        Ok(records) => records,
        Err(error) => {
            facts
                .broken
                .get_or_insert(format!("records `{}`: {error}", plumb.sessions.display()));
            return Ok(());
        }
    };
    let namespace = sources.namespace.unwrap_or_default();
    let root = sources.stage.root.display().to_string();
    let ours = ["dsh-mcp-client", "dsh-plumb-identity", NOTE_CLIENT];
    let mut ids: BTreeSet<String> = BTreeSet::new();
    for record in records.read.values() {
        let within = record.namespace(sources.field) == namespace;
        // On a host that others use, a record is ours only if its folder lies below our roots.
        let astray =
            !within && ours.contains(&record.client()) && record.folder().starts_with(&root);
        if within || astray {
            let kind = if within { "records" } else { "outside" };
            folder.json(&format!("{kind}/{}.json", record.id()), &record.0)?;
            ids.insert(record.id().to_owned());
        }
    }
    // A torn record names no namespace; it is ours if its text speaks of our root.
    let torn: Vec<&String> = records
        .torn
        .iter()
        .filter(|torn| {
            let name = torn.split(':').next().unwrap_or_default();
            read(&plumb.sessions.join(name)).contains(&root)
        })
        .collect();
    if !torn.is_empty() {
        let text: Vec<&str> = torn.iter().map(|torn| torn.as_str()).collect();
        folder.text("torn-records.txt", &text.join("\n"))?;
    }
    let ledger = plumb.state.join("effects.jsonl");
    if ledger.exists() {
        let text = read(&ledger);
        let own: Vec<Value> = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|line| {
                let of = line.get("namespace").and_then(Value::as_str);
                of.unwrap_or_default() == namespace
            })
            .collect();
        folder.lines("effects.jsonl", &own)?;
    }
    if let Some(pins) = pins(plumb, &root) {
        folder.json("pins.json", &pins)?;
    }
    let log = daemon_log::narrow(&read(&plumb.log), &ids);
    folder.text("daemon.log", &log)
}

/// Rows of `session_state.db` whose workspace lies below our root, with the agents they pin.
fn pins(plumb: &PlumbProgram, root: &str) -> Option<Vec<Pin>> {
    let database = plumb.sessions.parent()?.join("session_state.db");
    if !database.exists() {
        return None;
    }
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = rusqlite::Connection::open_with_flags(&database, flags).ok()?;
    let mut rows = connection
        .prepare("SELECT logical_agent_id, workspace FROM pinned_workspace")
        .ok()?;
    let pins = rows
        .query_map([], |row| {
            Ok(Pin {
                agent: row.get(0)?,
                workspace: row.get(1)?,
            })
        })
        .ok()?
        .flatten()
        .filter(|pin| pin.workspace.starts_with(root))
        .collect();
    Some(pins)
}

/// One timeline of all worlds: model, MCP, actions; one clock.
fn timeline(sources: &Sources<'_>, folder: &mut Folder) -> Result<(), FolderError> {
    let mut events: Vec<(u64, Value)> = Vec::new();
    for event in sources.journal {
        let t_us = event
            .get("t_us")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        let mut short = event.clone();
        if let Some(object) = short.as_object_mut() {
            object.remove("body");
            object.remove("headers");
            object.remove("t_us");
        }
        events.push((t_us, json!({"t_us": t_us, "world": "model", "what": short})));
    }
    for (idx, name) in names(&folder.path().join("mcp")).iter().enumerate() {
        for line in read(&folder.path().join("mcp").join(name)).lines() {
            let Ok(line) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            let inner = line.as_object().and_then(|object| object.values().next());
            let t_us = inner
                .and_then(|inner| inner.get("t_us")?.as_u64())
                .unwrap_or_default();
            events.push((
                t_us,
                json!({"t_us": t_us, "world": "mcp", "process": idx, "what": line}),
            ));
        }
    }
    events.sort_by_key(|(t_us, _)| *t_us);
    let events: Vec<Value> = events.into_iter().map(|(_, event)| event).collect();
    folder.lines("timeline.jsonl", &events)
}

/// The names in a folder, in order; none where there is no folder.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The text of a file; nothing where there is none, which the judge sees as missing evidence.
fn read(path: &Path) -> String {
    fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}
