//! Sessions of a host: created, delegated, forked, resumed and disposed of.
//!
//! Called by the command line, by the operations and by the delegation tools. A session has its id before anything else
//! happens to it; lineage is set here and nowhere else.

use std::rc::Rc;

use crate::agent::Agent;
use crate::fault;
use crate::hook::HookEvent;
use crate::host::{Host, HostError};
use crate::session::Session;
use crate::session::header::Header;
use crate::session::id::SessionId;

/// How an agent came to be, for its hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Birth {
    /// As a new session.
    Startup,
    /// From a stored one.
    Resume,
}

/// What a branch is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchKind {
    /// To go another way from here, beside its source.
    Plain,
    /// To work for its source, as a subagent.
    Delegated,
}

/// A branch that is to be made.
#[derive(Debug, Clone)]
pub struct Branch {
    /// What for.
    pub kind: BranchKind,
    /// Its id; a new one when left out.
    pub id: Option<SessionId>,
    /// Where it works; where its source does when left out.
    pub cwd: Option<String>,
}

/// A new session that came from nowhere.
pub async fn create(
    host: &Rc<Host>,
    id: Option<SessionId>,
    cwd: Option<String>,
) -> Result<Rc<Agent>, HostError> {
    let header = Header::root(id.unwrap_or_else(SessionId::for_root), cwd);
    admit(host, Session::fresh(header)).await
}

/// A child of a live session, without any of its turns.
pub async fn spawn(
    host: &Rc<Host>,
    parent: &Header,
    id: Option<SessionId>,
    cwd: Option<String>,
) -> Result<Rc<Agent>, HostError> {
    let cwd = fault::wire::child_cwd(&host.faults, cwd);
    let header = Header::child_of(parent, id.unwrap_or_else(SessionId::for_child), cwd);
    admit(host, Session::fresh(header)).await
}

/// A branch of a session, with every turn that it has completed.
pub async fn fork(
    host: &Rc<Host>,
    source: &Session,
    branch: Branch,
) -> Result<Rc<Agent>, HostError> {
    let cwd = fault::wire::child_cwd(&host.faults, branch.cwd);
    let id = branch.id.unwrap_or_else(SessionId::for_child);
    let header = match branch.kind {
        BranchKind::Plain => Header::fork_of(source.header(), id, cwd),
        BranchKind::Delegated => Header::child_of(source.header(), id, cwd),
    };
    admit(host, Session::seeded(header, source)).await
}

/// A stored session, gone on with: same id, same log.
pub async fn resume(host: &Rc<Host>, id: &SessionId) -> Result<Rc<Agent>, HostError> {
    if host.agent(id).is_some() {
        return Err(HostError::Live { id: id.clone() });
    }
    let session = host.store.borrow().load(id)?;
    host.store.borrow_mut().claim(session.header())?;
    host.notes().resumed(session.header());
    Ok(publish(host, session, Birth::Resume).await)
}

/// Ends a live agent. What it has so far becomes durable, but for a turn that was still open; it can be resumed.
pub fn dispose(host: &Host, agent: &Agent) -> Result<(), HostError> {
    let id = &agent.header().id;
    agent.stop();
    host.agents.borrow_mut().remove(id);
    let mut store = host.store.borrow_mut();
    let kept = if agent.session().is_between_turns() {
        store.flush(&agent.session())
    } else {
        Ok(())
    };
    store.release(id);
    host.changed();
    Ok(kept?)
}

async fn admit(host: &Rc<Host>, session: Session) -> Result<Rc<Agent>, HostError> {
    let header = session.header();
    if host.agent(&header.id).is_some() {
        return Err(HostError::Live {
            id: header.id.clone(),
        });
    }
    host.store.borrow().admit(&header.id)?;
    host.notes().made(header);
    Ok(publish(host, session, Birth::Startup).await)
}

async fn publish(host: &Rc<Host>, session: Session, birth: Birth) -> Rc<Agent> {
    let agent = Agent::start(host, session);
    host.agents
        .borrow_mut()
        .insert(agent.header().id.clone(), Rc::clone(&agent));
    crate::hook::fire(host, &agent, &HookEvent::SessionStart(birth)).await;
    agent
}
