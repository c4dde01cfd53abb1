//! `check`: reads scenario files and shows their mistakes, in the file.

use std::io::Write as _;

use harness::exit::Exit;
use harness::library;
use harness::scenario;

use crate::cli::CheckOptions;
use crate::refusal::Refusal;

/// Reads the files, or the built-in scenarios.
pub(crate) fn main(options: &CheckOptions) -> Result<Exit, Refusal> {
    let mut found = 0;
    if options.files.is_empty() {
        found = library::scenarios(None)
            .map_err(|error| shown(&error.into()))?
            .len();
    }
    for file in &options.files {
        let text = std::fs::read_to_string(file).map_err(|error| {
            Refusal::new(
                format!("{}: {error}", file.display()),
                "name a scenario file",
            )
        })?;
        let id = file.with_extension("").display().to_string();
        scenario::read(&id, &text).map_err(|mistake| shown(&mistake.into()))?;
        found += 1;
    }
    writeln!(std::io::stdout(), "{found} scenarios are well formed").map_err(Refusal::broken)?;
    Ok(if found == 0 {
        Exit::NothingChecked
    } else {
        Exit::AsExpected
    })
}

/// A mistake as a person reads it, with the place in the file.
pub(crate) fn shown(report: &miette::Report) -> Refusal {
    Refusal {
        what: format!("{report:?}"),
        hint: None,
        exit: Exit::Refused,
    }
}
