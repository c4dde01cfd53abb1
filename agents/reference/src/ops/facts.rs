//! Operations on the process itself: its environment, waiting for an event, opening a gate, leaving.
//!
//! Values that are not managed are reported as digests only.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::Came;
use super::room::{Room, Within};
use crate::environment;
use crate::revision::Revision;

#[derive(Debug, Deserialize)]
pub(super) struct Until {
    session: String,
    event: String,
    count: Option<usize>,
    #[serde(default)]
    within_ms: Within,
}

#[derive(Debug, Deserialize)]
pub(super) struct Touch {
    path: PathBuf,
    #[serde(default)]
    text: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Exit {
    #[serde(default)]
    code: u8,
}

/// `process_env`: managed names with values, a digest of the whole, and the names that changed since the last look.
pub(super) fn process_env(room: &mut Room) -> Value {
    let process = room.host.process.borrow();
    let lossy = |text: &std::ffi::OsStr| text.to_string_lossy().into_owned();
    let entries: BTreeMap<String, String> = process
        .iter()
        .map(|(name, value)| (lossy(name), lossy(value)))
        .collect();
    let managed = |name: &str| environment::is_managed(name.as_ref(), Revision::Note);
    let dsh: BTreeMap<&String, &String> =
        entries.iter().filter(|(name, _)| managed(name)).collect();
    let whole: Vec<String> = entries
        .iter()
        .map(|(name, value)| format!("{name}={value}\0"))
        .collect();
    let digests: BTreeMap<String, String> = entries
        .iter()
        .map(|(name, value)| (name.clone(), digest(value)))
        .collect();
    let changed: BTreeSet<&String> = match &room.environment {
        None => BTreeSet::new(),
        Some(before) => {
            let names = before.keys().chain(digests.keys());
            names
                .filter(|name| before.get(*name) != digests.get(*name))
                .collect()
        }
    };
    let value = json!({"dsh": dsh, "count": entries.len(), "digest": digest(&whole.concat()), "changed": changed});
    drop(process);
    room.environment = Some(digests);
    value
}

/// `until {session, event, count?}`: until that session's log holds so many events of a type.
pub(super) async fn until(room: &mut Room, op: Until) -> Came {
    let agent = room.agent(&op.session)?;
    let wanted = op.count.unwrap_or(1);
    let seen = || {
        agent
            .session()
            .events()
            .iter()
            .filter(|event| event.kind == op.event)
            .count()
    };
    let come = room.host.until(|| seen() >= wanted);
    op.within_ms
        .wait(come, || {
            format!("{} of {wanted} \"{}\" events", seen(), op.event)
        })
        .await?;
    Ok(json!({"seen": seen()}))
}

/// `touch {path, text?}`: creates a file that a command is waiting for.
pub(super) fn touch(op: &Touch) -> Came {
    let mut file = std::fs::File::options()
        .write(true)
        .create_new(true)
        .open(&op.path)?;
    file.write_all(op.text.as_bytes())?;
    Ok(json!({"path": op.path}))
}

/// `exit {code}`: ends the list here.
pub(super) fn exit(room: &mut Room, op: &Exit) -> Value {
    room.exit = Some(op.code);
    json!({"code": op.code})
}

fn digest(text: &str) -> String {
    let digits: Vec<String> = Sha256::digest(text.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    digits.concat()
}
