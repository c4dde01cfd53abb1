//! Which directory is the harness's home: an explicit one, then the ambient one, then the user's own.
//!
//! Called once while the host is composed. It is pure: the environment and the working directory are handed in.
//! It must never look at the disk, so a symbolic link stays as it was written.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// Everything that may name a home.
#[derive(Debug, Clone, Copy)]
pub struct HomeSources<'a> {
    /// The home that the configuration names.
    pub explicit: Option<&'a OsStr>,
    /// The value of `DSH_HOME` in the environment of this process.
    pub ambient: Option<&'a OsStr>,
    /// The user's home, for `~` and for the default.
    pub user: Option<&'a OsStr>,
    /// The working directory of this process, which relative spellings start from.
    pub cwd: &'a Path,
}

/// A home that cannot be decided.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum HomeError {
    /// Nothing names a home, and the user has none.
    #[error("no home: give --home, or set DSH_HOME or HOME")]
    Nowhere,
    /// `~` stands for nothing.
    #[error(
        "`{spelling}` starts at the user's home, and HOME is not set: write the directory in full"
    )]
    NoUser {
        /// The home as it was written.
        spelling: String,
    },
    /// Two parts of one process were given different homes.
    #[error(
        "two homes: `{main}` and, for skills, `{skills}`; name the same directory, or leave the second out"
    )]
    Conflict {
        /// The home of the harness.
        main: PathBuf,
        /// The home that skills were to be discovered in.
        skills: PathBuf,
    },
}

/// The home, absolute and normalised.
pub fn resolve(sources: &HomeSources<'_>) -> Result<PathBuf, HomeError> {
    let named = [sources.explicit, sources.ambient]
        .into_iter()
        .flatten()
        .find(|spelling| !is_blank(spelling));
    spelled(named, sources)
}

/// The home that one spelling stands for; the default when there is none.
pub fn spelled(named: Option<&OsStr>, sources: &HomeSources<'_>) -> Result<PathBuf, HomeError> {
    let written = match named {
        Some(spelling) => PathBuf::from(spelling),
        None => Path::new("~").join(".dsh"),
    };
    let expanded = expand(&written, sources.user).ok_or_else(|| match named {
        Some(spelling) => HomeError::NoUser {
            spelling: spelling.to_string_lossy().into_owned(),
        },
        None => HomeError::Nowhere,
    })?;
    Ok(normal(&sources.cwd.join(expanded)))
}

/// Two spellings of one directory are one home; anything else must not be composed.
pub fn agree(main: &Path, skills: &Path) -> Result<(), HomeError> {
    if main == skills {
        return Ok(());
    }
    Err(HomeError::Conflict {
        main: main.to_owned(),
        skills: skills.to_owned(),
    })
}

/// Whether a spelling says nothing: empty, or only white space.
pub fn is_blank(spelling: &OsStr) -> bool {
    spelling.to_str().is_some_and(|text| text.trim().is_empty())
}

/// A leading `~` replaced by the user's home; nothing when there is none.
pub fn expand(written: &Path, user: Option<&OsStr>) -> Option<PathBuf> {
    let Ok(rest) = written.strip_prefix("~") else {
        return Some(written.to_owned());
    };
    let user = user.filter(|user| !is_blank(user))?;
    Some(Path::new(user).join(rest))
}

/// An absolute path without `.`, `..` and doubled or trailing slashes; `..` at the root stays at the root.
pub fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(explicit: Option<&str>, ambient: Option<&str>, expected: &str) {
        let sources = HomeSources {
            explicit: explicit.map(OsStr::new),
            ambient: ambient.map(OsStr::new),
            user: Some(OsStr::new("/u")),
            cwd: Path::new("/w/here"),
        };
        assert_eq!(resolve(&sources).unwrap(), Path::new(expected));
    }

    #[test]
    fn an_explicit_home_goes_before_the_ambient_one_and_that_before_the_users() {
        check(Some("/a"), Some("/b"), "/a");
        check(None, Some("/b"), "/b");
        check(None, None, "/u/.dsh");
    }

    #[test]
    fn blank_is_unset() {
        check(Some(""), Some("/b"), "/b");
        check(Some(" \t"), Some("  "), "/u/.dsh");
    }

    #[test]
    fn relative_unnormalised_and_tilde_spellings_become_absolute() {
        check(Some("../home"), None, "/w/home");
        check(Some("/a/./x/..//home/"), None, "/a/home");
        check(Some("~/.dsh"), None, "/u/.dsh");
        check(None, Some("~"), "/u");
        check(Some("/../.."), None, "/");
        check(Some("~other/x"), None, "/w/here/~other/x");
    }

    #[test]
    fn without_a_user_there_is_no_default_and_no_tilde() {
        let sources = HomeSources {
            explicit: None,
            ambient: None,
            user: None,
            cwd: Path::new("/w"),
        };
        assert_eq!(resolve(&sources), Err(HomeError::Nowhere));
        let sources = HomeSources {
            explicit: Some(OsStr::new("~/x")),
            ..sources
        };
        assert!(matches!(resolve(&sources), Err(HomeError::NoUser { .. })));
    }

    #[test]
    fn two_spellings_of_one_directory_agree_and_two_directories_do_not() {
        assert_eq!(
            agree(&normal(Path::new("/a/./b/")), Path::new("/a/b")),
            Ok(())
        );
        assert!(agree(Path::new("/a"), Path::new("/b")).is_err());
    }

    /// Detours that lead nowhere: they may stand anywhere in a path and change nothing.
    fn any_detour() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("/".to_owned()),
            Just("/./".to_owned()),
            "/[a-z]{1,4}/\\.\\./".prop_map(|text| text)
        ]
    }

    proptest! {
        #[test]
        fn every_spelling_of_a_directory_is_that_directory(
            parts in proptest::collection::vec("[a-z~. ]{1,6}", 1..5),
            detours in proptest::collection::vec(any_detour(), 5),
        ) {
            prop_assume!(parts.iter().all(|part| part != "." && part != ".." && !part.trim().is_empty()));
            let plain = format!("/{}", parts.join("/"));
            let mut spelling = String::new();
            for (part, detour) in parts.iter().zip(&detours) {
                spelling.push_str(detour);
                spelling.push_str(part);
            }
            let sources = HomeSources {
                explicit: Some(OsStr::new(&spelling)), ambient: None, user: None, cwd: Path::new("/w"),
            };
            prop_assert_eq!(resolve(&sources).unwrap(), PathBuf::from(plain));
        }

        #[test]
        fn a_home_is_always_absolute_and_resolving_it_again_changes_nothing(spelling in "[a-z./~ ]{0,12}") {
            let sources = HomeSources {
                explicit: Some(OsStr::new(&spelling)), ambient: None, user: Some(OsStr::new("/u")), cwd: Path::new("/w"),
            };
            let home = resolve(&sources).unwrap();
            prop_assert!(home.is_absolute());
            let again = HomeSources { explicit: Some(home.as_os_str()), ..sources };
            prop_assert_eq!(resolve(&again).unwrap(), home);
        }
    }
}
