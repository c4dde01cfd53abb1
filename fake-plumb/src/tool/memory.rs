//! `list_memories`, `read_memory`, `write_memory`: text files under the workspace's `.plumb/memories`.
//!
//! The cheapest tools there are; tests call them to make a call and nothing else.

use std::fs;
use std::path::PathBuf;

use super::{Call, Project, Success};
use crate::mcp::failure::{Failure, Remedy};

pub(super) fn list(call: &Call<'_>) -> Result<Success, Failure> {
    let folder = folder(call)?;
    let mut names: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            Some(
                entry
                    .ok()?
                    .file_name()
                    .to_str()?
                    .strip_suffix(".md")?
                    .to_owned(),
            )
        })
        .collect();
    names.sort();
    if names.is_empty() {
        return Ok(Success::text(
            "No memories yet. Use write_memory to save project notes.\n",
        ));
    }
    Ok(Success::text(format!("- {}\n", names.join("\n- "))))
}

pub(super) fn read(call: &Call<'_>) -> Result<Success, Failure> {
    let path = path(call)?;
    fs::read_to_string(&path)
        .map(Success::text)
        .map_err(|error| internal(call, &path, &error))
}

pub(super) fn write(call: &Call<'_>) -> Result<Success, Failure> {
    let path = path(call)?;
    let content = call.str("content").unwrap_or_default();
    let write =
        fs::create_dir_all(path.parent().unwrap_or(&path)).and_then(|()| fs::write(&path, content));
    write.map_err(|error| internal(call, &path, &error))?;
    Ok(Success::text(format!(
        "Memory saved: {} bytes.\n",
        content.len()
    )))
}

fn folder(call: &Call<'_>) -> Result<PathBuf, Failure> {
    let root = match call.str("workspace") {
        None => call.attached_root()?,
        Some(workspace) => {
            let project = Project::around(workspace.as_ref());
            project
                .map_err(|error| {
                    call.invalid(format!("{}: workspace {workspace}: {error}", call.tool))
                })?
                .root
        }
    };
    Ok(root.join(".plumb/memories"))
}

fn path(call: &Call<'_>) -> Result<PathBuf, Failure> {
    let name = call.str("name").unwrap_or_default();
    let is_plain = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if !is_plain {
        return Err(call.invalid(format!(
            "{}: name must be letters, digits, - and _",
            call.tool
        )));
    }
    Ok(folder(call)?.join(format!("{name}.md")))
}

fn internal(call: &Call<'_>, path: &std::path::Path, error: &std::io::Error) -> Failure {
    call.failed(
        "internal",
        Remedy::InspectOutput,
        format!("{}: {}: {error}", call.tool, path.display()),
    )
}
