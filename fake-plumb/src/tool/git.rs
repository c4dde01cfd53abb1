//! `git`: the few subcommands that a session needs, run by the real git in the workspace.
//!
//! What plumb's policy turns off is refused in its words; what the fake does not know is "not in the fake".

use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;

use super::{Call, Success};
use crate::mcp::failure::{Failure, Remedy};

const ALLOWED: [&str; 6] = ["status", "log", "diff", "branch", "add", "commit"];
const OFF: [&str; 7] = [
    "push", "fetch", "pull", "reset", "checkout", "rebase", "clean",
];

pub(super) async fn run(call: &Call<'_>) -> Result<Success, Failure> {
    let root = call.attached_root()?;
    let subcommand = call.str("subcommand").unwrap_or("status");
    if OFF.contains(&subcommand) {
        let text = format!("git: {subcommand} is off in this project's policy");
        return Err(call.failed("git_policy", Remedy::EnablePolicy, text));
    }
    let texts = |name: &str| -> Vec<String> {
        let list = call.arguments.get(name).and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    let args = texts("args");
    // `--output` writes wherever it is told to, also outside of the workspace.
    let leaves = args.iter().any(|arg| arg.starts_with("--output"));
    if !ALLOWED.contains(&subcommand) || call.str("repo").is_some() || leaves {
        return Err(Failure::plain(format!(
            "git: {subcommand} with these arguments is not in the fake"
        )));
    }
    let mut git = Command::new("git");
    git.arg("-C").arg(&root).arg(subcommand).args(args);
    if let Some(message) = call.str("message") {
        git.arg("-m").arg(message);
    }
    git.arg("--")
        .args(texts("files"))
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let failed = |text: String| call.failed("git_command_failed", Remedy::InspectOutput, text);
    let output = git
        .output()
        .await
        .map_err(|error| failed(format!("git: {error}")))?;
    if output.status.success() {
        return Ok(Success::text(
            String::from_utf8_lossy(&output.stdout).into_owned(),
        ));
    }
    Err(failed(format!(
        "git: {}",
        String::from_utf8_lossy(&output.stderr).trim_end()
    )))
}
