//! Further reports: which are asked for, and their way into files. What they say is the harness's business.

use std::io::Write as _;
use std::path::PathBuf;

use harness::report::{Account, github_report, json_report, junit_report};

use crate::refusal::Refusal;

/// One report, and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    kind: Kind,
    to: To,
}

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Json,
    Junit,
    Github,
}

/// Where a report goes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum To {
    File(PathBuf),
    StandardOutput,
}

impl Kind {
    /// The report as text.
    pub(crate) fn text(self, account: &Account) -> Result<String, Refusal> {
        match self {
            Self::Json => Ok(format!("{:#}\n", json_report(account))),
            Self::Junit => junit_report(account).map_err(Refusal::broken),
            Self::Github => Ok(github_report(account)),
        }
    }
}

impl Report {
    /// The file that it writes, if it does.
    pub(crate) fn file(&self) -> Option<&PathBuf> {
        match &self.to {
            To::File(file) => Some(file),
            To::StandardOutput => None,
        }
    }
}

/// Reads what stands behind `--report`.
pub(crate) fn read(stated: &[String]) -> Result<Vec<Report>, Refusal> {
    stated.iter().map(|report| one(report)).collect()
}

fn one(stated: &str) -> Result<Report, Refusal> {
    let (kind, file) = match stated.split_once('=') {
        Some((kind, file)) => (kind, Some(file)),
        None => (stated, None),
    };
    let (kind, to) = match (kind, file) {
        ("json", Some(file)) if !file.is_empty() => (Kind::Json, To::File(file.into())),
        ("junit", Some(file)) if !file.is_empty() => (Kind::Junit, To::File(file.into())),
        ("github", Some(file)) if !file.is_empty() => (Kind::Github, To::File(file.into())),
        ("github", None) => (Kind::Github, To::StandardOutput),
        _ => {
            return Err(Refusal::new(
                format!("--report {stated}: no such report"),
                "write `--report json=FILE`, `junit=FILE`, `github=FILE` or `github`",
            ));
        }
    };
    Ok(Report { kind, to })
}

/// Writes every report.
pub(crate) fn write(reports: &[Report], account: &Account) -> Result<(), Refusal> {
    for report in reports {
        let text = report.kind.text(account)?;
        match &report.to {
            To::File(file) => std::fs::write(file, text)
                .map_err(|error| Refusal::broken(format!("{}: {error}", file.display())))?,
            To::StandardOutput => std::io::stdout()
                .write_all(text.as_bytes())
                .map_err(Refusal::broken)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn only_annotations_can_do_without_a_file() {
        let is_read = |stated: &str| read(&[stated.to_owned()]).is_ok();
        assert!(["json=a", "junit=a=b", "github=a", "github"].map(is_read) == [true; 4]);
        assert!(["json", "junit", "junit=", "html=a", ""].map(is_read) == [false; 5]);
    }
}
