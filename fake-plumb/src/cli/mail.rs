//! `mail`: how many notes wait for a session, and how old they are. Reads only.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use super::{CliError, read};
use crate::args::{Flags, Given};
use crate::dirs::Dirs;
use crate::logo;
use crate::mail::{Mailroom, Reader};
use crate::record::Record;
use crate::record::file::Store;
use crate::setting::Setting;

const USAGE: &str =
    "Usage:\n  plumb mail (--session NAME | --external-id ID | --workspace DIR) [--json]\n";

pub(super) fn run(setting: &Setting, rest: &[String]) -> Result<ExitCode, CliError> {
    let flags = Flags {
        switches: &["json"],
        values: &["session", "external-id", "workspace"],
    };
    let Some(given) = read(rest, flags, USAGE)? else {
        return Ok(ExitCode::SUCCESS);
    };
    let store = Store::open(&Dirs::resolve(setting)?, &setting.faults)?;
    let mut records = store.reap()?;
    records.retain(|record| record.is_live() && is_meant(&given, record));
    let [record] = &records[..] else {
        let what = format!("{} live sessions match", records.len());
        return Err(CliError::Usage {
            what,
            remedy: "name exactly one with --session, --external-id or --workspace",
        });
    };
    let reader = Reader {
        id: record.id.clone(),
        name: record.name.clone(),
        namespace: record.namespace.clone(),
    };
    let room = Mailroom::new(setting.clock, &setting.faults);
    let ages = room.waiting(Path::new(&record.folder), &reader)?;
    let text = if given.has("json") {
        json!({ "session": record.name, "workspace": record.folder, "count": ages.len(), "ages_seconds": ages }).to_string()
    } else {
        format!("{}: {} waiting", record.name, ages.len())
    };
    logo::plain(&format!("{text}\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn is_meant(given: &Given, record: &Record) -> bool {
    let session = given
        .value("session")
        .is_some_and(|name| record.name.eq_ignore_ascii_case(name));
    let external = given
        .value("external-id")
        .is_some_and(|id| record.external_id.as_deref() == Some(id));
    let workspace = given
        .value("workspace")
        .and_then(|folder| std::fs::canonicalize(folder).ok());
    session || external || workspace.is_some_and(|folder| Path::new(&record.folder) == folder)
}
