//! Directory trees as comparable data, to show that a question changed nothing on disk.
//!
//! Called by the operation that asks for a location. It must never follow a symbolic link.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// One entry below a root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Entry {
    /// Its path.
    pub path: PathBuf,
    /// Its size in bytes; none for a directory, whose size says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// When it was last changed, in nanoseconds since 1970.
    pub modified: i64,
}

/// Every entry below some directories, sorted by path; a missing directory has none.
pub fn listing(roots: &[PathBuf]) -> Vec<Entry> {
    let mut entries = Vec::new();
    for root in roots {
        walk(root, &mut entries);
    }
    entries.sort();
    entries
}

fn walk(directory: &Path, entries: &mut Vec<Entry>) {
    let Ok(inside) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in inside.flatten() {
        let path = entry.path();
        let Ok(about) = path.symlink_metadata() else {
            continue;
        };
        let modified = about.mtime() * 1_000_000_000 + about.mtime_nsec();
        let size = (!about.is_dir()).then_some(about.len());
        entries.push(Entry {
            path: path.clone(),
            size,
            modified,
        });
        if about.is_dir() {
            walk(&path, entries);
        }
    }
}
