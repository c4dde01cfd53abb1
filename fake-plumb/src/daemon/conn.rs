//! One connection: its record from accept to end, its lines in and out, its calls in flight.
//!
//! Run by the daemon's loop, one task each. Calls run beside each other; the record ends when the last one has.

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{JoinSet, spawn_local};
use tokio_util::codec::{AnyDelimiterCodec, FramedRead};
use tokio_util::sync::CancellationToken;

use super::{Daemon, call, handshake};
use crate::identity::{AgentId, Identities};
use crate::mcp::frame::{self, Frame, NOT_FOUND};
use crate::mcp::{LONGEST_LINE, schema};
use crate::namespace::NamespaceId;
use crate::record::SessionId;

/// A connection without a call for this long is closed (facts, section 4).
const IDLE: Duration = Duration::from_hours(1);

/// One connection.
#[derive(Debug)]
pub(crate) struct Conn {
    number: u64,
    out: UnboundedSender<String>,
    state: RefCell<State>,
    /// The client has closed its end: nothing that is said will be heard.
    is_closed: Cell<bool>,
    last_call: Cell<Instant>,
    cut: CancellationToken,
}

/// What changes about a connection.
#[derive(Debug)]
pub(crate) struct State {
    /// Its record now; another one than at accept once a session was taken over.
    pub(crate) record: SessionId,
    /// The id under which its lines are logged: the one it was accepted with, for good.
    log_id: SessionId,
    /// The serve process behind it.
    pub(crate) proxy: Option<String>,
    /// Where serve says it is.
    pub(crate) hint: Option<PathBuf>,
    pub(crate) namespace: Option<NamespaceId>,
    pub(crate) identities: Identities,
    /// The records of agents that moved elsewhere.
    pub(crate) rows: BTreeMap<AgentId, SessionId>,
}

impl Conn {
    pub(crate) fn state(&self) -> Ref<'_, State> {
        self.state.borrow()
    }

    pub(crate) fn state_mut(&self) -> RefMut<'_, State> {
        self.state.borrow_mut()
    }

    pub(crate) fn record(&self) -> SessionId {
        self.state().record.clone()
    }

    pub(crate) fn log_id(&self) -> SessionId {
        self.state().log_id.clone()
    }

    /// The record that stands for an agent: its own row, or the connection's.
    pub(crate) fn session_of(&self, agent: Option<&AgentId>) -> SessionId {
        let state = self.state();
        agent
            .and_then(|agent| state.rows.get(agent))
            .unwrap_or(&state.record)
            .clone()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.get()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.last_call.get().elapsed() > IDLE
    }

    pub(super) fn mark_call(&self) {
        self.last_call.set(Instant::now());
    }

    /// Ends the connection from our side, calls in flight included.
    pub(super) fn cut(&self) {
        self.cut.cancel();
    }

    /// Queues a line; a connection that is gone drops it.
    pub(super) fn send(&self, line: String) {
        drop(self.out.send(line));
    }
}

/// Serves one connection from accept to end.
pub(super) async fn serve(daemon: Rc<Daemon>, stream: UnixStream) {
    let (read, write) = stream.into_split();
    let (out, outbox) = unbounded_channel();
    let conn = accept(&daemon, out);
    spawn_local(write_lines(outbox, write, conn.cut.clone()));
    let codec =
        AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), b"\n".to_vec(), LONGEST_LINE);
    let mut lines = FramedRead::new(read, codec);
    let mut calls = JoinSet::new();
    let was_cut = loop {
        tokio::select! {
            line = lines.next() => match line {
                Some(Ok(line)) => take(&daemon, &conn, &mut calls, &line),
                Some(Err(error)) => conn.send(frame::parse_error(&error.to_string())),
                None => break false,
            },
            Some(_) = calls.join_next() => {}
            () = conn.cut.cancelled() => break true,
        }
    };
    conn.is_closed.set(true);
    while !was_cut && calls.join_next().await.is_some() {}
    close(&daemon, &conn);
}

fn accept(daemon: &Daemon, out: UnboundedSender<String>) -> Rc<Conn> {
    let keeps_names = daemon.generation().has_resume();
    let is_reserved =
        |record: &crate::record::Record| keeps_names && daemon.state_db.is_recoverable(&record.id);
    let record = daemon
        .records
        .register(daemon.generation().version(), is_reserved, |_| {});
    let number = daemon.next_conn.get();
    daemon.next_conn.set(number + 1);
    let conn = Rc::new(Conn {
        number,
        out,
        state: RefCell::new(State {
            log_id: record.clone(),
            record,
            proxy: None,
            hint: None,
            namespace: None,
            identities: Identities::default(),
            rows: BTreeMap::new(),
        }),
        is_closed: Cell::new(false),
        last_call: Cell::new(Instant::now()),
        cut: CancellationToken::new(),
    });
    daemon.conns.borrow_mut().insert(number, Rc::clone(&conn));
    conn
}

fn close(daemon: &Daemon, conn: &Conn) {
    daemon.conns.borrow_mut().remove(&conn.number);
    daemon.records.end(&conn.record());
    let state = conn.state();
    let Some(pin) = &state.identities.pin else {
        return;
    };
    let is_here = |other: &Rc<Conn>| {
        other
            .state()
            .identities
            .pin
            .as_ref()
            .is_some_and(|own| own.root == pin.root)
    };
    if !daemon.conns().iter().any(is_here) {
        daemon.mail.close(&pin.root);
    }
}

fn take(daemon: &Rc<Daemon>, conn: &Rc<Conn>, calls: &mut JoinSet<()>, line: &[u8]) {
    if line.trim_ascii().is_empty() {
        return;
    }
    match Frame::read(line) {
        Frame::Malformed { why } => conn.send(frame::parse_error(&why)),
        Frame::Ignored => {}
        Frame::Response { id, result } => handshake::take_roots(daemon, conn, &id, result.as_ref()),
        Frame::Notification { method } => {
            if method == "notifications/initialized" {
                handshake::initialized(daemon, conn);
            }
        }
        Frame::Request { id, method, params } => match method.as_str() {
            "initialize" => handshake::initialize(daemon, conn, &id, &params),
            "ping" => conn.send(frame::answer(&id, &json!({}))),
            "tools/list" => conn.send(frame::answer(&id, &schema::list(&daemon.tools))),
            "prompts/list" => conn.send(frame::answer(&id, &json!({ "prompts": [] }))),
            "resources/list" => conn.send(frame::answer(&id, &json!({ "resources": [] }))),
            "resources/templates/list" => {
                conn.send(frame::answer(&id, &json!({ "resourceTemplates": [] })));
            }
            "tools/call" => {
                calls.spawn_local(call::handle(Rc::clone(daemon), Rc::clone(conn), id, params));
            }
            other => conn.send(frame::error(
                &id,
                NOT_FOUND,
                &format!("method not found: {other}"),
            )),
        },
    }
}

async fn write_lines(
    mut outbox: UnboundedReceiver<String>,
    mut write: OwnedWriteHalf,
    cut: CancellationToken,
) {
    loop {
        let line = tokio::select! {
            line = outbox.recv() => line,
            () = cut.cancelled() => None,
        };
        let Some(mut line) = line else { return };
        line.push('\n');
        // A client that does not read any more has closed its end; the reading side will see that.
        if write.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}
