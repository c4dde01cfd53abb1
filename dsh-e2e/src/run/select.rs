//! What a run is about: scenarios by pattern, folders for results and for the scenarios.

use std::path::{Path, PathBuf};

use globset::{Glob, GlobSet, GlobSetBuilder};
use harness::library::Entry;
use harness::verdict::{Standing, Verdict};

use crate::cli::{Keep, RunOptions};
use crate::refusal::Refusal;

/// How long the root's path may be: plumb's sockets allow 103 bytes, and a fake's own folders take up to 40 of them.
const ROOT_LIMIT: usize = 60;

/// The scenarios that the options name; all when they name none.
pub(crate) fn select(entries: Vec<Entry>, options: &RunOptions) -> Result<Vec<Entry>, Refusal> {
    let patterns: Vec<&String> = options.only.iter().chain(&options.mode).collect();
    if patterns.is_empty() {
        return Ok(entries);
    }
    let stem = |id: &str| id.rsplit('/').next().unwrap_or(id).to_owned();
    for pattern in &patterns {
        let one = set(&[pattern])?;
        if !entries
            .iter()
            .any(|entry| one.is_match(&entry.scenario.id) || one.is_match(stem(&entry.scenario.id)))
        {
            return Err(Refusal::new(
                format!("no scenario matches `{pattern}`"),
                "`dsh-e2e list` shows them; a pattern matches the whole id or its last part",
            ));
        }
    }
    let set = set(&patterns)?;
    Ok(entries
        .into_iter()
        .filter(|entry| set.is_match(&entry.scenario.id) || set.is_match(stem(&entry.scenario.id)))
        .collect())
}

fn set(patterns: &[&String]) -> Result<GlobSet, Refusal> {
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = Glob::new(pattern).map_err(|error| {
            Refusal::new(
                format!("`{pattern}` is no pattern: {error}"),
                "write `plumb/*`",
            )
        })?;
        builder.add(glob);
    }
    builder.build().map_err(Refusal::broken)
}

/// Names the folder for this run's evidence and points `latest` at it. It is made with its first file.
pub(crate) fn results(out: &Path) -> Result<PathBuf, Refusal> {
    let out = std::path::absolute(out).map_err(Refusal::broken)?;
    let failed = |error: std::io::Error| {
        Refusal::new(
            format!("{}: {error}", out.display()),
            "name a folder that can be written with `--out DIR`",
        )
    };
    std::fs::create_dir_all(&out).map_err(failed)?;
    let now = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    let name = format!("{now}-{}", std::process::id());
    let results = out.join(&name);
    std::fs::create_dir(&results).map_err(failed)?;
    let aside = out.join(format!(".latest-{}", std::process::id()));
    std::os::unix::fs::symlink(&name, &aside).map_err(failed)?;
    std::fs::rename(&aside, out.join("latest")).map_err(failed)?;
    Ok(results)
}

/// The run's own root, removed at its end.
pub(crate) struct Root {
    folder: tempfile::TempDir,
}

impl Root {
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Keeps the whole root: something may still use it.
    pub(crate) fn keep(self) {
        let _kept = self.folder.keep();
    }

    /// Removes the root, or what of it is not to be kept.
    pub(crate) fn finish(self, keep: Keep, verdicts: &[Verdict]) {
        let unexpected = verdicts
            .iter()
            .any(|verdict| verdict.standing == Standing::Unexpected);
        if keep == Keep::Always || (keep == Keep::OnFailure && unexpected) {
            let _kept = self.folder.keep();
        }
    }
}

/// Makes the run's root: private, short, with nothing above it that would capture a workspace.
pub(crate) fn root(stated: Option<&Path>) -> Result<Root, Refusal> {
    let parent = match stated {
        Some(folder) => std::path::absolute(folder).map_err(Refusal::broken)?,
        None => std::env::temp_dir(),
    };
    let failed = |what: String| {
        Refusal::new(
            what,
            "name a short folder that can be written with `--root DIR`, such as /var/tmp",
        )
    };
    let folder = tempfile::Builder::new()
        .prefix("dse-")
        .rand_bytes(6)
        .tempdir_in(&parent)
        .map_err(|error| failed(format!("{}: {error}", parent.display())))?;
    let length = folder.path().as_os_str().len();
    if length > ROOT_LIMIT {
        return Err(failed(format!(
            "{}: {length} bytes are too long for a root, {ROOT_LIMIT} are allowed: plumb's sockets have to fit below it",
            folder.path().display()
        )));
    }
    for above in folder.path().ancestors().skip(1) {
        for marker in [".plumb", ".git", "AGENTS.md"] {
            if above.join(marker).exists() {
                return Err(failed(format!(
                    "{} lies above the root: it would capture the scenarios' workspaces",
                    above.join(marker).display()
                )));
            }
        }
    }
    Ok(Root { folder })
}
