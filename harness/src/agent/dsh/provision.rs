//! Gets a pinned build of dsh into the cache, or finds it there.
//!
//! Called by the command line before anything else exists. It must never leave a half-made folder
//! under a final name, never start a client when the cache is sound, and never repair a torn cache
//! without saying so.

mod cache;
mod client;
mod error;
mod event;
mod manifest;
mod npm_lock;
#[cfg(test)]
mod tests;
mod wheel;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

pub use cache::Cache;
pub use error::ProvisionError;
pub use event::Event;
pub use manifest::{Check, hash_of_file};

use super::build::{Build, Fetch, Payload};
use super::surroundings::Surroundings;
use cache::Place;
use client::Clients;
use error::io;
use manifest::State;

/// What is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The build.
    pub build: &'a Build,
    /// Where it belongs.
    pub cache: &'a Cache,
    /// The machine, and the environment whose client settings are honoured.
    pub surroundings: &'a Surroundings,
    /// Whether a package client may be started.
    pub network: Network,
    /// How closely the cache is looked at.
    pub check: Check,
}

/// Whether a package client may be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// It may.
    Allowed,
    /// It may not: what is not in the cache is an error.
    Offline,
}

/// A build that is ready to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The build's name.
    pub build: String,
    /// What it calls itself.
    pub version: String,
    /// The hash that identifies it: the wheel's, or that of the lock files.
    pub hash: String,
    /// Its folder in the cache.
    pub folder: PathBuf,
    /// What to start.
    pub executable: PathBuf,
    /// Folders that must come first on its PATH.
    pub path_dirs: Vec<PathBuf>,
    /// What must stand in its environment.
    pub env: BTreeMap<String, String>,
}

/// The folder, inside a build's own, that holds what the clients brought; nothing writes there
/// afterwards.
const TREE: &str = "tree";

/// The folder, inside a build's own, into which the executable unpacks itself while it runs.
const NATIVE: &str = "native";

/// Gets a build into the cache, or finds it there.
pub fn provision(
    request: &Request<'_>,
    on_event: &mut dyn FnMut(Event),
) -> Result<Installed, ProvisionError> {
    let Request {
        build,
        cache,
        surroundings,
        network,
        check,
    } = *request;
    let payload = payload_for(build, surroundings)?;
    let hash = build
        .hash(&surroundings.platform)
        .ok_or_else(|| unsupported(build, surroundings))?;
    let place = cache.place(build.name(), &hash);
    let installed = || installed(build, payload, &hash, &place);

    let state = manifest::look(&place.folder, &hash, check)?;
    if state == State::Sound {
        on_event(Event::Found {
            build: build.name().into(),
            folder: place.folder.clone(),
        });
        return Ok(installed());
    }
    if network == Network::Offline {
        let torn = if let State::Torn(why) = state {
            Some(why)
        } else {
            None
        };
        return Err(ProvisionError::Offline {
            build: build.name().into(),
            folder: place.folder,
            torn,
        });
    }

    let lock = place.lock(on_event)?;
    // While this run waited for the lock, its holder may have done the work.
    match manifest::look(&place.folder, &hash, check)? {
        State::Sound => {
            on_event(Event::Found {
                build: build.name().into(),
                folder: place.folder.clone(),
            });
            return Ok(installed());
        }
        State::Torn(why) => on_event(Event::Torn {
            folder: place.folder.clone(),
            why,
        }),
        State::Absent => {}
    }
    place.remove_leftovers(on_event)?;
    let aside = place.new_folder_aside()?;
    fill(request, &lock, aside.path(), on_event)?;
    make_executable(&aside.path().join(TREE), build.name(), payload)?;
    on_event(Event::Sealing {
        build: build.name().into(),
    });
    manifest::write(aside.path(), &hash, payload)?;
    place.put(aside)?;
    on_event(Event::Provisioned {
        build: build.name().into(),
        folder: place.folder.clone(),
    });
    Ok(installed())
}

/// Finds the package for this machine, and whether it can run here.
fn payload_for<'a>(
    build: &'a Build,
    surroundings: &Surroundings,
) -> Result<&'a Payload, ProvisionError> {
    let payload = build
        .facts
        .platform
        .get(&surroundings.platform)
        .ok_or_else(|| unsupported(build, surroundings))?;
    if surroundings.place(Path::new(&payload.loader)).exists() {
        return Ok(payload);
    }
    Err(ProvisionError::NoLoader {
        build: build.name().into(),
        loader: payload.loader.clone(),
    })
}

fn unsupported(build: &Build, surroundings: &Surroundings) -> ProvisionError {
    ProvisionError::UnsupportedPlatform {
        build: build.name().into(),
        platform: surroundings.platform.clone(),
        supported: build
            .facts
            .platform
            .keys()
            .cloned()
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// Lets the package clients fill `tree` in the folder aside.
fn fill(
    request: &Request<'_>,
    lock: &File,
    aside: &Path,
    on_event: &mut dyn FnMut(Event),
) -> Result<(), ProvisionError> {
    let work = aside.join("work");
    for folder in [
        &work,
        &work.join("tmp"),
        &aside.join(TREE),
        &aside.join(NATIVE),
    ] {
        fs::create_dir(folder).map_err(io("create", folder))?;
    }
    let clients = Clients {
        cache: request.cache.root(),
        lock,
        surroundings: request.surroundings,
        work: &work,
    };
    match &request.build.facts.fetch {
        Fetch::Wheel(wheel) => {
            wheel::fetch(request.build, wheel, &clients, &aside.join(TREE), on_event)?;
        }
        Fetch::NpmLock(lock) => {
            npm_lock::fetch(request.build, lock, &clients, &aside.join(TREE), on_event)?;
        }
    }
    fs::remove_dir_all(&work).map_err(io("remove", &work))
}

/// Gives the programs of a tree the execute bit, which Python's zipfile drops.
fn make_executable(tree: &Path, build: &str, payload: &Payload) -> Result<(), ProvisionError> {
    for program in payload.programs.iter().chain([&payload.executable]) {
        let path = tree.join(program);
        if !path.is_file() {
            return Err(ProvisionError::NotInPackage {
                build: build.into(),
                path: program.clone(),
            });
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
            .map_err(io("make executable", &path))?;
    }
    Ok(())
}

fn installed(build: &Build, payload: &Payload, hash: &str, place: &Place) -> Installed {
    let tree = place.folder.join(TREE);
    let mut env = build.facts.launch.env.clone();
    if let Some(name) = &build.facts.launch.native_cache_var {
        env.insert(
            name.clone(),
            place.folder.join(NATIVE).to_string_lossy().into_owned(),
        );
    }
    Installed {
        build: build.name().into(),
        version: build.facts.version.clone(),
        hash: hash.into(),
        executable: tree.join(&payload.executable),
        path_dirs: payload.path_dirs.iter().map(|dir| tree.join(dir)).collect(),
        env,
        folder: place.folder.clone(),
    }
}
