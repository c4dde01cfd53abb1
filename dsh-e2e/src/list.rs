//! `list`: the scenarios, their checks and the clauses they prove.

use std::io::Write as _;

use harness::agent::dsh::{Surroundings, builds};
use harness::contract;
use harness::exit::Exit;
use harness::library::{self, Entry};
use harness::requirements;
use serde_json::json;

use crate::check::shown;
use crate::cli::{Format, ListOptions, environment};
use crate::installed::{self, INSTALLED};
use crate::refusal::Refusal;

/// Lists what there is.
pub(crate) fn main(options: &ListOptions) -> Result<Exit, Refusal> {
    let entries =
        library::scenarios(options.scenarios.as_deref()).map_err(|error| shown(&error.into()))?;
    if let Some(revision) = &options.freeze {
        return freeze(&entries, revision);
    }
    if options.builds {
        return dsh(options.format);
    }
    if options.clauses {
        return clauses(&entries, options);
    }
    if entries.is_empty() {
        return Ok(Exit::NothingChecked);
    }
    let mut out = std::io::stdout().lock();
    if options.format == Format::Json {
        let listed: Vec<_> = entries
            .iter()
            .map(|entry| {
                let file = &entry.scenario.file;
                json!({
                    "id": entry.scenario.id,
                    "title": file.title,
                    "builds": file.builds,
                    "cases": file.case.iter().map(|case| &case.name).collect::<Vec<_>>(),
                    "controls": file.red.iter().map(|red| &red.title).collect::<Vec<_>>(),
                    "checks": file.expect.iter()
                        .map(|expect| json!({"check": expect.check, "clauses": expect.clause}))
                        .collect::<Vec<_>>(),
                })
            })
            .collect();
        writeln!(out, "{:#}", json!(listed)).map_err(Refusal::broken)?;
        return Ok(Exit::AsExpected);
    }
    for entry in &entries {
        let file = &entry.scenario.file;
        writeln!(out, "{}: {}", entry.scenario.id, file.title).map_err(Refusal::broken)?;
        for expect in &file.expect {
            writeln!(out, "    {} ({})", expect.check, expect.clause.join(", "))
                .map_err(Refusal::broken)?;
        }
        for case in &file.case {
            writeln!(out, "    case {}", case.name).map_err(Refusal::broken)?;
        }
        for red in &file.red {
            writeln!(out, "    red: {}", red.title).map_err(Refusal::broken)?;
        }
    }
    Ok(Exit::AsExpected)
}

/// Lists what dsh there is: the pinned builds, and the one that `--dsh installed` would take.
fn dsh(format: Format) -> Result<Exit, Refusal> {
    let surroundings = Surroundings::of_this_machine(environment());
    let mut listed = Vec::new();
    for build in builds().map_err(Refusal::broken)? {
        listed.push(json!({
            "dsh": build.name(), "version": build.facts.version, "revision": build.facts.revision.to_string(),
            "platforms": build.facts.platform.keys().collect::<Vec<_>>(),
        }));
    }
    listed.push(match installed::find(INSTALLED, &surroundings) {
        Ok(found) => json!({
            "dsh": INSTALLED, "version": found.version, "executable": found.executable,
            "found": installed::origin(&found),
        }),
        Err(refusal) => json!({ "dsh": INSTALLED, "missing": refusal.what }),
    });
    let text = match format {
        Format::Json => format!("{:#}\n", json!(listed)),
        Format::Plain => listed.iter().map(line).collect(),
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(Refusal::broken)?;
    Ok(Exit::AsExpected)
}

fn line(one: &serde_json::Value) -> String {
    let text = |key: &str| one[key].as_str().unwrap_or("unknown").to_owned();
    let about = match (one.get("missing"), one.get("executable")) {
        (Some(_), _) => text("missing"),
        (_, Some(_)) => format!(
            "version {}, {} {}",
            text("version"),
            text("found"),
            text("executable")
        ),
        _ => format!("version {}, revision {}", text("version"), text("revision")),
    };
    format!("{}: {about}\n", text("dsh"))
}

/// Lists the clauses and what proves them; with `--check` what is not mapped is a failure.
fn clauses(entries: &[Entry], options: &ListOptions) -> Result<Exit, Refusal> {
    let contract = contract::contract().map_err(Refusal::broken)?;
    let scenarios: Vec<_> = entries.iter().map(|entry| entry.scenario.clone()).collect();
    let builds = builds().map_err(Refusal::broken)?;
    let ledger = contract::ledger(&contract, &scenarios, &builds);
    let text = match options.format {
        Format::Plain => contract::page(&ledger),
        Format::Json => format!("{:#}\n", contract::json(&ledger)),
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(Refusal::broken)?;
    if !options.check {
        return Ok(Exit::AsExpected);
    }
    for problem in &ledger.problems {
        writeln!(std::io::stderr(), "not mapped: {problem}").map_err(Refusal::broken)?;
    }
    let mut lost = Vec::new();
    for name in requirements::names() {
        let set = requirements::frozen(name).map_err(Refusal::broken)?;
        let today = requirements::today(&set.revision, &contract, &scenarios);
        lost.extend(requirements::broken(name, &set, &today));
    }
    for what in &lost {
        writeln!(std::io::stderr(), "frozen: {what}").map_err(Refusal::broken)?;
    }
    Ok(if ledger.problems.is_empty() && lost.is_empty() {
        Exit::AsExpected
    } else {
        Exit::Unexpected
    })
}

/// Prints what a set of this revision would hold if it were frozen now.
fn freeze(entries: &[Entry], revision: &str) -> Result<Exit, Refusal> {
    let contract = contract::contract().map_err(Refusal::broken)?;
    let scenarios: Vec<_> = entries.iter().map(|entry| entry.scenario.clone()).collect();
    let set = requirements::today(revision, &contract, &scenarios);
    if set.check.is_empty() {
        return Err(Refusal::new(
            format!("`{revision}` is no revision of the contract"),
            "there are rfc, located and note",
        ));
    }
    let text = toml::to_string(&set).map_err(Refusal::broken)?;
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(Refusal::broken)?;
    Ok(Exit::AsExpected)
}
