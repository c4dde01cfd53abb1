//! `session_start`: who speaks, where it works, which session it is, and the orientation packet.
//!
//! The order is plumb's: resume, workspace, purpose, linkage, detail, packet. What is refused early leaves nothing
//! of the later steps; a wrong `detail` comes after the linkage was committed (facts, section 3).

use std::path::Path;

use serde_json::{Value, json};

use super::{Call, MailBlock, Project, Success, mail, packet};
use crate::assumed;
use crate::daemon::session;
use crate::daemon::takeover::{self, Resumed};
use crate::identity::{AgentId, Force, Pinning, Scope};
use crate::log::Level;
use crate::mcp::failure::{Envelope, Failure, Remedy};
use crate::mcp::key;
use crate::record::Health;
use crate::resume::Credential;
use crate::state_db::PinSource;

/// How much the packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    Brief,
    Full,
}

/// What the packet does with waiting mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mail {
    Claim,
    Preview,
}

/// The longest purpose (facts, section 3).
const LONGEST_PURPOSE: usize = 32;

pub(super) fn run(call: &mut Call<'_>) -> Result<Success, Failure> {
    let declared = call.str("session_id").map(AgentId::from_text);
    let resumed = resume(call, declared.as_ref());
    let scope = match call.str("workspace") {
        Some(workspace) => Some(pin(call, Path::new(workspace))?),
        None => None,
    };
    let purpose = purpose(call)?;
    let has_name_again = link(call, declared.as_ref(), purpose.as_deref());
    let is_resumed = has_name_again || matches!(resumed, Some(Resumed::Session));
    let detail = match call.arguments.get("detail").and_then(Value::as_str) {
        None if is_resumed => Detail::Brief,
        None | Some("full") => Detail::Full,
        Some("brief") => Detail::Brief,
        Some(other) => {
            return Err(Failure::plain(format!(
                "session_start: detail must be \"brief\" or \"full\", got {}",
                crate::log::go_quote(other)
            )));
        }
    };
    let wants = match call.arguments.get("mail").and_then(Value::as_str) {
        None | Some("claim") => Mail::Claim,
        Some("preview") => Mail::Preview,
        Some(other) => {
            return Err(Failure::plain(format!(
                "session_start: mail must be \"claim\" or \"preview\", got {}",
                crate::log::go_quote(other)
            )));
        }
    };
    let messages = match wants {
        Mail::Claim => mail::claimed_block(call),
        Mail::Preview => mail::preview_block(call),
    };
    let is_resumed = if is_resumed {
        packet::Session::Resumed
    } else {
        packet::Session::New
    };
    let text = packet::render(call, detail, is_resumed, &messages);
    let mut success = Success {
        mail: MailBlock::Settled,
        ..Success::text(text)
    };
    add_meta(call, &mut success, scope.as_ref(), resumed);
    Ok(success)
}

fn add_meta(
    call: &Call<'_>,
    success: &mut Success,
    scope: Option<&Scope>,
    resumed: Option<Resumed>,
) {
    if let Some(scope) = scope {
        let state = call.conn.state();
        let root = state
            .identities
            .pin
            .as_ref()
            .map(|pin| pin.root.to_string_lossy().into_owned());
        success
            .meta
            .insert(key::RESOLVED.to_owned(), json!(root.unwrap_or_default()));
        success
            .meta
            .insert(key::SESSION.to_owned(), json!(state.record));
        if call.daemon.generation().scopes_pins() {
            success
                .meta
                .insert(key::PIN_SCOPE.to_owned(), json!(scope.as_str()));
        }
    }
    let Some(resumed) = resumed else { return };
    success
        .meta
        .insert(assumed::RESUME_META.to_owned(), json!(resumed.word()));
    if resumed == Resumed::Session
        && let Some(successor) = takeover::issue_credential(call.daemon, call.conn)
    {
        success
            .meta
            .insert(key::CREDENTIAL.to_owned(), json!(successor.reveal()));
    }
}

/// Tries the credential that serve added to a verified declaration.
fn resume(call: &Call<'_>, declared: Option<&AgentId>) -> Option<Resumed> {
    let credential = call
        .meta
        .get(key::CREDENTIAL)
        .and_then(Value::as_str)
        .map(Credential::from_text)?;
    call.daemon
        .generation()
        .has_resume()
        .then(|| match declared {
            Some(declared) => takeover::resume(call.daemon, call.conn, &credential, declared),
            None => Resumed::Unknown,
        })
}

/// Pins the connection or the agent, or says why not.
fn pin(call: &Call<'_>, workspace: &Path) -> Result<Scope, Failure> {
    let shown = workspace.display();
    if !workspace.is_absolute() {
        return Err(call.invalid(format!(
            "session_start: workspace must be an absolute path, got {shown}"
        )));
    }
    let project = Project::around(workspace).map_err(|error| {
        call.invalid(format!(
            "session_start: workspace {shown} is not a folder that can be opened: {error}"
        ))
    })?;
    let force = if call.flag("force") {
        Force::Yes
    } else {
        Force::No
    };
    let generation = call.daemon.generation();
    let (scope, pinning) = {
        let mut state = call.conn.state_mut();
        let scope = state.identities.scope_for(call.agent.as_ref());
        let pinning = state
            .identities
            .repin(&scope, &project.root, force, generation);
        (scope, pinning)
    };
    match pinning {
        Pinning::Refused { from } => return Err(refuse_pin(call, &scope, &from, &project.root)),
        Pinning::Attached => session::attached(call.daemon, call.conn, &project),
        Pinning::Moved { from } => session::moved(call.daemon, call.conn, &scope, &from, &project),
        Pinning::Stays => {}
    }
    if scope == Scope::Connection {
        session::save_pin(
            call.daemon,
            call.conn,
            None,
            &project.root,
            PinSource::SessionStart,
        );
    }
    let record = call.conn.record();
    call.daemon.records.update(&record, |record| {
        if record.health == Some(Health::Blocked) {
            record.health = None;
            record.health_message = None;
        }
    });
    Ok(scope)
}

fn refuse_pin(call: &Call<'_>, scope: &Scope, from: &Path, to: &Path) -> Failure {
    let (from_text, to_text) = (from.to_string_lossy(), to.to_string_lossy());
    let remedy = "If you are a new conversation deliberately switching this connection to a different project, call session_start again with force: true; if several agents share this connection, run a dedicated plumb serve process per agent instead.";
    let fields = [
        ("pinned", &*from_text),
        ("requested", &*to_text),
        ("remedy", remedy),
    ];
    let head = format!("session_start: re-pinning to {to_text}: refusing to re-pin");
    let text = match scope {
        Scope::Connection => {
            session::block(
                call.daemon,
                call.conn,
                "a re-pin of this connection was refused",
            );
            call.daemon.log.of(&call.conn.log_id(), Level::Warn,
                "daemon: session_start re-pin refused — this connection's pin is sticky (issue #182)", &fields);
            format!(
                "{head} this connection from {from_text} to {to_text}: this connection's pin was set by an explicit session_start and is sticky — issue #182. To switch this connection's project, call session_start again with force: true; if several agents share this connection, run a dedicated plumb serve process per agent instead"
            )
        }
        Scope::Agent(agent) => {
            let mut fields = fields.to_vec();
            fields.insert(0, ("agent", agent.as_str()));
            call.daemon.log.of(&call.conn.log_id(), Level::Warn,
                "daemon: per-agent session_start re-pin refused — this agent's pin is sticky (issue #182)", &fields);
            format!(
                "{head} logical agent \"{agent}\" from {from_text} to {to_text}: this agent's pin was set by an explicit session_start and is sticky — issue #182. To switch this agent's project, call session_start again with force: true; to run several agents over one connection, each must identify itself (session_start.session_id or per-call _meta)"
            )
        }
    };
    let envelope = call.daemon.generation().scopes_pins().then(|| Envelope {
        kind: "workspace_boundary",
        operation: "session_start".to_owned(),
        remedy: Remedy::PassForce,
        scope: Some(scope.as_str()),
    });
    Failure { text, envelope }
}

fn purpose(call: &Call<'_>) -> Result<Option<String>, Failure> {
    let Some(purpose) = call.str("purpose") else {
        return Ok(None);
    };
    let is_valid = purpose.len() <= LONGEST_PURPOSE
        && purpose
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_valid {
        return Ok(Some(purpose.to_owned()));
    }
    Err(call.invalid(format!(
        "session_start: invalid purpose: {} — letters, digits and hyphens, at most {LONGEST_PURPOSE}",
        crate::log::go_quote(purpose)
    )))
}

/// Commits the linkage; true if the session has the name of an ended one again.
fn link(call: &Call<'_>, declared: Option<&AgentId>, purpose: Option<&str>) -> bool {
    let Some(declared) = declared else {
        if let Some(purpose) = purpose {
            let purpose = Some(purpose.to_owned());
            call.daemon
                .records
                .update(&call.conn.record(), |record| record.purpose = purpose);
        }
        return false;
    };
    let names_another = call.stamp.as_ref().is_some_and(|stamp| stamp != declared);
    if !names_another
        || call
            .daemon
            .generation()
            .stamped_declaration_is_second_identity()
    {
        session::note(call.daemon, call.conn, declared);
    }
    call.conn.state_mut().identities.declared = Some(declared.clone());
    session::link(call.daemon, call.conn, declared, purpose)
}
