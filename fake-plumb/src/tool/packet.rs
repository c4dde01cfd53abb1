//! The orientation packet that `session_start` answers with, brief or full.
//!
//! Text only. Models read it, tests match a few lines of it: the heading, the session line, the messages.

use std::fmt::Write;

use super::session_start::Detail;
use super::{Call, Project};

/// Whether the session has been here before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Session {
    New,
    Resumed,
}

/// Renders the packet for the place in which the call works.
pub(super) fn render(call: &Call<'_>, detail: Detail, session: Session, messages: &str) -> String {
    let root = call.root();
    let project = root.as_deref().and_then(|root| Project::around(root).ok());
    let mut text = match &root {
        Some(root) => format!("# Workspace: {}\n\n", root.display()),
        None => "# Workspace: none attached\n\n".to_owned(),
    };
    let language = project
        .as_ref()
        .and_then(|project| project.language)
        .map_or("none", |(_, name)| name);
    line(&mut text, &format!("Language: {language}"));
    if let Some(branch) = project.as_ref().and_then(Project::branch) {
        line(&mut text, &format!("Branch:   {branch}"));
    }
    if session == Session::Resumed
        && let Some(record) = call.daemon.records.get(&call.conn.record())
    {
        line(&mut text, &format!("Session:  {} (resumed)", record.name));
    }
    match detail {
        Detail::Brief => {
            text.push_str("Git:      writes on, destructive off, push off\nDiagnostics: 0\nMemories: none\n");
        }
        Detail::Full => text.push_str(
            "\n## Git (via the `git` tool — live policy)\n\nCommits & staging ENABLED — commit through the `git` tool, not the shell.\n\
             Destructive (reset/checkout/rebase): off.\nPush/fetch/pull: off.\n\n\
             ## Memories\n\nNone yet. Use write_memory to save project notes.\n",
        ),
    }
    if !messages.is_empty() {
        write!(text, "\n\n## Messages\n\n\n{messages}").expect("writing to a string cannot fail");
    }
    text.push_str(match detail {
        Detail::Brief => {
            "\nbrief orientation — call session_start({detail:\"full\"}) for the complete packet\n"
        }
        Detail::Full => {
            "\n## Tool guidance\n\n- **read_file**, **find_files** — look before you write.\n"
        }
    });
    text
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}
