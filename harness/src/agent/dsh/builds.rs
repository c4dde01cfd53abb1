//! The pinned builds that are compiled in.
//!
//! Called by the command line. It must never guess a build from a part of its name.

use std::borrow::Cow;

use include_dir::{Dir, include_dir};
use thiserror::Error;

use super::build::{Build, BuildError, Files};

/// The folders below `agents/dsh` that describe a build; the first is the default.
static FOLDERS: [(&str, Dir<'static>); 2] = [
    (
        "0.2.1",
        include_dir!("$CARGO_MANIFEST_DIR/../agents/dsh/0.2.1"),
    ),
    ("rc8", include_dir!("$CARGO_MANIFEST_DIR/../agents/dsh/rc8")),
];

/// No build has that name.
#[derive(Debug, Error)]
pub enum UnknownBuild {
    /// The name is none of those compiled in.
    #[error("no dsh build is called `{name}`; there are: {known}")]
    Name {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The program itself was built from a broken folder.
    #[error(transparent)]
    Folder(#[from] BuildError),
}

/// Reads every pinned build, the default first.
pub fn builds() -> Result<Vec<Build>, BuildError> {
    FOLDERS
        .iter()
        .map(|(name, folder)| Build::from_files(name, files_of(folder)))
        .collect()
}

/// Reads the build of that name.
pub fn find(name: &str) -> Result<Build, UnknownBuild> {
    if let Some((known, folder)) = FOLDERS.iter().find(|(known, _)| *known == name) {
        return Ok(Build::from_files(known, files_of(folder))?);
    }
    let known = FOLDERS
        .iter()
        .map(|(known, _)| *known)
        .collect::<Vec<_>>()
        .join(", ");
    Err(UnknownBuild::Name {
        name: name.into(),
        known,
    })
}

/// Reads the build that calls itself so, if one is pinned: the recipe for a dsh that was installed
/// by somebody else.
pub fn with_version(version: &str) -> Result<Option<Build>, BuildError> {
    Ok(builds()?
        .into_iter()
        .find(|build| build.facts.version == version))
}

/// Lists every file of a folder, at any depth.
fn files_of(folder: &'static Dir<'static>) -> Files {
    let mut files = Files::new();
    let mut open = vec![folder];
    while let Some(next) = open.pop() {
        open.extend(next.dirs());
        for file in next.files() {
            files.insert(
                file.path().to_string_lossy().into_owned(),
                Cow::Borrowed(file.contents()),
            );
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_compiled_in_build_can_be_read() {
        let names: Vec<_> = builds()
            .unwrap()
            .iter()
            .map(|build| build.name().to_owned())
            .collect();
        assert_eq!(names, ["0.2.1", "rc8"]);
    }

    #[test]
    fn a_build_is_found_by_its_whole_version_only() {
        let name = |version| {
            with_version(version)
                .unwrap()
                .map(|build| build.name().to_owned())
        };
        assert_eq!(name("0.1.0-rc.8").as_deref(), Some("rc8"));
        assert_eq!(name("0.1.0"), None);
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = find("0.2").unwrap_err();
        assert_eq!(
            error.to_string(),
            "no dsh build is called `0.2`; there are: 0.2.1, rc8"
        );
    }
}
