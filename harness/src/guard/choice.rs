//! Which plumb: the flag, then `PLUMB_BIN`, then a checkout beside this one, then `PATH`.
//!
//! Called by the guard alone. A place that was named and is empty is an error, never a reason to look further.

use std::fmt;
use std::path::{Path, PathBuf};

use super::GuardError;
use crate::host::HostFacts;

/// Where a plumb was named or found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `--plumb PATH`.
    Flag,
    /// `PLUMB_BIN`.
    Variable,
    /// The checkout beside the working folder.
    Sibling,
    /// `PATH`.
    Path,
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Flag => "--plumb",
            Self::Variable => "PLUMB_BIN",
            Self::Sibling => "../plumb/plumb",
            Self::Path => "PATH",
        })
    }
}

/// A real plumb that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// This one.
    At(PathBuf, Source),
    /// The one that is found.
    Found,
}

/// What is wanted; nothing where it is the built-in plumb.
pub(super) fn wanted(facts: &HostFacts, flag: Option<&str>) -> Result<Option<Wanted>, GuardError> {
    let variable = facts.told.plumb_bin.as_ref().map(|bin| facts.cwd.join(bin));
    let differ = |flag: &str, variable: &Path| {
        Err(GuardError::Differ {
            flag: flag.to_owned(),
            variable: variable.display().to_string(),
        })
    };
    match (flag, variable) {
        (None | Some("fake"), None) => Ok(None),
        (Some("fake"), Some(variable)) => differ("fake", &variable),
        (Some("real"), None) => Ok(Some(Wanted::Found)),
        (None | Some("real"), Some(variable)) => Ok(Some(Wanted::At(variable, Source::Variable))),
        (Some(flag), variable) => {
            let path = facts.cwd.join(flag);
            match variable {
                Some(variable) if variable != path => differ(flag, &variable),
                _ => Ok(Some(Wanted::At(path, Source::Flag))),
            }
        }
    }
}

/// Finds it.
pub(super) fn find(
    facts: &HostFacts,
    wanted: Wanted,
    is_program: &dyn Fn(&Path) -> bool,
) -> Result<(PathBuf, Source), GuardError> {
    if let Wanted::At(path, source) = wanted {
        return if is_program(&path) {
            Ok((path, source))
        } else {
            Err(GuardError::Missing {
                source_of: source,
                path,
            })
        };
    }
    let sibling = facts.cwd.parent().unwrap_or(&facts.cwd).join("plumb/plumb");
    if is_program(&sibling) {
        return Ok((sibling, Source::Sibling));
    }
    // A relative entry of PATH would make the plumb depend on the working folder.
    let on_path = facts.told.path.as_ref().and_then(|path| {
        std::env::split_paths(path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join("plumb"))
            .find(|it| is_program(it))
    });
    on_path
        .map(|path| (path, Source::Path))
        .ok_or(GuardError::Nowhere { sibling })
}
