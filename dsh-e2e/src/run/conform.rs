//! `run --requirements`: whether the builds conform to a frozen set. The set is weighed in `harness::requirements`.

use std::io::Write as _;

use harness::contract::contract;
use harness::exit::Exit;
use harness::library::Entry;
use harness::plan::{self, Controls, Subject as Planned};
use harness::requirements::{Requirements, conformance, frozen};
use harness::verdict::Verdict;

use crate::cli::RunOptions;
use crate::provision::Subject;
use crate::refusal::Refusal;

/// A set and its name.
pub(super) struct Named {
    name: String,
    set: Requirements,
}

/// The set that the options name; a refusal where it is about another revision than a build.
pub(super) fn set(options: &RunOptions, subjects: &[Subject]) -> Result<Option<Named>, Refusal> {
    let Some(name) = &options.requirements else {
        return Ok(None);
    };
    // Read first, so that a contract that cannot be read is not found out after the run.
    contract().map_err(Refusal::broken)?;
    let set = frozen(name)
        .map_err(|error| Refusal::new(error.to_string(), "name one with `--requirements SET`"))?;
    for subject in subjects {
        let revision = subject.build.facts.revision.to_string();
        if revision != set.revision {
            return Err(Refusal::new(
                format!(
                    "{} is held to {revision}, and {name} is not about it",
                    subject.build.name()
                ),
                format!("use `--requirements {revision}.1`"),
            ));
        }
    }
    Ok(Some(Named {
        name: name.clone(),
        set,
    }))
}

/// Prints the statement of each build, and gives the exit code that they make.
pub(super) fn told(
    named: &Named,
    exit: Exit,
    entries: &[Entry],
    subjects: &[Subject],
    verdicts: &[Verdict],
) -> Exit {
    // A run that broke or was ended has nothing to state.
    if !matches!(exit, Exit::AsExpected | Exit::Unexpected) {
        return exit;
    }
    let mut conforms = true;
    for subject in subjects {
        let build = subject.build.name();
        let planned = Planned {
            build: build.to_owned(),
            revision: subject.build.facts.revision.to_string(),
        };
        let theirs: Vec<Verdict> = verdicts
            .iter()
            .filter(|verdict| verdict.build == build)
            .cloned()
            .collect();
        // What the plan would run of a frozen check, whatever was selected.
        let shown = |scenario: &str, check: &str| {
            entries
                .iter()
                .find(|entry| entry.scenario.id == scenario)
                .is_none_or(|entry| {
                    let one = std::slice::from_ref(&entry.scenario);
                    let runs = plan::expand(one, &planned, Controls::None);
                    let mut asked = runs.iter().flat_map(|run| &run.expects);
                    asked.any(|expect| expect.check == check)
                })
        };
        let all = conformance(&named.set, &theirs, shown);
        conforms &= all.conforms();
        let text = format!("{build}\n{}", all.statement(&named.name));
        std::io::stdout().write_all(text.as_bytes()).ok();
    }
    if conforms {
        Exit::AsExpected
    } else {
        Exit::Unexpected
    }
}
