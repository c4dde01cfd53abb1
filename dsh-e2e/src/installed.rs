//! A dsh that somebody else installed: found, asked for its version, and given the recipe of the pinned build that it
//! is or claims to be like.
//!
//! Called for `--dsh installed` and `--dsh PATH`. It fetches nothing and writes nothing but a folder in the cache, into
//! which an executable may unpack itself.

use std::path::{Path, PathBuf};

use harness::agent::dsh::{
    Build, Cache, Found, Installed, Origin, Revision, Surroundings, at_path, builds, discover,
    hash_of_file, version_of, with_version,
};

use crate::cli::{Contract, environment};
use crate::provision::Subject;
use crate::refusal::Refusal;

/// The word for the one that the plugin's readme would find.
pub(crate) const INSTALLED: &str = "installed";

/// Whether what stands behind `--dsh` is no pinned build's name.
pub(crate) fn is_meant(name: &str) -> bool {
    name == INSTALLED || name.contains('/')
}

/// The dsh that is meant, ready to be driven.
pub(crate) fn have(
    name: &str,
    contract: Option<Contract>,
    cache: &Cache,
) -> Result<Subject, Refusal> {
    let surroundings = Surroundings::of_this_machine(environment());
    let found = find(name, &surroundings)?;
    let path_dirs: Vec<PathBuf> = surroundings
        .program("node")
        .and_then(|node| Some(node.parent()?.to_owned()))
        .into_iter()
        .collect();
    let version = match &found.version {
        Some(version) => version.clone(),
        None => version_of(&found.executable, &path(&path_dirs)).map_err(|error| {
            Refusal::new(
                error.to_string(),
                "name a dsh that can be started, or a pinned build",
            )
        })?,
    };
    let mut build = recipe(&version, contract)?;
    if let Some(contract) = contract {
        build.facts.revision = contract.revision();
    }
    let hash = hash_of_file(&found.executable)
        .map_err(|error| Refusal::broken(format!("{}: {error}", found.executable.display())))?;
    let mut env = build.facts.launch.env.clone();
    if let Some(name) = &build.facts.launch.native_cache_var {
        let native = cache
            .root()
            .join(format!("installed-{}", &hash[..16]))
            .join("native");
        std::fs::create_dir_all(&native)
            .map_err(|error| Refusal::broken(format!("{}: {error}", native.display())))?;
        env.insert(name.clone(), native.display().to_string());
    }
    let installed = Installed {
        build: build.name().to_owned(),
        version,
        hash,
        folder: folder(&found.executable),
        executable: found.executable,
        path_dirs,
        env,
    };
    Ok(Subject { build, installed })
}

/// Finds it, starting nothing.
pub(crate) fn find(name: &str, surroundings: &Surroundings) -> Result<Found, Refusal> {
    let found = if name == INSTALLED {
        discover(surroundings)
    } else {
        std::path::absolute(name)
            .map_err(Refusal::broken)
            .map(|path| at_path(surroundings, path))?
    };
    found.map_err(|error| Refusal::new(error.to_string(), error.hint()))
}

/// Where it was found, in words.
pub(crate) fn origin(found: &Found) -> &'static str {
    match found.origin {
        Origin::Path => "as named",
        Origin::DshBin => "by DSH_BIN",
        Origin::ProfileTree => "in the profile tree",
        Origin::Npx => "in the npx cache",
    }
}

/// The pinned build of that version, else one that keeps the revision that the caller says it keeps.
fn recipe(version: &str, contract: Option<Contract>) -> Result<Build, Refusal> {
    if let Some(build) = with_version(version).map_err(Refusal::broken)? {
        return Ok(build);
    }
    let Some(contract) = contract else {
        return Err(Refusal::new(
            format!("dsh {version} is no pinned build, so it is not known what it has to keep"),
            "say which revision of the contract it keeps: --contract note, located or rfc",
        ));
    };
    let alike = match contract.revision() {
        Revision::Note => Revision::Note,
        // No pinned build keeps the oldest text; the older ones are started alike.
        Revision::Located | Revision::Rfc => Revision::Located,
    };
    let builds = builds().map_err(Refusal::broken)?;
    let mut alike = builds
        .into_iter()
        .filter(|build| build.facts.revision == alike);
    alike
        .next()
        .ok_or_else(|| Refusal::broken("no pinned build keeps that revision"))
}

fn path(dirs: &[PathBuf]) -> String {
    let dirs = dirs.iter().map(|dir| dir.display().to_string());
    let system = ["/usr/local/bin", "/usr/bin", "/bin"].map(str::to_owned);
    dirs.chain(system).collect::<Vec<_>>().join(":")
}

/// What belongs to it: the outermost `node_modules` above it, else the folder that it lies in.
fn folder(executable: &Path) -> PathBuf {
    let real = std::fs::canonicalize(executable).unwrap_or_else(|_| executable.to_owned());
    let modules = real
        .ancestors()
        .filter(|above| above.ends_with("node_modules"));
    match (modules.last(), real.parent()) {
        (Some(modules), _) => modules.to_owned(),
        (None, Some(parent)) => parent.to_owned(),
        (None, None) => real,
    }
}

#[cfg(test)]
mod tests {
    use super::{folder, is_meant, recipe};
    use crate::cli::Contract;

    #[test]
    fn a_path_and_the_word_are_no_builds_name() {
        assert_eq!(
            ["installed", "./dsh", "/opt/dsh", "0.2.1", "rc8"].map(is_meant),
            [true, true, true, false, false]
        );
    }

    #[test]
    fn an_unknown_version_needs_the_contract_that_it_keeps() {
        let name =
            |version, contract| recipe(version, contract).map(|build| build.name().to_owned());
        assert_eq!(name("0.1.0-rc.8", None).unwrap(), "rc8");
        assert!(
            name("0.9.9", None)
                .unwrap_err()
                .to_string()
                .contains("--contract")
        );
        assert_eq!(name("0.9.9", Some(Contract::Note)).unwrap(), "0.2.1");
        assert_eq!(name("0.9.9", Some(Contract::Rfc)).unwrap(), "rc8");
    }

    #[test]
    fn what_belongs_to_a_package_is_its_whole_tree() {
        let of = |path: &str| folder(path.as_ref()).display().to_string();
        assert_eq!(
            of("/x/node_modules/@a/dsh/lib/node_modules/bin.js"),
            "/x/node_modules"
        );
        assert_eq!(of("/nowhere/bin/dsh"), "/nowhere/bin");
    }
}
