//! A worse copy of the identity plugin: the folder, with exact texts of it replaced.
//!
//! Called when a control names a patch. It must never leave a copy that is as good as the original: a text that is not
//! there exactly once is an error, so a control whose fault has been moved away breaks and does not pass.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{StageError, home};

/// One patch: data of the agent's folder, `identity-faults/<name>.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Patch {
    /// The promise that it breaks, in words.
    breaks: String,
    /// What is replaced.
    edit: Vec<Edit>,
}

/// One replacement.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// The file, relative to the plugin's folder.
    file: String,
    /// The text, to be found exactly once.
    find: String,
    /// What stands there afterwards.
    replace: String,
}

/// A worse copy that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// There is no such patch, or it cannot be read.
    #[error("the plugin's patch `{name}` cannot be read from {path}: {why}")]
    Unreadable {
        /// Its name.
        name: String,
        /// Where it was looked for.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A text is not there exactly once.
    #[error(
        "the plugin's patch `{name}` did not apply: {file} has its text {times} times, not once; write the patch anew"
    )]
    DidNotApply {
        /// Its name.
        name: String,
        /// The plugin's file.
        file: String,
        /// How often the text is there.
        times: usize,
    },
}

/// Writes a copy of `plugin` with the patch `name` of the folder `faults` below `to`.
pub(super) fn apply(name: &str, faults: &Path, plugin: &Path, to: &Path) -> Result<(), StageError> {
    let path = faults.join(format!("{name}.toml"));
    let unreadable = |why: String| PatchError::Unreadable {
        name: name.to_owned(),
        path: path.clone(),
        why,
    };
    let text = std::fs::read_to_string(&path).map_err(|error| unreadable(error.to_string()))?;
    let read: Patch =
        toml::from_str(&text).map_err(|error| unreadable(error.message().to_owned()))?;
    home::copy(plugin, to)?;
    for edit in &read.edit {
        let file = to.join(&edit.file);
        let failed = |source| StageError::Write {
            path: file.clone(),
            source,
        };
        let before = std::fs::read_to_string(&file).map_err(failed)?;
        let times = before.matches(&edit.find).count();
        if times != 1 {
            return Err(PatchError::DidNotApply {
                name: name.to_owned(),
                file: edit.file.clone(),
                times,
            }
            .into());
        }
        std::fs::write(&file, before.replace(&edit.find, &edit.replace)).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::apply;

    /// What comes of a patch that replaces `find` in a plugin that says `one two two`.
    fn outcome(find: &str) -> Result<String, String> {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for folder in ["plugin", "faults"] {
            std::fs::create_dir(at(folder)).unwrap();
        }
        std::fs::write(at("plugin/index.mjs"), "one two two").unwrap();
        let text = format!(
            "breaks = 'b'\n[[edit]]\nfile = 'index.mjs'\nfind = '{find}'\nreplace = 'worse'\n"
        );
        std::fs::write(at("faults/fault.toml"), text).unwrap();
        apply("fault", &at("faults"), &at("plugin"), &at("copy"))
            .map_err(|error| error.to_string())?;
        let original = std::fs::read_to_string(at("plugin/index.mjs")).unwrap();
        assert_eq!(original, "one two two", "the original was changed");
        Ok(std::fs::read_to_string(at("copy/index.mjs")).unwrap())
    }

    #[test]
    fn a_text_that_is_there_once_is_replaced_in_the_copy_alone() {
        assert_eq!(outcome("one").unwrap(), "worse two two");
    }

    #[test]
    fn a_text_that_is_not_there_once_did_not_apply() {
        for (find, times) in [("three", 0), ("two", 2)] {
            let error = outcome(find).unwrap_err();
            assert!(error.contains("did not apply"), "{error}");
            assert!(error.contains(&format!("{times} times")), "{error}");
        }
    }
}
