//! What a folder is: its root, its language, its branch.
//!
//! Used when a workspace is attached. Which folder is the root is assumed (A19).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files that mark a project, with the language they stand for.
const MARKERS: [(&str, Option<(&str, &str)>); 6] = [
    (".plumb", None),
    (".git", None),
    ("go.mod", Some(("go", "Go"))),
    ("Cargo.toml", Some(("rust", "Rust"))),
    ("package.json", Some(("typescript", "TypeScript"))),
    ("pyproject.toml", Some(("python", "Python"))),
];

/// A project as plumb sees it.
#[derive(Clone, Debug)]
pub(crate) struct Project {
    pub(crate) root: PathBuf,
    /// The key and the name of its language.
    pub(crate) language: Option<(&'static str, &'static str)>,
    /// No marker was found, the folder itself is the root.
    pub(crate) is_synthetic: bool,
}

impl Project {
    /// Finds the project around an existing folder.
    pub(crate) fn around(folder: &Path) -> io::Result<Self> {
        let folder = fs::canonicalize(folder)?;
        if !folder.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let is_root = |dir: &&Path| MARKERS.iter().any(|(marker, _)| dir.join(marker).exists());
        let marked = folder.ancestors().find(is_root).map(Path::to_owned);
        let is_synthetic = marked.is_none();
        let root = marked.unwrap_or(folder);
        let language = MARKERS
            .iter()
            .filter(|(marker, _)| root.join(marker).exists())
            .find_map(|(_, key)| *key);
        Ok(Self {
            root,
            language,
            is_synthetic,
        })
    }

    /// The checked-out branch, read without git.
    pub(crate) fn branch(&self) -> Option<String> {
        let head = fs::read_to_string(self.root.join(".git/HEAD")).ok()?;
        Some(head.trim().strip_prefix("ref: refs/heads/")?.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_marker_makes_the_root_and_none_makes_it_synthetic() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let inner = root.join("a/b");
        fs::create_dir_all(&inner).unwrap();
        assert!(Project::around(&inner).unwrap().is_synthetic);
        fs::write(root.join("a/go.mod"), "module x\n").unwrap();
        let found = Project::around(&inner).unwrap();
        assert_eq!(
            (found.root, found.language, found.is_synthetic),
            (root.join("a"), Some(("go", "Go")), false)
        );
        assert!(Project::around(&root.join("missing")).is_err());
    }
}
