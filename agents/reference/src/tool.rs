//! The tools: what the model is offered, and where a call goes.
//!
//! Called by the turn for every call of the model, and by operations for calls without one. An agent must never be added
//! to a call that has none.

pub mod bash;
pub mod delegate;
pub mod job;
pub mod mcp;
pub mod skill;

use std::rc::Rc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::fault::{self, wire::Times};
use crate::host::Host;
use crate::revision::Revision;

/// A call that is to be dispatched.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The name of the tool.
    pub name: &'a str,
    /// Its arguments.
    pub arguments: &'a Value,
    /// The id of the call.
    pub call: &'a str,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What the model is told.
    pub text: String,
    /// Whether it failed.
    pub is_error: bool,
    /// The same for a program.
    pub value: Value,
}

impl Outcome {
    /// A call that worked.
    pub fn ok(text: String) -> Self {
        Self {
            value: json!({"text": text}),
            text,
            is_error: false,
        }
    }

    /// A call that failed; the reason is told as one.
    pub fn error(what: impl std::fmt::Display) -> Self {
        Self {
            text: format!("Error: {what}"),
            is_error: true,
            value: Value::Null,
        }
    }
}

/// The tools that every session is offered, bash first.
pub fn own(revision: Revision) -> Vec<Value> {
    let mut tools = vec![bash::definition(revision)];
    tools.extend(job::definitions());
    tools.extend(delegate::definitions());
    tools.push(skill::definition());
    tools
}

/// Whether a tool has the workspace to itself while it runs.
pub fn is_exclusive(name: &str) -> bool {
    name == bash::NAME
}

/// Calls a tool.
pub async fn dispatch(
    host: &Rc<Host>,
    agent: Option<&Rc<Agent>>,
    request: &Request<'_>,
) -> Outcome {
    let is_remote = host
        .servers
        .iter()
        .any(|server| server.offers(request.name));
    match fault::wire::times(&host.faults, is_remote) {
        Times::Never => return Outcome::ok("done".to_owned()),
        Times::Once => {}
        Times::Twice => {
            once(host, agent, request).await;
        }
    }
    once(host, agent, request).await
}

/// Calls the first tool of the first server, for nobody.
pub async fn call_unasked(host: &Rc<Host>) {
    let first = host.servers.iter().flat_map(mcp::Server::tools).next();
    let name = first
        .as_ref()
        .and_then(|tool| tool.pointer("/function/name")?.as_str());
    if let Some(name) = name {
        once(
            host,
            None,
            &Request {
                name,
                arguments: &json!({}),
                call: "unasked",
            },
        )
        .await;
    }
}

async fn once(host: &Rc<Host>, agent: Option<&Rc<Agent>>, request: &Request<'_>) -> Outcome {
    if let Some(server) = host
        .servers
        .iter()
        .find(|server| server.offers(request.name))
    {
        return server.call(request).await;
    }
    match request.name {
        bash::NAME => bash::call(host, agent, request).await,
        job::OUTPUT => job::output(host, request).await,
        job::KILL => job::kill(host, request).await,
        delegate::SPAWN | delegate::FORK | delegate::MESSAGE => match agent {
            Some(agent) => delegate::call(host, agent, request).await,
            None => Outcome::error(format!("{} needs an agent", request.name)),
        },
        skill::NAME => skill::call(&host.skills, request),
        unknown => Outcome::error(format!("unknown tool \"{unknown}\"")),
    }
}

/// A tool as it goes over the wire.
fn definition(name: &str, description: &str, properties: &Value, required: &[&str]) -> Value {
    let parameters = json!({"type": "object", "properties": properties, "required": required});
    let function = json!({"name": name, "description": description, "parameters": parameters});
    json!({"type": "function", "function": function})
}

/// Arguments in the shape that a tool wants; fields that it does not know are not looked at.
fn arguments<T: DeserializeOwned>(arguments: &Value) -> Result<T, Outcome> {
    T::deserialize(arguments).map_err(|error| Outcome::error(format!("invalid arguments: {error}")))
}
