//! `provision`: pinned builds into the cache, and what `run` needs to know of them.

use std::io::Write as _;
use std::path::Path;

use harness::agent::dsh::{
    Build, Cache, Check, Installed, Network, ProvisionError, Request, Surroundings, builds, find,
    provision,
};
use harness::exit::Exit;
use serde_json::json;

use crate::cli::{Contract, Format, ProvisionOptions, environment};
use crate::installed;
use crate::refusal::Refusal;

/// A build and where it lies.
pub(crate) struct Subject {
    pub(crate) build: Build,
    pub(crate) installed: Installed,
}

/// How builds are to be had.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) cache: Option<&'a Path>,
    pub(crate) network: Network,
    pub(crate) check: Check,
    /// The revision that an installed dsh is said to keep.
    pub(crate) contract: Option<Contract>,
}

/// Fetches and tells.
pub(crate) fn main(options: &ProvisionOptions) -> Result<Exit, Refusal> {
    let names = named_or_all(&options.dsh)?;
    let terms = Terms {
        cache: options.cache.as_deref(),
        network: network(options.offline),
        check: if options.verify {
            Check::EveryFile
        } else {
            Check::Quick
        },
        contract: None,
    };
    let mut told = Vec::new();
    for name in &names {
        let subject = have(name, terms)?;
        told.push(json!({
            "build": subject.installed.build,
            "version": subject.installed.version,
            "hash": subject.installed.hash,
            "folder": subject.installed.folder,
            "executable": subject.installed.executable,
        }));
    }
    let text = match options.format {
        Format::Json => format!("{:#}\n", json!(told)),
        Format::Plain => told
            .iter()
            .map(|one| {
                format!(
                    "{} {} {}\n",
                    one["build"], one["version"], one["executable"]
                )
                .replace('"', "")
            })
            .collect(),
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(Refusal::broken)?;
    Ok(Exit::AsExpected)
}

/// The builds that an option names; every pinned one when it names none.
pub(crate) fn named_or_all(named: &[String]) -> Result<Vec<String>, Refusal> {
    if !named.is_empty() {
        return Ok(named.to_vec());
    }
    let all = builds().map_err(Refusal::broken)?;
    Ok(all.iter().map(|build| build.name().to_owned()).collect())
}

/// What `--offline` says of the network.
pub(crate) fn network(offline: bool) -> Network {
    if offline {
        Network::Offline
    } else {
        Network::Allowed
    }
}

/// Gets one build, or finds it; its progress goes to standard error.
pub(crate) fn have(name: &str, terms: Terms<'_>) -> Result<Subject, Refusal> {
    let surroundings = Surroundings::of_this_machine(environment());
    let cache = match terms.cache {
        Some(at) => Cache::at(at).map_err(|error| refused(&error))?,
        None => Cache::of_the_account(&surroundings).map_err(|error| refused(&error))?,
    };
    if installed::is_meant(name) {
        return installed::have(name, terms.contract, &cache);
    }
    let build = find(name).map_err(|error| {
        Refusal::new(
            error.to_string(),
            "name one with `--dsh BUILD`; a folder in agents/dsh adds another",
        )
    })?;
    if let Some(contract) = terms.contract
        && contract.revision() != build.facts.revision
    {
        return Err(Refusal::new(
            format!(
                "--contract: the pinned build {name} keeps the revision {}",
                build.facts.revision
            ),
            "leave `--contract` out: it is for a dsh that is installed",
        ));
    }
    let request = Request {
        build: &build,
        cache: &cache,
        surroundings: &surroundings,
        network: terms.network,
        check: terms.check,
    };
    let installed = provision(&request, &mut |event| {
        // Progress is for who watches; nobody has to.
        writeln!(std::io::stderr(), "{event}").ok();
    })
    .map_err(|error| refused(&error))?;
    Ok(Subject { build, installed })
}

fn refused(error: &ProvisionError) -> Refusal {
    Refusal::new(error.to_string(), error.hint())
}
