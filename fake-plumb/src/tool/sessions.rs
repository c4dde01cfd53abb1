//! `rename_session`, `workspace_sessions` and `daemon_info`.
//!
//! Each sees the sessions of its caller's own namespace only.

use std::fmt::Write;

use super::{Call, Success};
use crate::daemon::session;
use crate::mcp::failure::Failure;
use crate::record::{Record, name};

/// How many ended sessions are listed unless told otherwise.
const RECENT: u64 = 5;

pub(super) fn rename(call: &Call<'_>) -> Result<Success, Failure> {
    let wanted = call.str("name").unwrap_or_default();
    if !name::is_valid(wanted) {
        return Err(call.invalid(format!(
            "rename_session: name must be 1 to {} letters, digits and single hyphens, got {}",
            name::LONGEST,
            crate::log::go_quote(wanted)
        )));
    }
    let id = call.conn.session_of(call.agent.as_ref());
    if call.daemon.records.is_name_taken(wanted, &id) {
        return Err(call.invalid(format!(
            "rename_session: a live session is named {wanted} already"
        )));
    }
    call.daemon
        .records
        .update(&id, |record| wanted.clone_into(&mut record.name));
    session::save_name(call.daemon, call.conn);
    Ok(Success::text(format!("Session renamed to {wanted}.\n")))
}

pub(super) fn list(call: &Call<'_>) -> Result<Success, Failure> {
    let root = call.attached_root()?;
    let root = root.to_string_lossy();
    let namespace = call.conn.state().namespace.clone();
    let here = call
        .daemon
        .records
        .select(namespace.as_ref(), |record| record.folder == root);
    let (live, ended): (Vec<_>, Vec<_>) = here.into_iter().partition(Record::is_live);
    let mut text = format!("Sessions in {root}: {} live\n", live.len());
    let own = call.conn.record();
    for record in &live {
        let you = if record.id == own { " (you)" } else { "" };
        let purpose = record.purpose.as_deref().unwrap_or("-");
        writeln!(text, "  {}  {}  {purpose}{you}", record.name, record.id)
            .expect("writing to a string cannot fail");
    }
    let limit =
        usize::try_from(call.number("recent_limit").unwrap_or(RECENT)).unwrap_or(usize::MAX);
    for record in ended.iter().rev().take(limit) {
        writeln!(text, "  {}  {}  ended", record.name, record.id)
            .expect("writing to a string cannot fail");
    }
    Ok(Success::text(text))
}

pub(super) fn daemon_info(call: &Call<'_>) -> Success {
    Success::text(format!(
        "plumb {}\npid: {}\nlive sessions: {}\n",
        call.daemon.generation().version(),
        std::process::id(),
        call.daemon.records.live_count()
    ))
}
