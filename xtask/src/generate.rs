//! The documents that are generated: from the command line, the scenarios, the classes and the format's types.
//!
//! Called by `cargo xtask gen` and by a test of `dsh-e2e`. A generated document is never edited by hand.

mod command_line;
mod format;

use std::path::Path;

use anyhow::Context as _;
use harness::explain;
use harness::library;
use harness::verdict::Class;

/// Said at the top of each generated page.
const GENERATED: &str = "<!-- Written by `cargo xtask gen`; do not edit. -->\n";

/// One generated file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Where it is, relative to the workspace.
    pub path: &'static str,
    /// What it has to say.
    pub text: String,
}

/// Every generated document, as it has to be. `program` is the built `dsh-e2e`.
pub fn documents(program: &Path) -> anyhow::Result<Vec<Document>> {
    let page = |path, text: &str| Document {
        path,
        text: format!("{GENERATED}{text}"),
    };
    Ok(vec![
        page("docs/cli.md", &command_line::page(program)?),
        page("docs/scenarios.md", &scenarios()?),
        page("docs/failure-classes.md", &classes()),
        page("docs/scenario-format.md", &format::page()),
        Document {
            path: "schema/scenario.json",
            text: format::schema_text(),
        },
    ])
}

/// Those documents that are not on the disk as they have to be.
pub fn stale(root: &Path, documents: &[Document]) -> Vec<Document> {
    documents
        .iter()
        .filter(|document| {
            std::fs::read_to_string(root.join(document.path))
                .map_or(true, |text| text != document.text)
        })
        .cloned()
        .collect()
}

/// Writes one document.
pub fn write(root: &Path, document: &Document) -> anyhow::Result<()> {
    let path = root.join(document.path);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(&path, &document.text).with_context(|| format!("write {}", path.display()))
}

fn scenarios() -> anyhow::Result<String> {
    let entries = library::scenarios(None)?;
    let mut text = String::from(
        "# Scenarios\n\nWhat the suite does and expects, scenario by scenario. `dsh-e2e explain ID` says the same of one.\n\
         Beside the checks listed, every scenario has the built-in ones: exit, boot, mounted, script, route, timeline, empty;\n\
         namespace where plumb is used; canaries where a command was looked into.\n\n",
    );
    for entry in &entries {
        text.push_str(&explain::prose::section(entry));
        text.push('\n');
    }
    Ok(text.trim_end().to_owned() + "\n")
}

fn classes() -> String {
    let mut text = String::from(
        "# Failure classes\n\nEach failed check has one of these codes. `dsh-e2e explain CODE` says the same of one.\n\n",
    );
    for class in Class::ALL {
        text.push_str(&explain::section(class));
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::{Document, stale, write};

    #[test]
    fn a_document_is_stale_until_it_is_written() {
        let root = tempfile::tempdir().unwrap();
        let document = Document {
            path: "docs/a.md",
            text: "new\n".into(),
        };
        let documents = [document.clone()];

        assert_eq!(stale(root.path(), &documents), documents);
        write(root.path(), &document).unwrap();
        assert!(stale(root.path(), &documents).is_empty());
        std::fs::write(root.path().join("docs/a.md"), "old\n").unwrap();
        assert_eq!(stale(root.path(), &documents), documents);
    }
}
