//! Faults of the home: a step of its resolution is left out, for the value that commands are told.
//!
//! Asked once, while the host is composed. The harness itself works in the right home whatever is told.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{Fault, Faults};
use crate::home::{self, HomeError, HomeSources};

/// The home that commands are told.
pub fn told(faults: &Faults, sources: &HomeSources<'_>, home: &Path) -> PathBuf {
    let chosen = chosen(faults, sources);
    let Some(spelling) = chosen else {
        return home::spelled(None, sources).unwrap_or_else(|_| home.to_owned());
    };
    let right = home::spelled(Some(spelling), sources).unwrap_or_else(|_| home.to_owned());
    let written = Path::new(spelling);
    if faults.has(Fault::HomeTilde) && written.starts_with("~") {
        return written.to_owned();
    }
    let expanded = home::expand(written, sources.user).unwrap_or_else(|| written.to_owned());
    if faults.has(Fault::HomeRelative) && expanded.is_relative() {
        return expanded;
    }
    if faults.has(Fault::HomeUnnormalised) {
        return sources.cwd.join(expanded);
    }
    right
}

/// Whether two homes may be composed; `spelling` is how the second was written.
pub fn agree(
    faults: &Faults,
    spelling: &OsStr,
    home: &Path,
    skills: &Path,
) -> Result<(), HomeError> {
    if faults.has(Fault::HomeConflictIgnored) {
        return Ok(());
    }
    if faults.has(Fault::HomeSpellingConflict) {
        return home::agree(home, skills).and_then(|()| same_letters(spelling, home));
    }
    home::agree(home, skills)
}

fn same_letters(spelling: &OsStr, home: &Path) -> Result<(), HomeError> {
    if spelling == home.as_os_str() {
        return Ok(());
    }
    Err(HomeError::Conflict {
        main: home.to_owned(),
        skills: PathBuf::from(spelling),
    })
}

/// Where skills are discovered.
pub fn skills(faults: &Faults, home: &Path) -> PathBuf {
    if faults.has(Fault::SkillsElsewhere) {
        home.join("elsewhere")
    } else {
        home.to_owned()
    }
}

fn chosen<'a>(faults: &Faults, sources: &HomeSources<'a>) -> Option<&'a OsStr> {
    let explicit = sources
        .explicit
        .filter(|_| !faults.has(Fault::HomeExplicitIgnored));
    let ambient = sources
        .ambient
        .filter(|_| !faults.has(Fault::HomeAmbientIgnored));
    let says = |spelling: &&OsStr| faults.has(Fault::HomeBlank) || !home::is_blank(spelling);
    [explicit, ambient].into_iter().flatten().find(says)
}
