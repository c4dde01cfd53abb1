//! Delegation: a subagent, a subagent that knows this conversation, and a message to one.
//!
//! Called by the turn. A child is a session of its own from its first moment on, with its own id and log; a child
//! delegates no further.

use std::rc::Rc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Outcome, Request};
use crate::agent::Agent;
use crate::conversation::{self, Branch, BranchKind};
use crate::hook::{self, HookEvent};
use crate::host::{Host, HostError};
use crate::session::event::{TurnReason, Writer};
use crate::session::id::SessionId;

/// The name of the tool that delegates.
pub const SPAWN: &str = "subagent";
/// The name of the tool that delegates with this conversation's completed turns.
pub const FORK: &str = "subagent_fork";
/// The name of the tool that speaks to an agent.
pub const MESSAGE: &str = "send_message";

/// How many delegations may lie above a session (dsh 0.2.1 allows one, too).
const DEEPEST: u32 = 1;

/// The tools.
pub fn definitions() -> [Value; 3] {
    let properties = json!({
        "prompt": {"type": "string", "description": "The whole task."},
        "description": {"type": "string", "description": "What it is, in a few words."},
        "cwd": {"type": "string", "description": "Where it works; here when left out."},
        "run_in_background": {
            "type": "boolean",
            "description": "Return the id of the subagent at once; a message tells when it has finished."
        },
    });
    let spawn =
        "Delegate a task to a subagent, which knows nothing but its prompt, and return its answer.";
    let fork =
        "Delegate a task to a subagent that knows every completed turn of this conversation.";
    let message = "Send a message to a subagent of yours, or to the agent that delegated to you.";
    let addressed = json!({
        "agent_id": {"type": "string", "description": "The id of the agent."},
        "message": {"type": "string", "description": "The message."},
    });
    [
        super::definition(SPAWN, spawn, &properties, &["prompt"]),
        super::definition(FORK, fork, &properties, &["prompt"]),
        super::definition(MESSAGE, message, &addressed, &["agent_id", "message"]),
    ]
}

#[derive(Debug, Deserialize)]
struct Task {
    prompt: String,
    cwd: Option<String>,
    #[serde(default)]
    run_in_background: bool,
}

#[derive(Debug, Deserialize)]
struct Addressed {
    agent_id: SessionId,
    message: String,
}

/// Carries out a call of one of them.
pub async fn call(host: &Rc<Host>, agent: &Rc<Agent>, request: &Request<'_>) -> Outcome {
    let done = if request.name == MESSAGE {
        message(host, agent, request)
    } else {
        delegate(host, agent, request).await
    };
    done.unwrap_or_else(|refused| refused)
}

async fn delegate(
    host: &Rc<Host>,
    parent: &Rc<Agent>,
    request: &Request<'_>,
) -> Result<Outcome, Outcome> {
    let task: Task = super::arguments(request.arguments)?;
    let depth = parent.header().delegation_depth;
    if depth >= DEEPEST {
        return Err(Outcome::error(format!(
            "a subagent at depth {depth} does not delegate further"
        )));
    }
    let cwd = task
        .cwd
        .as_deref()
        .map(|cwd| host.place(parent.header(), Some(cwd)).display().to_string());
    let child = if request.name == FORK {
        let source = parent.session().clone();
        conversation::fork(
            host,
            &source,
            Branch {
                kind: BranchKind::Delegated,
                id: None,
                cwd,
            },
        )
        .await
    } else {
        conversation::spawn(host, parent.header(), None, cwd).await
    };
    let child = child.map_err(|error: HostError| Outcome::error(error))?;
    hook::fire(host, &child, &HookEvent::SubagentStart).await;
    child.say(Writer::User, &task.prompt);
    if task.run_in_background {
        tell_when_finished(host, parent, &child);
        return Ok(Outcome::ok(format!(
            "started subagent {}",
            child.header().id
        )));
    }
    child.idle(host).await;
    hook::fire(host, &child, &HookEvent::SubagentStop).await;
    match child.last_end() {
        Some(TurnReason::Failed { code, message }) => Err(Outcome::error(format!(
            "the subagent failed: {code}: {message}"
        ))),
        _ => Ok(Outcome::ok(child.last_text())),
    }
}

/// A message goes one step up or down the lineage and nowhere else. A child that is no longer live is resumed by others.
fn message(host: &Rc<Host>, agent: &Rc<Agent>, request: &Request<'_>) -> Result<Outcome, Outcome> {
    let addressed: Addressed = super::arguments(request.arguments)?;
    let id = &addressed.agent_id;
    let is_child =
        |other: &Agent| other.header().parent_session.as_ref() == Some(&agent.header().id);
    let is_parent =
        |other: &Agent| agent.header().parent_session.as_ref() == Some(&other.header().id);
    let other = host
        .agent(id)
        .filter(|other| is_child(other) || is_parent(other));
    let other = other.ok_or_else(|| Outcome::error(format!("agent \"{id}\" is unavailable")))?;
    let waits = !is_child(&other) || !other.is_idle();
    other.say(Writer::Agent, &addressed.message);
    if !waits {
        tell_when_finished(host, agent, &other);
    }
    Ok(Outcome::ok(format!("message delivered to agent {id}")))
}

/// Tells a parent when its child has nothing more to do.
fn tell_when_finished(host: &Rc<Host>, parent: &Rc<Agent>, child: &Rc<Agent>) {
    let (parent, child, with) = (Rc::clone(parent), Rc::clone(child), Rc::clone(host));
    host.beside(async move {
        child.idle(&with).await;
        hook::fire(&with, &child, &HookEvent::SubagentStop).await;
        let closing = child.last_text();
        let id = &child.header().id;
        parent.say(
            Writer::Notice,
            &format!("Background subagent {id} finished. Its closing message:\n{closing}"),
        );
    });
}
