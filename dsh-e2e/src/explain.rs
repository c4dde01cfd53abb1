//! `explain`: a failure class or a scenario, in words.

use std::io::Write as _;

use harness::exit::Exit;
use harness::explain::{class, prose, section};
use harness::library::{self, Entry};
use harness::verdict::Class;

use crate::check::shown;
use crate::cli::ExplainOptions;
use crate::refusal::Refusal;

/// Explains what was named.
pub(crate) fn main(options: &ExplainOptions) -> Result<Exit, Refusal> {
    let name = options.what.as_str();
    let text = if let Some(class) = class(name) {
        section(class)
    } else {
        let entries = library::scenarios(options.scenarios.as_deref())
            .map_err(|error| shown(&error.into()))?;
        entries
            .iter()
            .find(|entry| is_called(entry, name))
            .map(prose::section)
            .ok_or_else(|| unknown(name))?
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(Refusal::broken)?;
    Ok(Exit::AsExpected)
}

/// Whether the name is the scenario's id, or the last part of it.
fn is_called(entry: &Entry, name: &str) -> bool {
    let id = entry.scenario.id.as_str();
    id == name || id.rsplit('/').next() == Some(name)
}

fn unknown(name: &str) -> Refusal {
    let codes: Vec<String> = Class::ALL.into_iter().map(Class::code).collect();
    Refusal::new(
        format!("`{name}` is neither a failure class nor a scenario"),
        format!(
            "the classes are {}; `dsh-e2e list` shows the scenarios",
            codes.join(", ")
        ),
    )
}
