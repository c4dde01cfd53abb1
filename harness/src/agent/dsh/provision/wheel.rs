//! A build that is a Python wheel: pip downloads it, its hash is checked, Python unpacks it.
//!
//! Called by `provision`. pip checks the hashes first; they are checked again here, because the
//! folder's name rests on this one. Python unpacks because it is there whenever pip is; a ZIP
//! reader of our own would be one more program part for one file. It must never install anything
//! into the caller's Python.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::build::{Build, Wheel};
use super::client::{Call, Clients};
use super::error::{ProvisionError, io};
use super::event::Event;
use super::manifest::hash_of_file;

/// Brings a wheel and unpacks it into the tree.
pub(super) fn fetch(
    build: &Build,
    wheel: &Wheel,
    clients: &Clients<'_>,
    tree: &Path,
    on_event: &mut dyn FnMut(Event),
) -> Result<(), ProvisionError> {
    let python = clients
        .find(&["python3", "python"])
        .ok_or_else(|| ProvisionError::NoClient {
            build: build.name().into(),
            client: "python3",
            tried: "python3, python".into(),
        })?;
    let (pip, first_args) = pip(build, clients, &python)?;
    let requirements = clients.work.join("requirements.txt");
    let pinned = build.file(&wheel.requirements).unwrap_or_default();
    fs::write(&requirements, pinned).map_err(io("write", &requirements))?;
    on_event(Event::Fetching {
        build: build.name().into(),
        what: "its wheel".into(),
        client: "pip".into(),
    });
    let wheels = clients.work.join("wheels");
    let fixed = "download --no-deps --require-hashes --only-binary=:all: --no-input \
                 --progress-bar off -r requirements.txt -d wheels";
    clients.run(&Call {
        program: &pip,
        client: "pip",
        doing: format!("fetching dsh {}", build.name()),
        folder: clients.work,
        args: first_args
            .into_iter()
            .chain(fixed.split(' '))
            .map(str::to_owned)
            .collect(),
    })?;

    let file = only_wheel(build, &wheels)?;
    let found = hash_of_file(&file).map_err(io("read", &file))?;
    let expected = wheel
        .sha256
        .get(&clients.surroundings.platform)
        .cloned()
        .unwrap_or_default();
    if found != expected {
        let what = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        return Err(ProvisionError::WrongHash {
            what,
            expected: format!("sha256 {expected}"),
            found: format!("sha256 {found}"),
        });
    }
    on_event(Event::Unpacking {
        build: build.name().into(),
    });
    clients.run(&Call {
        program: &python,
        client: "python3 -m zipfile",
        doing: format!("unpacking dsh {}", build.name()),
        folder: clients.work,
        args: ["-m", "zipfile", "-e"]
            .map(str::to_owned)
            .into_iter()
            .chain([file, tree.to_path_buf()].map(|path| path.to_string_lossy().into_owned()))
            .collect(),
    })
}

/// Finds pip: as a module of Python, else as a program of its own.
fn pip<'a>(
    build: &Build,
    clients: &Clients<'_>,
    python: &Path,
) -> Result<(PathBuf, Vec<&'a str>), ProvisionError> {
    let module = Call {
        program: python,
        client: "pip",
        doing: "saying its version".into(),
        folder: clients.work,
        args: ["-m", "pip", "--version"].map(str::to_owned).into(),
    };
    match clients.run(&module) {
        Ok(()) => Ok((python.into(), vec!["-m", "pip"])),
        Err(ProvisionError::ClientFailed { .. }) => match clients.find(&["pip3", "pip"]) {
            Some(program) => Ok((program, vec![])),
            None => Err(ProvisionError::NoClient {
                build: build.name().into(),
                client: "pip",
                tried: "python3 -m pip, pip3, pip".into(),
            }),
        },
        Err(other) => Err(other),
    }
}

/// Finds the one wheel that pip put into its folder.
fn only_wheel(build: &Build, wheels: &Path) -> Result<PathBuf, ProvisionError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(wheels).map_err(io("list", wheels))? {
        found.push(entry.map_err(io("list", wheels))?.path());
    }
    match <[PathBuf; 1]>::try_from(found) {
        Ok([file]) => Ok(file),
        Err(_) => Err(ProvisionError::NotInPackage {
            build: build.name().into(),
            path: "exactly one *.whl".into(),
        }),
    }
}
