//! One turn: the model is asked, what it calls is called, until it calls nothing more.
//!
//! Run by an agent's own task. A turn always ends: completed, or failed with the reason in the log. What it recorded is
//! made durable when it is over, not before.

use std::rc::Rc;

use futures::future::join_all;
use serde_json::Value;

use crate::agent::Agent;
use crate::fault;
use crate::hook::{self, HookEvent};
use crate::host::Host;
use crate::model::client::ModelError;
use crate::model::reply::Call;
use crate::model::request;
use crate::session::event::{self, At, Event, REQUEST_HEADER, TurnReason, Writer};
use crate::tool::{self, Outcome};

/// What every agent is told first. It names no variable: the tool that provides them does.
const SYSTEM_PROMPT: &str =
    "You are an agent of the reference harness. Use the tools you are given, then answer.";

/// Runs a turn over everything in the inbox.
pub async fn run(host: &Rc<Host>, agent: &Rc<Agent>) -> TurnReason {
    let turn = agent.session().turns() + 1;
    host.notes().turn(&agent.header().id);
    agent.record(event::turn_start(turn));
    let mut reason = match steps(host, agent, turn).await {
        Ok(()) => TurnReason::Completed,
        Err(error) => TurnReason::Failed {
            code: error.code(),
            message: error.to_string(),
        },
    };
    hook::fire(host, agent, &HookEvent::Stop).await;
    agent.record(event::turn_end(turn, &reason));
    if let Err(error) = host.store.borrow_mut().flush(&agent.session()) {
        reason = TurnReason::Failed {
            code: "STORE",
            message: error.to_string(),
        };
    }
    reason
}

/// The last text that the model said.
pub fn last_text(events: &[Event]) -> String {
    let said = events
        .iter()
        .rev()
        .filter(|event| event.kind == "assistant/message");
    said.filter_map(|event| event.data.pointer("/message/content"))
        .map(only_text)
        .next()
        .unwrap_or_default()
}

/// The text parts of a message, without its reasoning.
pub fn only_text(content: &Value) -> String {
    let parts = content.as_array().into_iter().flatten();
    parts
        .filter(|part| part["type"] == "text")
        .filter_map(|part| part["text"].as_str())
        .collect()
}

async fn steps(host: &Rc<Host>, agent: &Rc<Agent>, turn: u64) -> Result<(), ModelError> {
    for step in 1.. {
        let at = At { turn, step };
        agent.record(event::step_start(at));
        listen(host, agent, at).await;
        let tools = offer(host, agent);
        if step == 1 && fault::wire::invents_call(&host.faults) {
            tool::call_unasked(host).await;
        }
        let messages = request::messages(agent.session().events());
        let reply = host.model.complete(&messages, &tools).await?;
        agent.record(event::assistant_message(at, host.model.model(), &reply));
        call_all(host, agent, at, &reply.calls).await;
        agent.record(event::step_end(at));
        if fault::log::flushes_early(&host.faults) {
            host.store.borrow_mut().flush(&agent.session()).ok();
        }
        if reply.calls.is_empty() {
            break;
        }
    }
    Ok(())
}

/// Takes what was said into the conversation.
async fn listen(host: &Rc<Host>, agent: &Rc<Agent>, at: At) {
    let is_new = !agent
        .session()
        .events()
        .iter()
        .any(|event| event.kind == "system/message");
    if is_new {
        let prompt = fault::wire::system(&host.faults, SYSTEM_PROMPT);
        agent.record(event::system_message(at, &prompt));
    }
    for message in agent.heard() {
        if message.writer == Writer::User {
            hook::fire(host, agent, &HookEvent::UserPromptSubmit(&message.text)).await;
        }
        agent.record(event::user_message(message.writer, &message.text));
    }
}

/// The tools of the next request; recorded when they are not the recorded ones.
fn offer(host: &Host, agent: &Agent) -> Vec<Value> {
    let tools = host.tools(agent.header());
    let header = event::request_header(host.model.model(), &tools, "changed");
    let known = {
        let session = agent.session();
        let last = session
            .events()
            .iter()
            .rfind(|event| event.kind == REQUEST_HEADER);
        last.is_some_and(|last| last.data["header"] == header.data["header"])
    };
    if !known {
        agent.record(header);
    }
    tools
}

/// Calls everything that a reply calls. A command has the workspace to itself; what stands beside each other and is no
/// command runs side by side. Results are recorded in the order of the calls.
async fn call_all(host: &Rc<Host>, agent: &Rc<Agent>, at: At, calls: &[Call]) {
    for group in calls
        .chunk_by(|one, next| !tool::is_exclusive(&one.name) && !tool::is_exclusive(&next.name))
    {
        let asked: Vec<u64> = group
            .iter()
            .map(|call| agent.record(event::tool_call(at, call)))
            .collect();
        let outcomes = join_all(group.iter().map(|call| one_call(host, agent, call))).await;
        for ((call, asked), outcome) in group.iter().zip(asked).zip(outcomes) {
            agent.record(event::tool_result(
                at,
                asked,
                &call.id,
                &outcome.text,
                outcome.is_error,
            ));
            if let Some(extra) = fault::log::extra_event(&host.faults) {
                agent.record(extra);
            }
        }
    }
}

async fn one_call(host: &Rc<Host>, agent: &Rc<Agent>, call: &Call) -> Outcome {
    let written = if call.arguments.trim().is_empty() {
        "{}"
    } else {
        &call.arguments
    };
    let arguments: Value = match serde_json::from_str(written) {
        Ok(arguments) => arguments,
        Err(error) => return Outcome::error(format!("invalid arguments: {error}")),
    };
    let before = HookEvent::PreToolUse {
        name: &call.name,
        arguments: &arguments,
        call: &call.id,
    };
    hook::fire(host, agent, &before).await;
    let request = tool::Request {
        name: &call.name,
        arguments: &arguments,
        call: &call.id,
    };
    let outcome = tool::dispatch(host, Some(agent), &request).await;
    let after = HookEvent::PostToolUse {
        name: &call.name,
        arguments: &arguments,
        call: &call.id,
        output: &outcome.text,
    };
    hook::fire(host, agent, &after).await;
    outcome
}
