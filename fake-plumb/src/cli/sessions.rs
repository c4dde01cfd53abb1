//! `sessions`: the live sessions of this root, read from their records; needs no daemon, and reaps as it lists.

use std::process::ExitCode;

use super::{CliError, read};
use crate::args::Flags;
use crate::dirs::Dirs;
use crate::logo;
use crate::namespace::NamespaceId;
use crate::record::Record;
use crate::record::file::Store;
use crate::setting::Setting;

const USAGE: &str = "Usage:\n  plumb sessions [--all] [--json] [--namespace ID]\n";

pub(super) fn run(setting: &Setting, rest: &[String]) -> Result<ExitCode, CliError> {
    let values: &'static [&'static str] = if setting.generation.has_namespaces() {
        &["namespace"]
    } else {
        &[]
    };
    let Some(given) = read(
        rest,
        Flags {
            switches: &["all", "json"],
            values,
        },
        USAGE,
    )?
    else {
        return Ok(ExitCode::SUCCESS);
    };
    let store = Store::open(&Dirs::resolve(setting)?, &setting.faults)?;
    let namespace = given.value("namespace").map(NamespaceId::from_text);
    let mut records = store.reap()?;
    records.retain(|record| {
        record.is_live()
            && record.namespace == namespace
            && (given.has("all") || !record.folder.is_empty())
    });
    if given.has("json") {
        logo::plain(&format!("{}\n", serde_json::to_string(&records)?))?;
    } else if records.is_empty() {
        logo::human("No active sessions.\n")?;
    } else {
        let line = |record: &Record| {
            let purpose = record.purpose.as_deref().unwrap_or("-");
            format!(
                "{:<25} {:<22} {purpose:<14} {}\n",
                record.name,
                record.id.as_str(),
                record.folder
            )
        };
        let rows: String = records.iter().map(line).collect();
        logo::human(&format!(
            "{:<25} {:<22} {:<14} FOLDER\n{rows}",
            "NAME", "ID", "PURPOSE"
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
