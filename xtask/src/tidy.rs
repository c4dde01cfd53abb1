//! What neither the compiler nor clippy checks: length, opening words, forbidden text, scenario files.
//!
//! Called by `cargo xtask tidy`. What is forbidden is data (`tidy.toml`, beside this crate's manifest), and so is every
//! exception, each with its reason and its count: one too many is a problem, one too few as well.

mod forbidden;
mod sources;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;

use forbidden::Forbidden;
pub(crate) use sources::Source;

/// Above this a file is worth a look.
const LONG: usize = 400;

/// Above this a file has to be split.
const TOO_LONG: usize = 600;

/// Above this a scenario says more than one thing.
const LONG_SCENARIO: usize = 170;

/// Names that say nothing of what is in a file.
const NO_NOUN: [&str; 5] = ["utils", "util", "common", "helpers", "imp"];

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// How many files were looked at.
    pub files: usize,
    /// Worth a look.
    pub warnings: Vec<String>,
    /// To be mended.
    pub problems: Vec<String>,
}

/// Looks at every file below `root`.
pub fn check(root: &Path) -> anyhow::Result<Report> {
    let path = root.join("xtask/tidy.toml");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let forbidden = Forbidden::read(&text).with_context(|| path.display().to_string())?;
    let sources = sources::below(root)?;
    Ok(look(&sources, &forbidden))
}

fn look(sources: &[Source], forbidden: &Forbidden) -> Report {
    let mut report = Report {
        files: sources.len(),
        ..Report::default()
    };
    for source in sources {
        length(source, &mut report);
        opening(source, &mut report);
        name(source, &mut report);
    }
    stems(sources, &mut report);
    report.problems.extend(forbidden.found(sources));
    report
}

fn length(source: &Source, report: &mut Report) {
    let lines = source.text.lines().count();
    if source.is_scenario() {
        if lines > LONG_SCENARIO {
            report.problems.push(format!(
                "{}: {lines} lines, {LONG_SCENARIO} are allowed in a scenario; make it two",
                source.path
            ));
        }
        return;
    }
    if !source.is_code() {
        return;
    }
    if lines > TOO_LONG {
        report.problems.push(format!(
            "{}: {lines} lines, {TOO_LONG} are allowed; split it by noun",
            source.path
        ));
    } else if lines > LONG {
        report
            .warnings
            .push(format!("{}: {lines} lines, more than {LONG}", source.path));
    }
}

/// Each source file says first what it is.
fn opening(source: &Source, report: &mut Report) {
    if !source.is_code() {
        return;
    }
    let first = source
        .text
        .lines()
        .find(|line| !line.starts_with("#!"))
        .unwrap_or_default();
    let said = if source.has_ending("rs") {
        first.starts_with("//! ")
    } else {
        first.starts_with("// ") || first.starts_with("//! ")
    };
    if !said {
        report.problems.push(format!(
            "{}: does not open with a comment on what it is, who calls it, what it must never do",
            source.path
        ));
    }
}

fn name(source: &Source, report: &mut Report) {
    if source.is_code() && NO_NOUN.contains(&source.stem()) {
        report.problems.push(format!(
            "{}: the name says nothing; name the noun",
            source.path
        ));
    }
}

/// A scenario is called by its stem.
fn stems(sources: &[Source], report: &mut Report) {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.is_scenario()) {
        if let Some(other) = seen.insert(source.stem(), &source.path) {
            report.problems.push(format!(
                "{}: {other} has the same stem; a bare stem must name one scenario",
                source.path
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Forbidden, Source, look};

    const RULES: &str = r#"
        [[forbidden]]
        what = "a sleep"
        regex = 'thread::sleep'
        files = ["**/*.rs"]
        instead = "wait for a fact"
        allow = [{ file = "a/gate.rs", times = 1, reason = "it is the gate" }]
    "#;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[&str]) {
        let sources = [
            Source::new("a/gate.rs", "//! The gate.\nthread::sleep"),
            Source::new(path, text),
        ];
        let report = look(&sources, &Forbidden::read(RULES).unwrap());
        let all: Vec<String> = report.problems.into_iter().chain(report.warnings).collect();
        assert_eq!(all.len(), expected.len(), "{all:#?}");
        for (found, wanted) in all.iter().zip(expected) {
            assert!(found.contains(wanted), "found: {found}\nexpected: {wanted}");
        }
    }

    #[test]
    fn a_file_in_order_is_left_alone() {
        check("a/b.rs", "//! A file.\n", &[]);
        check("a/b.mjs", "#!/usr/bin/env node\n// A file.\n", &[]);
        check("a/b.md", "anything, thread::sleep included\n", &[]);
    }

    #[test]
    fn a_long_file_is_named_and_a_too_long_one_refused() {
        check(
            "a/b.rs",
            &format!("//! A.\n{}", "\n".repeat(400)),
            &["401 lines"],
        );
        check(
            "a/b.rs",
            &format!("//! A.\n{}", "\n".repeat(600)),
            &["split it"],
        );
    }

    #[test]
    fn a_file_without_opening_words_is_refused() {
        check("a/b.rs", "use std::fmt;\n", &["does not open"]);
        check("a/b.mjs", "import x from 'y'\n", &["does not open"]);
    }

    #[test]
    fn a_name_without_a_noun_is_refused() {
        check("a/utils.rs", "//! A.\n", &["says nothing"]);
    }

    #[test]
    fn a_scenario_is_short_and_its_stem_its_own() {
        check("scenarios/f/s.toml", &"\n".repeat(171), &["171 lines"]);
        let sources = [
            Source::new("scenarios/f/s.toml", ""),
            Source::new("scenarios/g/s.toml", ""),
        ];
        let rules = Forbidden::read("forbidden = []").unwrap();
        assert_eq!(look(&sources, &rules).problems.len(), 1);
    }

    #[test]
    fn forbidden_text_is_refused_where_it_is_not_allowed() {
        check("a/b.rs", "//! A.\nthread::sleep\n", &["a/b.rs:2: a sleep"]);
    }

    #[test]
    fn an_exception_is_counted_both_ways() {
        let rules = Forbidden::read(RULES).unwrap();
        let twice = [Source::new(
            "a/gate.rs",
            "//! G.\nthread::sleep\nthread::sleep\n",
        )];
        assert_eq!(look(&twice, &rules).problems.len(), 1);
        let never = [Source::new("a/gate.rs", "//! G.\n")];
        assert_eq!(look(&never, &rules).problems.len(), 1);
        let gone = [Source::new("a/b.rs", "//! B.\n")];
        assert_eq!(look(&gone, &rules).problems.len(), 1);
    }
}
