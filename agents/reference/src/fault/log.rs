//! Faults of what is recorded: the session as it is written, when it is written, and what a question creates.
//!
//! Asked by the store and by the turn.

use std::borrow::Cow;
use std::path::Path;

use serde_json::json;

use super::{Fault, Faults};
use crate::session::Session;
use crate::session::event::{self, REQUEST_HEADER, TOOL_RESULT};
use crate::store::Location;

/// The session that is written in place of the right one; as many events as it has.
pub fn written<'a>(faults: &Faults, session: &'a Session) -> Cow<'a, Session> {
    let changes = [
        Fault::HeaderOtherId,
        Fault::HeaderNoParent,
        Fault::LogSchemaDiffers,
        Fault::ResultNotLogged,
    ];
    if !changes.iter().any(|fault| faults.has(*fault)) {
        return Cow::Borrowed(session);
    }
    let mut header = session.header().clone();
    if faults.has(Fault::HeaderOtherId) {
        header.id = format!("{}-written", header.id).into();
    }
    if faults.has(Fault::HeaderNoParent) {
        header.parent_session = None;
    }
    let mut events = session.events().to_vec();
    for event in &mut events {
        if faults.has(Fault::LogSchemaDiffers)
            && event.kind == REQUEST_HEADER
            && let Some(description) = event.data.pointer_mut("/header/tools/0/description")
        {
            let text = description
                .as_str()
                .unwrap_or_default()
                .replacen("command", "program", 1);
            *description = json!(text);
        }
        if event.kind == TOOL_RESULT
            && faults.has(Fault::ResultNotLogged)
            && let Some(content) = event.data.pointer_mut("/message/content")
        {
            *content = json!([]);
        }
    }
    Cow::Owned(Session::stored(header, events))
}

/// Whether events are made durable before their turn is over.
pub fn flushes_early(faults: &Faults) -> bool {
    faults.has(Fault::FlushEarly)
}

/// An event of a type of its own, after a tool's result.
pub fn extra_event(faults: &Faults) -> Option<event::Event> {
    faults
        .has(Fault::ExtraEvent)
        .then(|| event::other("tool/audited", json!({})))
}

/// What a question about a location does besides answering it.
pub fn located(faults: &Faults, location: Option<&Location>) {
    if faults.has(Fault::LocateCreates)
        && let Some(location) = location
    {
        create(&location.path);
    }
}

/// What a hook does besides being told.
pub fn hooked(faults: &Faults, path: Option<&Path>) {
    if faults.has(Fault::HookCreates)
        && let Some(path) = path
    {
        create(path);
    }
}

fn create(path: &Path) {
    // A fault that cannot act shows as a control that stays green.
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).ok();
    }
    std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .ok();
}
