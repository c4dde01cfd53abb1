//! `read_file`, `write_file`, `file_status`, `find_files`: inside the workspace, never outside it.
//!
//! A path that leaves the root is a boundary violation, in plumb's words, and marks the connection as blocked.

use std::fmt::Write;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::{Call, Success};
use crate::daemon::session;
use crate::mcp::failure::{Failure, Remedy};

/// The most entries that `find_files` lists unless told otherwise.
const MOST_FOUND: u64 = 200;

pub(super) fn read(call: &Call<'_>) -> Result<Success, Failure> {
    if call.str("pattern").is_some() {
        return Err(Failure::plain("read_file: pattern is not in the fake"));
    }
    let path = inside(call, required(call, "file_path")?)?;
    let text = fs::read_to_string(&path).map_err(|error| failed(call, &path, &error))?;
    let first = call
        .number("start_line")
        .or(call.number("offset"))
        .unwrap_or(1);
    let count = match (call.number("end_line"), call.number("limit")) {
        (Some(end), _) => (end + 1).saturating_sub(first),
        (None, limit) => limit.unwrap_or(u64::MAX),
    };
    let skip = usize::try_from(first - 1).unwrap_or(usize::MAX);
    let take = usize::try_from(count).unwrap_or(usize::MAX);
    let lines = text.split_inclusive('\n').skip(skip).take(take);
    Ok(Success::text(format!(
        "{} ({} bytes)\n{}",
        path.display(),
        text.len(),
        lines.collect::<String>()
    )))
}

pub(super) fn write(call: &Call<'_>) -> Result<Success, Failure> {
    let path = inside(call, required(call, "file_path")?)?;
    let content = call.str("content").unwrap_or_default();
    if call.flag("create_dirs") {
        let folder = path.parent().unwrap_or(&path);
        fs::create_dir_all(folder).map_err(|error| failed(call, folder, &error))?;
    }
    fs::write(&path, content).map_err(|error| failed(call, &path, &error))?;
    Ok(Success::text(format!(
        "Wrote {} bytes to {}\n",
        content.len(),
        path.display()
    )))
}

pub(super) fn status(call: &Call<'_>) -> Result<Success, Failure> {
    let paths = call
        .arguments
        .get("paths")
        .and_then(serde_json::Value::as_array);
    let mut text = String::new();
    for path in paths
        .into_iter()
        .flatten()
        .filter_map(serde_json::Value::as_str)
    {
        let path = inside(call, path)?;
        let state = fs::metadata(&path)
            .map_or("missing".to_owned(), |meta| format!("{} bytes", meta.len()));
        writeln!(text, "{}: {state}", path.display()).expect("writing to a string cannot fail");
    }
    Ok(Success::text(text))
}

pub(super) fn find(call: &Call<'_>) -> Result<Success, Failure> {
    if call.flag("use_regex") {
        return Err(Failure::plain("find_files: use_regex is not in the fake"));
    }
    let start = match call.str("path") {
        Some(path) => inside(call, path)?,
        None => call.attached_root()?,
    };
    let most =
        usize::try_from(call.number("max_results").unwrap_or(MOST_FOUND)).unwrap_or(usize::MAX);
    let pattern = call.str("pattern").unwrap_or("*");
    let wants_hidden = call.flag("include_hidden");
    let mut found = Vec::new();
    let mut folders = vec![start.clone()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| failed(call, &folder, &error))?;
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') && !wants_hidden {
                continue;
            }
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if matches(pattern, &name) {
                found.push(
                    path.strip_prefix(&start)
                        .unwrap_or(&path)
                        .display()
                        .to_string(),
                );
            }
        }
    }
    found.sort();
    found.truncate(most);
    Ok(Success::text(
        found
            .into_iter()
            .map(|path| path + "\n")
            .collect::<String>(),
    ))
}

/// `*` stands for any run of characters; nothing else is special.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, rest)) => name.strip_prefix(head).is_some_and(|tail| {
            let ends = tail.char_indices().map(|(at, _)| at).chain([tail.len()]);
            ends.into_iter().any(|at| matches(rest, &tail[at..]))
        }),
    }
}

fn required<'a>(call: &'a Call<'_>, name: &str) -> Result<&'a str, Failure> {
    call.str(name).ok_or_else(|| {
        call.invalid(format!(
            "missing required parameter \"{name}\" (required: {name})"
        ))
    })
}

/// Makes a path absolute, or refuses it because it lies outside of the root.
fn inside(call: &Call<'_>, path: &str) -> Result<PathBuf, Failure> {
    let root = call.attached_root()?;
    let full = normal(&root.join(path));
    // A link inside the root may lead out of it, so the nearest existing folder is looked at as well.
    let real = full
        .ancestors()
        .find_map(|ancestor| fs::canonicalize(ancestor).ok());
    if full.starts_with(&root)
        && real.is_none_or(|real| real.starts_with(&root) || root.starts_with(&real))
    {
        return Ok(full);
    }
    session::block(
        call.daemon,
        call.conn,
        "a path outside of the workspace was refused",
    );
    let text = format!(
        "{}: workspace boundary violation: this connection is pinned to {}; {} is in a different project. To work there, call session_start with workspace set to that project's root — it will re-pin this connection (if the re-pin is refused because an explicit session_start pin already holds this connection, retry with force: true). Do not browse other projects on disk. Pin provenance: set 0s ago via session_start.",
        call.tool,
        root.display(),
        full.display()
    );
    Err(call.failed("workspace_boundary", Remedy::RepinWorkspace, text))
}

fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

fn failed(call: &Call<'_>, path: &Path, error: &std::io::Error) -> Failure {
    call.failed(
        "internal",
        Remedy::InspectOutput,
        format!("{}: {}: {error}", call.tool, path.display()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_run() {
        assert!(matches("*.go", "main.go") && matches("m*n.*", "main.go") && matches("*", ""));
        assert!(!matches("*.go", "main.rs") && !matches("main", "main.go"));
    }

    #[test]
    fn a_path_is_normal_without_dots() {
        assert_eq!(normal(Path::new("/a/./b/../c")), Path::new("/a/c"));
    }
}
