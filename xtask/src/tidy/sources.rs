//! The files that are looked at: everything below the workspace but what is built, fetched or written by a run.
//!
//! Called by `tidy`. It reads and changes nothing.

use std::path::Path;

use anyhow::Context as _;

/// What is not ours to tidy.
const NOT_OURS: [&str; 4] = [".git", "target", "node_modules", "e2e-results"];

/// One text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    /// Its path, relative to the workspace, with `/`.
    pub(crate) path: String,
    /// What it says.
    pub(crate) text: String,
}

impl Source {
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
        }
    }

    pub(crate) fn has_ending(&self, ending: &str) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|found| found == ending)
    }

    pub(crate) fn is_code(&self) -> bool {
        self.has_ending("rs") || self.has_ending("mjs")
    }

    /// Whether it is a scenario: a TOML file in a family's folder.
    pub(crate) fn is_scenario(&self) -> bool {
        let parts: Vec<&str> = self.path.split('/').collect();
        matches!(parts.as_slice(), ["scenarios", family, _] if !["requirements", "pins"].contains(family))
            && self.has_ending("toml")
    }

    pub(crate) fn stem(&self) -> &str {
        Path::new(&self.path)
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default()
    }
}

/// Every text file below `root`, by path.
pub(crate) fn below(root: &Path) -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    walk(root, root, &mut sources)?;
    sources.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(sources)
}

fn walk(root: &Path, folder: &Path, sources: &mut Vec<Source>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let path = entry.path();
        let kind = entry.file_type()?;
        // In a second working tree `.git` is a file.
        if NOT_OURS.contains(&entry.file_name().to_string_lossy().as_ref()) {
            continue;
        }
        if kind.is_dir() {
            walk(root, &path, sources)?;
        } else if kind.is_file() {
            // What is no text is not for people to read, and no rule is about it.
            if let Ok(text) = String::from_utf8(std::fs::read(&path)?) {
                let relative = path
                    .strip_prefix(root)
                    .context("a file outside its folder")?;
                sources.push(Source::new(relative.to_string_lossy(), text));
            }
        }
    }
    Ok(())
}
