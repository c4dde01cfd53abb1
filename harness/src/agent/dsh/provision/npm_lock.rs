//! A build that is a set of Node packages: npm brings the pinned pnpm, and pnpm what the lock
//! names.
//!
//! Called by `provision`. Both locks hold the integrity of every package, and both clients refuse
//! another. It must never resolve a range: versions that were not locked do not boot together.

use std::fs;
use std::path::Path;

use super::super::build::{Build, NpmLock};
use super::client::{Call, Clients};
use super::error::{ProvisionError, io};
use super::event::Event;

/// Brings the client, then the packages into the tree.
pub(super) fn fetch(
    build: &Build,
    lock: &NpmLock,
    clients: &Clients<'_>,
    tree: &Path,
    on_event: &mut dyn FnMut(Event),
) -> Result<(), ProvisionError> {
    let missing = |client: &'static str| ProvisionError::NoClient {
        build: build.name().into(),
        client,
        tried: client.into(),
    };
    let node = clients.find(&["node"]).ok_or_else(|| missing("node"))?;
    let npm = clients.find(&["npm"]).ok_or_else(|| missing("npm"))?;
    let client_folder = clients.work.join("client");
    fs::create_dir(&client_folder).map_err(io("create", &client_folder))?;
    place(build, &lock.client_files, &client_folder)?;
    place(build, &lock.files, tree)?;

    on_event(Event::Fetching {
        build: build.name().into(),
        what: "the pinned pnpm".into(),
        client: "npm".into(),
    });
    clients.run(&Call {
        program: &npm,
        client: "npm",
        doing: "fetching the pinned pnpm".into(),
        folder: &client_folder,
        args: "ci --ignore-scripts --no-audit --no-fund --workspaces=false"
            .split(' ')
            .map(str::to_owned)
            .collect(),
    })?;

    on_event(Event::Fetching {
        build: build.name().into(),
        what: "its packages".into(),
        client: "pnpm".into(),
    });
    // A store of its own, on the same disk and removed afterwards: the tree gets hard links at no
    // cost, and no later run of the caller's pnpm shares a file with it.
    let store = clients.work.join("store");
    let fixed = "install --frozen-lockfile --ignore-workspace --reporter=append-only --store-dir";
    clients.run(&Call {
        program: &node,
        client: "pnpm",
        doing: format!("fetching dsh {}", build.name()),
        folder: tree,
        args: [client_folder
            .join(&lock.client)
            .to_string_lossy()
            .into_owned()]
        .into_iter()
        .chain(fixed.split(' ').map(str::to_owned))
        .chain([store.to_string_lossy().into_owned()])
        .collect(),
    })
}

/// Writes files of the build's folder, by their last name, where a client looks for them.
fn place(build: &Build, files: &[String], folder: &Path) -> Result<(), ProvisionError> {
    for file in files {
        let name = Path::new(file).file_name().unwrap_or_default();
        let path = folder.join(name);
        fs::write(&path, build.file(file).unwrap_or_default()).map_err(io("write", &path))?;
    }
    Ok(())
}
