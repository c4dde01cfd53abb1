//! Text that may not stand in our files, with the counted exceptions: `tidy.toml` as types.
//!
//! Called by `tidy`. It must never know a rule of its own.

use anyhow::Context as _;
use globset::{Glob, GlobSet, GlobSetBuilder};
use regex::Regex;
use serde::Deserialize;

use super::Source;

/// Every rule.
#[derive(Debug)]
pub(super) struct Forbidden {
    rules: Vec<Rule>,
}

#[derive(Debug)]
struct Rule {
    stated: Stated,
    regex: Regex,
    files: GlobSet,
    except: GlobSet,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    forbidden: Vec<Stated>,
}

/// A rule as the file states it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stated {
    /// What is forbidden, in words.
    what: String,
    /// How it is spelt.
    regex: String,
    /// Where it is looked for.
    files: Vec<String>,
    /// Where it is not.
    #[serde(default)]
    except: Vec<String>,
    /// What to write instead.
    instead: String,
    /// Where it stands for a reason.
    #[serde(default)]
    allow: Vec<Allowed>,
}

/// A counted exception.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Allowed {
    file: String,
    times: usize,
    /// Read by people.
    #[expect(dead_code, reason = "an exception without a reason does not load")]
    reason: String,
}

impl Forbidden {
    pub(super) fn read(text: &str) -> anyhow::Result<Self> {
        let file: RuleFile = toml::from_str(text)?;
        let rules = file
            .forbidden
            .into_iter()
            .map(rule)
            .collect::<Result<_, _>>()?;
        Ok(Self { rules })
    }

    /// Every breach, in the order of the rules.
    pub(super) fn found(&self, sources: &[Source]) -> Vec<String> {
        let mut problems = Vec::new();
        for rule in &self.rules {
            for source in sources.iter().filter(|source| rule.is_about(source)) {
                problems.extend(rule.found(source));
            }
            for allowed in &rule.stated.allow {
                if !sources.iter().any(|source| source.path == allowed.file) {
                    problems.push(format!(
                        "{}: is not there and allowed {}; take the exception out of xtask/tidy.toml",
                        allowed.file, rule.stated.what
                    ));
                }
            }
        }
        problems
    }
}

impl Rule {
    fn is_about(&self, source: &Source) -> bool {
        self.files.is_match(&source.path) && !self.except.is_match(&source.path)
    }

    fn found(&self, source: &Source) -> Vec<String> {
        let hits: Vec<usize> = source
            .text
            .lines()
            .enumerate()
            .filter(|(_, line)| self.regex.is_match(line))
            .map(|(idx, _)| idx + 1)
            .collect();
        let what = &self.stated.what;
        let allowed = self.stated.allow.iter().find(|one| one.file == source.path);
        match allowed {
            Some(allowed) if hits.len() == allowed.times => Vec::new(),
            Some(allowed) => vec![format!(
                "{}: {} lines with {what}, xtask/tidy.toml allows {}",
                source.path,
                hits.len(),
                allowed.times
            )],
            None => hits
                .iter()
                .map(|line| format!("{}:{line}: {what}; {}", source.path, self.stated.instead))
                .collect(),
        }
    }
}

fn rule(stated: Stated) -> anyhow::Result<Rule> {
    Ok(Rule {
        regex: Regex::new(&stated.regex).with_context(|| stated.what.clone())?,
        files: globs(&stated.files)?,
        except: globs(&stated.except)?,
        stated,
    })
}

fn globs(patterns: &[String]) -> anyhow::Result<GlobSet> {
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns {
        builder.add(Glob::new(pattern)?);
    }
    Ok(builder.build()?)
}
