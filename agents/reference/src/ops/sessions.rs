//! Operations on sessions: create, spawn, fork, resume, prompt, wait, idle, dispose.
//!
//! What is in the header is what is reported; no lineage is made up here.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::room::{Room, Within};
use super::{Came, OpError};
use crate::agent::Agent;
use crate::conversation::{self, Branch, BranchKind};
use crate::model::request;
use crate::session::event::{Event, TOOL_RESULT, TURN_END, Writer};
use crate::session::id::SessionId;
use crate::turn;

#[derive(Debug, Deserialize)]
pub(super) struct Create {
    session: String,
    id: Option<SessionId>,
    cwd: Option<String>,
    #[serde(default)]
    no_cwd: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct OfParent {
    session: String,
    from: String,
    id: Option<SessionId>,
    cwd: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Resume {
    session: String,
    from: Option<String>,
    id: Option<SessionId>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Prompt {
    session: String,
    text: String,
    #[serde(default)]
    within_ms: Within,
}

#[derive(Debug, Deserialize)]
pub(super) struct Named {
    session: String,
    #[serde(default)]
    within_ms: Within,
}

/// `create {session, id?, cwd? | no_cwd}`.
pub(super) async fn create(room: &mut Room, op: Create) -> Came {
    free(room, &op.session)?;
    let cwd = op
        .cwd
        .or_else(|| (!op.no_cwd).then(|| room.host.cwd.display().to_string()));
    let agent = conversation::create(&room.host, op.id, cwd).await?;
    Ok(admit(room, op.session, agent))
}

/// `spawn {session, from, id?, cwd?}`: a child, without its parent's turns.
pub(super) async fn spawn(room: &mut Room, op: OfParent) -> Came {
    free(room, &op.session)?;
    let parent = room.agent(&op.from)?;
    let agent = conversation::spawn(&room.host, parent.header(), op.id, op.cwd).await?;
    Ok(admit(room, op.session, agent))
}

/// `fork {session, from, id?, cwd?}`: a branch with every completed turn.
pub(super) async fn fork(room: &mut Room, op: OfParent) -> Came {
    free(room, &op.session)?;
    let source = room.agent(&op.from)?.session().clone();
    let branch = Branch {
        kind: BranchKind::Plain,
        id: op.id,
        cwd: op.cwd,
    };
    let agent = conversation::fork(&room.host, &source, branch).await?;
    Ok(admit(room, op.session, agent))
}

/// `resume {session, from | id}`: by a name used before, or by an id. The name may be taken over.
pub(super) async fn resume(room: &mut Room, op: Resume) -> Came {
    let id = match (op.id, op.from) {
        (Some(id), _) => id,
        (None, Some(from)) => room.agent(&from)?.header().id.clone(),
        (None, None) => return Err("resume needs \"from\" or \"id\"".into()),
    };
    let agent = conversation::resume(&room.host, &id).await?;
    Ok(admit(room, op.session, agent))
}

/// `prompt {session, text}`: until the agent is idle.
pub(super) async fn prompt(room: &mut Room, op: Prompt) -> Came {
    let agent = live(room, &op.session)?;
    let before = agent.session().events().len();
    agent.say(Writer::User, &op.text);
    op.within_ms
        .wait(agent.idle(&room.host), || last(&agent))
        .await?;
    Ok(summary(&agent, before))
}

/// `prompt_start {session, text}`: the same, not waited for.
pub(super) fn prompt_start(room: &mut Room, op: &Prompt) -> Came {
    let agent = live(room, &op.session)?;
    if room.prompts.contains_key(&op.session) {
        return Err(format!(
            "session \"{}\" already has a prompt under way: wait for it first",
            op.session
        )
        .into());
    }
    room.prompts
        .insert(op.session.clone(), agent.session().events().len());
    agent.say(Writer::User, &op.text);
    Ok(json!({"id": agent.header().id}))
}

/// `wait {session}`: the outcome of the prompt started there.
pub(super) async fn wait(room: &mut Room, op: Named) -> Came {
    let agent = room.agent(&op.session)?;
    let before = *room
        .prompts
        .get(&op.session)
        .ok_or_else(|| format!("no started prompt in \"{}\"", op.session))?;
    op.within_ms
        .wait(agent.idle(&room.host), || last(&agent))
        .await?;
    room.prompts.remove(&op.session);
    Ok(summary(&agent, before))
}

/// `idle {session}`: until a turn that nobody prompted is over.
pub(super) async fn idle(room: &mut Room, op: Named) -> Came {
    let agent = room.agent(&op.session)?;
    op.within_ms
        .wait(agent.idle(&room.host), || last(&agent))
        .await?;
    Ok(json!({"events": agent.session().events().len()}))
}

/// `dispose {session}`: the name stays usable for `resume`.
pub(super) fn dispose(room: &mut Room, op: &Named) -> Came {
    let agent = live(room, &op.session)?;
    conversation::dispose(&room.host, &agent)?;
    Ok(json!({"id": agent.header().id}))
}

fn free(room: &Room, name: &str) -> Result<(), OpError> {
    if name.is_empty() || room.sessions.contains_key(name) {
        return Err(format!("the session name \"{name}\" is taken, or empty").into());
    }
    Ok(())
}

/// The agent of a name, refused once it was disposed of.
pub(super) fn live(room: &Room, name: &str) -> Result<Rc<Agent>, OpError> {
    let agent = room.agent(name)?;
    let current = room.host.agent(&agent.header().id);
    current
        .filter(|current| Rc::ptr_eq(current, &agent))
        .ok_or_else(|| format!("session \"{name}\" was disposed of").into())
}

fn admit(room: &mut Room, name: String, agent: Rc<Agent>) -> Value {
    let value = json!({
        "id": agent.header().id, "header": agent.header(), "events": agent.session().events().len(),
    });
    room.sessions.insert(name, agent);
    value
}

fn last(agent: &Agent) -> String {
    agent
        .session()
        .events()
        .last()
        .map_or_else(|| "no event".to_owned(), |event| event.kind.clone())
}

/// What a prompt came to: how the turn ended, the last text, every tool result in order, the types of events.
fn summary(agent: &Agent, before: usize) -> Value {
    let session = agent.session();
    let events = session.events().get(before..).unwrap_or_default();
    let types: BTreeSet<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    let end = events
        .iter()
        .rfind(|event| event.kind == TURN_END)
        .map(|event| event.data["reason"].clone());
    let results: Vec<Value> = events
        .iter()
        .filter(|event| event.kind == TOOL_RESULT)
        .map(result)
        .collect();
    json!({"end": end, "text": turn::last_text(events), "results": results, "types": types})
}

fn result(event: &Event) -> Value {
    let message = &event.data["message"];
    json!({
        "callId": message["toolCallId"], "text": request::text(&message["content"]), "isError": message["isError"],
    })
}
