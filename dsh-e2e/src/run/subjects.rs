//! What is driven: which dsh the options and `DSH_BIN` name, and where each lies.

use std::ffi::OsStr;

use harness::agent::dsh::Check;

use crate::cli::RunOptions;
use crate::installed::INSTALLED;
use crate::provision::{Subject, Terms, have, network};
use crate::refusal::Refusal;

/// The builds that the options name; the one that `DSH_BIN` names, or the newest, when they name none.
pub(crate) fn names(options: &RunOptions) -> Result<Vec<String>, Refusal> {
    let environment = crate::cli::environment();
    let bin = environment
        .get(OsStr::new("DSH_BIN"))
        .filter(|bin| !bin.is_empty());
    match (bin, options.dsh.as_slice()) {
        (None, []) => Ok(vec!["0.2.1".to_owned()]),
        (Some(_), []) => Ok(vec![INSTALLED.to_owned()]),
        (Some(bin), [one]) if one == INSTALLED || bin == one.as_str() => Ok(vec![one.clone()]),
        (Some(bin), named) => Err(Refusal::new(
            format!(
                "--dsh names {}, and DSH_BIN names {}",
                named.join(", "),
                bin.display()
            ),
            "unset DSH_BIN, or leave `--dsh` out",
        )),
        (None, named) => Ok(named.to_vec()),
    }
}

pub(crate) fn subjects(options: &RunOptions) -> Result<Vec<Subject>, Refusal> {
    let names = names(options)?;
    let terms = Terms {
        cache: options.cache.as_deref(),
        network: network(options.offline),
        check: Check::Quick,
        contract: options.contract,
    };
    let subjects: Vec<Subject> = names
        .iter()
        .map(|name| have(name, terms))
        .collect::<Result<_, _>>()?;
    for (idx, subject) in subjects.iter().enumerate() {
        let name = subject.build.name();
        if subjects[..idx]
            .iter()
            .any(|other| other.build.name() == name)
        {
            return Err(Refusal::new(
                format!("{} and another are both driven as {name}", names[idx]),
                "drive them in runs of their own: a run has one folder for each",
            ));
        }
    }
    Ok(subjects)
}

/// The options that name each of them again, in order.
pub(crate) fn again(options: &RunOptions) -> Vec<String> {
    let contract = options
        .contract
        .map(|contract| format!(" --contract {}", contract.revision()));
    let contract = contract.unwrap_or_default();
    let names = names(options).unwrap_or_default();
    names
        .iter()
        .map(|name| format!(" --dsh {name}{contract}"))
        .collect()
}
