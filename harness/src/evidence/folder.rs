//! The one writer of evidence. Every byte goes through it, and secrets are replaced by value on the way.
//!
//! Called by `drive`. The folder is private (0700) and raw but for that; a name in use is never overwritten in part:
//! each file is written aside and renamed.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::secrets::{Count, SecretKind, Secrets};

/// How much one scenario's evidence may hold (design: 8 MiB); a longer text keeps its head and its tail.
const LIMIT: usize = 8 << 20;

/// How much of a text that is too long is kept at each end.
const END: usize = 256 << 10;

/// The evidence folder of one run of one scenario.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    secrets: Secrets,
    hidden_in: BTreeMap<String, Count>,
    left: usize,
}

/// Evidence that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("evidence `{path}` cannot be written: {source}")]
pub struct FolderError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub source: std::io::Error,
}

impl Folder {
    /// Makes the folder; it must not be there.
    pub fn create(path: &Path) -> Result<Self, FolderError> {
        let failed = |source| FolderError {
            path: path.to_owned(),
            source,
        };
        if let Some(parent) = path.parent() {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(parent)
                .map_err(failed)?;
        }
        fs::DirBuilder::new()
            .mode(0o700)
            .create(path)
            .map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            secrets: Secrets::default(),
            hidden_in: BTreeMap::new(),
            left: LIMIT,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a value that must never be written.
    pub fn hide(&mut self, kind: SecretKind, secret: &str) {
        self.secrets.learn(kind, secret);
    }

    /// How many secrets of each sort are known.
    pub fn known(&self) -> Count {
        self.secrets.known()
    }

    /// Where secrets stood, and how many different ones.
    pub fn hidden_in(&self) -> &BTreeMap<String, Count> {
        &self.hidden_in
    }

    /// Searches a text that is not written, or not under this name.
    pub fn search(&mut self, name: &str, text: &str) {
        let found = self.secrets.standing_in(text);
        if !found.is_empty() {
            let at = self.hidden_in.entry(name.to_owned()).or_default();
            for (kind, times) in found {
                let most = at.entry(kind).or_default();
                *most = times.max(*most);
            }
        }
    }

    /// Reads everything back from the disk and names the files in which a secret stands after all.
    pub fn residue(&self) -> Vec<String> {
        let mut left = Vec::new();
        let mut folders = vec![self.path.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let bytes = fs::read(&path).unwrap_or_default();
                if !self
                    .secrets
                    .standing_in(&String::from_utf8_lossy(&bytes))
                    .is_empty()
                {
                    let name = path.strip_prefix(&self.path).unwrap_or(&path);
                    left.push(name.display().to_string());
                }
            }
        }
        left.sort();
        left
    }

    /// Writes a text under a relative name.
    pub fn text(&mut self, name: &str, text: &str) -> Result<(), FolderError> {
        let path = self.path.join(name);
        let failed = |source| FolderError {
            path: path.clone(),
            source,
        };
        self.search(name, text);
        let mut text = self.secrets.freed(text);
        if text.len() > self.left.max(2 * END) {
            text = shortened(&text);
        }
        self.left = self.left.saturating_sub(text.len());
        if let Some(parent) = path.parent() {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(parent)
                .map_err(failed)?;
        }
        let aside = path.with_extension("writing");
        let mut file = fs::File::create(&aside).map_err(failed)?;
        file.set_permissions(fs::Permissions::from_mode(0o600))
            .map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        drop(file);
        fs::rename(&aside, &path).map_err(failed)
    }

    /// Writes a value as pretty JSON.
    pub fn json<T: Serialize>(&mut self, name: &str, value: &T) -> Result<(), FolderError> {
        let text = serde_json::to_string_pretty(value).map_err(|error| FolderError {
            path: self.path.join(name),
            source: error.into(),
        })?;
        self.text(name, &format!("{text}\n"))
    }

    /// Writes values as JSON lines.
    pub fn lines<T: Serialize>(&mut self, name: &str, values: &[T]) -> Result<(), FolderError> {
        let mut text = String::new();
        for value in values {
            let line = serde_json::to_string(value).map_err(|error| FolderError {
                path: self.path.join(name),
                source: error.into(),
            })?;
            text.push_str(&line);
            text.push('\n');
        }
        self.text(name, &text)
    }

    /// Writes the fake model's journal; tool definitions, the same in every request, once by their hash.
    pub fn journal(&mut self, name: &str, events: &[Value]) -> Result<(), FolderError> {
        let mut kept = Vec::new();
        for event in events {
            let mut event = event.clone();
            if let Some(Value::String(body)) = event.get("body")
                && let Ok(mut body) = serde_json::from_str::<Value>(body)
            {
                if let Some(tools) = body.get_mut("tools") {
                    let text = serde_json::to_string(tools).unwrap_or_default();
                    let hash = hash(&text);
                    let file = format!("tools/{hash}.json");
                    if !self.path.join(&file).exists() {
                        self.text(&file, &text)?;
                    }
                    *tools = json!({ "stored": hash });
                }
                event["body"] = body;
            }
            kept.push(event);
        }
        self.lines(name, &kept)
    }
}

/// The first 16 hex digits of a text's SHA-256.
pub(super) fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest
        .iter()
        .take(8)
        .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

/// Head and tail of a text, with the length and the hash of the whole.
fn shortened(text: &str) -> String {
    let head = text.floor_char_boundary(END);
    let tail = text.ceil_char_boundary(text.len() - END);
    format!(
        "{}\n[cut: {} bytes in all, sha256 {}]\n{}",
        &text[..head],
        text.len(),
        hash(text),
        &text[tail..]
    )
}

#[cfg(test)]
mod tests {
    use super::{END, Folder, SecretKind};

    #[test]
    fn a_secret_is_replaced_wherever_it_stands() {
        let root = tempfile::tempdir().unwrap();
        let mut folder = Folder::create(&root.path().join("run")).unwrap();
        folder.hide(SecretKind::NamespaceToken, "nst-secret");
        folder.text("stderr", "a nst-secret b nst-secret").unwrap();
        let text = std::fs::read_to_string(root.path().join("run/stderr")).unwrap();
        assert_eq!(text, "a … b …");
        assert_eq!(
            folder.hidden_in()["stderr"],
            [(SecretKind::NamespaceToken, 1)].into()
        );
        assert_eq!(folder.residue(), Vec::<String>::new());
    }

    #[test]
    fn a_secret_that_got_round_the_writer_is_found_on_the_disk() {
        let root = tempfile::tempdir().unwrap();
        let mut folder = Folder::create(&root.path().join("run")).unwrap();
        folder.hide(SecretKind::ModelKey, "sk-secret");
        std::fs::create_dir(root.path().join("run/launch")).unwrap();
        std::fs::write(
            root.path().join("run/launch/core"),
            b"\xff\x00sk-secret\xfe",
        )
        .unwrap();
        assert_eq!(folder.residue(), ["launch/core"]);
    }

    #[test]
    fn a_text_beyond_the_bound_keeps_head_and_tail_and_says_so() {
        let root = tempfile::tempdir().unwrap();
        let mut folder = Folder::create(&root.path().join("run")).unwrap();
        let long = format!("head{}tail", "x".repeat(9 << 20));
        folder.text("stdout", &long).unwrap();
        let text = std::fs::read_to_string(root.path().join("run/stdout")).unwrap();
        assert!(text.starts_with("head") && text.ends_with("tail"));
        assert!(text.contains("[cut: 9437192 bytes in all"));
        assert!(text.len() < 3 * END);
    }

    #[test]
    fn a_folder_that_is_there_is_not_taken_over() {
        let root = tempfile::tempdir().unwrap();
        assert!(Folder::create(root.path()).is_err());
    }
}
