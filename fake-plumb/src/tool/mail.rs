//! `leave_note`, `check_messages`, and the block of messages that any answer may carry.
//!
//! The texts are plumb's (facts, section 5). Who may claim what is decided in [`crate::mail`].

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, timeout_at};

use super::{Call, DETACHED, MailBlock, Success};
use crate::assumed;
use crate::fault::Fault;
use crate::log::{Level, go_quote};
use crate::mail::{BODY_LIMIT, Draft, MailError, NEXT, Note, Reader};
use crate::mcp::failure::Failure;
use crate::record::Record;
use crate::resume::random;
use crate::time::{age, nanos};

/// The longest wait of `check_messages`, in seconds (facts, section 5).
const LONGEST_WAIT: u64 = 55;

pub(super) fn leave_note(call: &Call<'_>) -> Result<Success, Failure> {
    let Some(root) = call.root() else {
        return Ok(Success::text(DETACHED));
    };
    let body = call.str("body").unwrap_or_default();
    if body.is_empty() {
        return Err(call.invalid("leave_note: body is empty".to_owned()));
    }
    if body.len() > BODY_LIMIT {
        return Err(call.invalid(format!(
            "leave_note: body has {} bytes, at most {BODY_LIMIT}",
            body.len()
        )));
    }
    let author = reader(call);
    let addressee = call.str("to").unwrap_or(NEXT);
    let target = find_live(call, addressee);
    if let Some(far) = target
        .as_ref()
        .filter(|record| Path::new(&record.folder) != root)
    {
        return Ok(Success::text(format!(
            "Not sent: session {} works in {}, and that project does not take notes from others ([collab] cross_project is off).\n",
            far.name, far.folder
        )));
    }
    let conversation = call.str("conversation_id").map_or_else(
        || format!("c{:016x}", u64::from_be_bytes(random())),
        str::to_owned,
    );
    let bound = target.as_ref().map(|record| &record.id);
    let draft = Draft {
        author: &author,
        body,
        addressee,
        bound,
        conversation: &conversation,
    };
    call.daemon
        .mail
        .send(&root, &draft)
        .map_err(|error| match error {
            MailError::ConversationFull { .. } => call.invalid(format!("leave_note: {error}")),
            error => Failure::plain(format!("leave_note: {}", with_source(&error))),
        })?;
    Ok(Success::text(receipt(&draft)))
}

fn receipt(draft: &Draft<'_>) -> String {
    let is_next = draft.addressee == NEXT;
    let to = if is_next {
        "the next session to attach (delivered once)".to_owned()
    } else {
        format!("session {}", draft.addressee)
    };
    let mut text = format!(
        "Message sent to {to} (advisory; delivered by polling only).\n  message:      {}\n  bytes:        {} of {BODY_LIMIT}\n  conversation: {}  — quote this as conversation_id to stay in the thread\n  expires:      in 2 h\n",
        draft.body,
        draft.body.len(),
        draft.conversation
    );
    match draft.bound {
        Some(id) => text.extend(["  bound to:     ", id.as_str(), "\n"]),
        None if !is_next => text.push_str(
            "  unplaced:     no live session has this name; whoever has it later can read it\n",
        ),
        None => {}
    }
    text.push_str("  To wait for a reply, call check_messages with a wait_seconds value; otherwise it is appended to the result of your next tool call.\n");
    text
}

pub(super) async fn check_messages(call: &Call<'_>) -> Result<Success, Failure> {
    let settled = |text: String| Success {
        mail: MailBlock::Settled,
        ..Success::text(text)
    };
    let Some(root) = call.root() else {
        return Ok(settled(DETACHED.to_owned()));
    };
    let wait = call.number("wait_seconds").unwrap_or(0).min(LONGEST_WAIT);
    let deadline = Instant::now() + Duration::from_secs(wait);
    loop {
        // Armed before the look, so that a note sent between the look and the wait still wakes.
        let news = call.daemon.mail.news.notified();
        let block = claimed_block(call);
        if !block.is_empty() {
            return Ok(settled(block));
        }
        if wait == 0 || timeout_at(deadline, news).await.is_err() {
            break;
        }
    }
    let waited = if wait == 0 {
        String::new()
    } else {
        format!(" (waited {wait}s)")
    };
    let mut text = format!(
        "No messages{waited}.\n  (Only this workspace's sessions can reach you — [collab] cross_project is off.)\n  A peer that is idle waiting on its human makes no tool calls, so it may not have read yours yet. Silence is not a refusal.\n"
    );
    text.push_str(&own_unread(call, &root));
    Ok(settled(text))
}

fn own_unread(call: &Call<'_>, root: &Path) -> String {
    let unread = call
        .daemon
        .mail
        .unread_of(root, &reader(call))
        .unwrap_or_default();
    if unread.is_empty() {
        return String::new();
    }
    let mut text = "\nYour own messages that NOBODY has read yet:\n".to_owned();
    for note in unread {
        let next = if note.addressee == NEXT {
            " (nobody has attached since)"
        } else {
            ""
        };
        let line = format!(
            "  to {}{next} — sent {} ago, still unread\n",
            go_quote(&note.addressee),
            ago(note.created_at)
        );
        text.push_str(&line);
    }
    text + "  Unread means the peer has made no tool call since — it is idle, not refusing. Tell your human rather than waiting indefinitely.\n"
}

/// Claims what waits for the caller, as the block that an answer carries.
pub(super) fn claimed_block(call: &Call<'_>) -> String {
    let Some(root) = call.root().filter(|_| !call.conn.is_closed()) else {
        return String::new();
    };
    match call.daemon.mail.claim(&root, &reader(call)) {
        Ok(notes) => block(&notes),
        Err(error) => {
            call.daemon.log.line(
                Level::Error,
                "mcp: mail not read",
                &[("err", &with_source(&error))],
            );
            String::new()
        }
    }
}

/// Says how much waits, and leaves it waiting.
pub(super) fn preview_block(call: &Call<'_>) -> String {
    if call.daemon.has_fault(Fault::MailClaimedByPreview) {
        drop(claimed_block(call));
    }
    let Some(root) = call.root() else {
        return String::new();
    };
    match call
        .daemon
        .mail
        .waiting(&root, &reader(call))
        .map(|ages| ages.len())
    {
        Ok(count @ 1..) => {
            format!(
                "[{}: {count} — call check_messages to read them.]\n",
                assumed::PREVIEW_HEADING
            )
        }
        Ok(0) | Err(_) => String::new(),
    }
}

fn block(notes: &[Note]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "[Messages — {} new, addressed to you by another agent. Advisory: they are agent-authored claims.]\n",
        notes.len()
    );
    for Note {
        from,
        body,
        conversation,
        is_for_next,
        created_at,
    } in notes
    {
        let next = if *is_for_next {
            " (to next arrival)"
        } else {
            ""
        };
        let (ago, body) = (ago(*created_at), go_quote(body));
        writeln!(text, "  from {from}{next}, {ago} ago: {body}")
            .expect("writing to a string cannot fail");
        let reply = format!(
            "  reply: leave_note({{to: \"{from}\", conversation_id: \"{conversation}\", body: \"…\"}})\n"
        );
        text.push_str(&reply);
    }
    text
}

/// The session in whose name the call reads and writes: an agent's own row, or the connection.
fn reader(call: &Call<'_>) -> Reader {
    let id = call.conn.session_of(call.agent.as_ref());
    let name = call
        .daemon
        .records
        .get(&id)
        .map(|record| record.name)
        .unwrap_or_default();
    Reader {
        id,
        name,
        namespace: call.conn.state().namespace.clone(),
    }
}

fn find_live(call: &Call<'_>, name: &str) -> Option<Record> {
    if name == NEXT {
        return None;
    }
    let namespace = call.conn.state().namespace.clone();
    let is_meant = |record: &Record| record.is_live() && record.name.eq_ignore_ascii_case(name);
    call.daemon
        .records
        .select(namespace.as_ref(), is_meant)
        .pop()
}

fn ago(created_at: i64) -> String {
    let passed = nanos(Timestamp::now()).saturating_sub(created_at);
    age(Duration::from_nanos(u64::try_from(passed).unwrap_or(0)))
}

fn with_source(error: &MailError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
