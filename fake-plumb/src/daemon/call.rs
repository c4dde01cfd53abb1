//! One `tools/call`, in plumb's order: shared refusal, stamp, attach, guard, gate, tool, mail.
//!
//! Spawned by [`super::conn`] for each call. What the guard refuses leaves nothing but the stamp it carried.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::Daemon;
use super::conn::Conn;
use super::session::{self, Offer};
use crate::effects::Effect;
use crate::identity::AgentId;
use crate::log::Level;
use crate::mcp::failure::{Envelope, Failure};
use crate::mcp::frame::{self, NOT_FOUND};
use crate::mcp::schema::{self, Tool};
use crate::mcp::{guard, key};
use crate::tool::{self, Call, MailBlock, Success};

/// Carries a call out and answers it.
pub(super) async fn handle(
    daemon: Rc<Daemon>,
    conn: Rc<Conn>,
    id: Value,
    mut params: Map<String, Value>,
) {
    let name = params
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    conn.mark_call();
    let line = match schema::find(&daemon.tools, &name) {
        Some(tool) => frame::answer(&id, &carry_out(&daemon, &conn, tool, &mut params).await),
        None if schema::is_absent(&name) => frame::answer(
            &id,
            &Failure::plain(format!("{name}: not in the fake")).to_result(),
        ),
        None => {
            let data = Envelope::invalid_arguments(&name).to_value();
            frame::error_with(&id, NOT_FOUND, &format!("unknown tool: {name}"), &data)
        }
    };
    daemon.records.touch(&conn.record());
    conn.send(line);
}

async fn carry_out(
    daemon: &Daemon,
    conn: &Conn,
    tool: &Tool,
    params: &mut Map<String, Value>,
) -> Value {
    let object = |value: Option<Value>| match value {
        Some(Value::Object(object)) => object,
        _ => Map::new(),
    };
    let meta = object(params.remove("_meta"));
    let arguments = object(params.remove("arguments"));
    let answer = prepare_and_run(daemon, conn, tool, meta, arguments).await;
    match answer {
        Ok(Success { text, meta, .. }) => {
            let mut result =
                json!({ "content": [{ "type": "text", "text": text }], "isError": false });
            if !meta.is_empty() {
                result["_meta"] = Value::Object(meta);
            }
            result
        }
        Err(failure) => {
            let msg = if failure.text.starts_with("shared connection") {
                "mcp: tool refused"
            } else {
                "mcp: tool error"
            };
            daemon.log.line(
                Level::Warn,
                msg,
                &[("tool", tool.name), ("err", &failure.text)],
            );
            failure.to_result()
        }
    }
}

async fn prepare_and_run(
    daemon: &Daemon,
    conn: &Conn,
    tool: &Tool,
    meta: Map<String, Value>,
    mut arguments: Map<String, Value>,
) -> Result<Success, Failure> {
    let stamp = stamp(daemon, &meta, &mut arguments);
    refuse_unattributed(daemon, conn, tool.name, stamp.as_ref())?;
    if let Some(stamp) = &stamp {
        session::note(daemon, conn, stamp);
    }
    let hint = conn.state().hint.clone();
    if let Some(hint) =
        hint.filter(|_| tool.name != "session_start" || !arguments.contains_key("workspace"))
    {
        session::offer(daemon, conn, &hint, Offer::Hint);
    }
    let checked = guard::check(tool.name, &tool.schema, &arguments)?;
    let agent = attribute(conn, tool.name, stamp.as_ref(), &checked.arguments);
    refuse_gated(daemon, conn, tool.name, agent.as_ref())?;
    let mut call = Call {
        daemon,
        conn,
        tool: tool.name,
        agent,
        stamp,
        meta,
        arguments: checked.arguments,
    };
    let namespace = conn.state().namespace.clone();
    let effect = Effect {
        time: jiff::Timestamp::now().to_string(),
        namespace: namespace.as_ref(),
        record: &conn.record(),
        agent: call.agent.as_ref().map(AgentId::as_str),
        tool: tool.name,
        arguments: &call.arguments,
    };
    if let Err(error) = daemon.ledger.append(&effect) {
        daemon.log.line(
            Level::Error,
            "daemon: effect not recorded",
            &[("err", &error.to_string())],
        );
    }
    let mut success = tool::run(&mut call).await?;
    success.text.insert_str(0, &checked.note);
    if success.mail == MailBlock::MayFollow {
        let block = tool::mail_block(&call);
        if !block.is_empty() {
            success.text.push_str("\n\n");
            success.text.push_str(&block);
        }
    }
    Ok(success)
}

/// The stamp of a call: in `_meta`, or since 0.19.1 inside the arguments, from which it is lifted.
fn stamp(
    daemon: &Daemon,
    meta: &Map<String, Value>,
    arguments: &mut Map<String, Value>,
) -> Option<AgentId> {
    let in_meta = meta
        .get(key::AGENT)
        .and_then(Value::as_str)
        .map(str::to_owned);
    let mut lifted = None;
    if daemon.generation().has_argument_stamp() {
        for name in [key::ARGUMENT_STAMP, key::AGENT] {
            if let Some(Value::String(stamp)) = arguments.remove(name) {
                lifted.get_or_insert(stamp);
            }
        }
        // serve takes the proof out; on a bare socket nobody has.
        arguments.remove(key::PROOF);
    }
    in_meta
        .or(lifted)
        .filter(|stamp| !stamp.is_empty())
        .map(|stamp| AgentId::from_text(&stamp))
}

/// Whom a call is attributed to: its stamp, the id it declares, else the last declarer.
fn attribute(
    conn: &Conn,
    tool: &str,
    stamp: Option<&AgentId>,
    arguments: &Map<String, Value>,
) -> Option<AgentId> {
    let typed = arguments
        .get("session_id")
        .and_then(Value::as_str)
        .filter(|id| tool == "session_start" && !id.is_empty());
    stamp
        .cloned()
        .or(typed.map(AgentId::from_text))
        .or_else(|| conn.state().identities.declared.clone())
}

/// On a shared connection nobody can be named for an unstamped state-changing call.
fn refuse_unattributed(
    daemon: &Daemon,
    conn: &Conn,
    tool: &str,
    stamp: Option<&AgentId>,
) -> Result<(), Failure> {
    let state = conn.state();
    let is_newer = daemon.generation().scopes_pins();
    let changes = schema::is_write(tool) || (is_newer && tool == "check_messages");
    // In 0.17 an accepted declaration stands for every later call; later it does not (assumed, A11).
    let has_declarer = state.identities.declared.is_some() && !is_newer;
    if !changes || !state.identities.is_shared() || stamp.is_some() || has_declarer {
        return Ok(());
    }
    Err(Failure::plain(format!(
        "shared connection: {tool} is a state-changing call with no logical-agent identity, so it cannot be attributed to one of the agents multiplexing this connection; the supported topology is one plumb serve per logical agent — pass session_start.session_id or a per-call _meta[{}] to identify each agent",
        key::AGENT
    )))
}

/// An agent whose declaration was refused is not where it thinks it is (assumed, A12).
fn refuse_gated(
    daemon: &Daemon,
    conn: &Conn,
    tool: &str,
    agent: Option<&AgentId>,
) -> Result<(), Failure> {
    let Some(agent) = agent.filter(|agent| conn.state().identities.is_gated(agent)) else {
        return Ok(());
    };
    if !daemon.generation().scopes_pins() || !schema::is_path_bearing(tool) {
        return Ok(());
    }
    Err(Failure::plain(format!(
        "{tool}: the session_start of logical agent \"{agent}\" was refused, so its paths cannot be told from another project's; call session_start again with force: true"
    )))
}
