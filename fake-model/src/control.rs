//! The control plane of the program: gates, journal, report and waiting, over HTTP. Started by `cli`.
//! It has a port of its own, so that an agent that strays on its model's port can open no gate.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::event::What;
use crate::journal::Events;
use crate::model::Remote;

/// How many bytes of journal lines are kept; the oldest go first.
const KEPT_BYTES: usize = 64 << 20;

/// What a question gets that can never be answered any more.
const FINISHED: &str = "the tenant is finished\n";

/// The journal as kept for whoever asks.
#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<Bytes>,
    bytes: usize,
    /// Lines that are no longer kept.
    gone: usize,
    requests: usize,
}

/// The kept journal of one tenant, filled by a task of its own.
#[derive(Debug)]
pub(crate) struct Control {
    kept: watch::Receiver<Kept>,
}

#[derive(Clone)]
struct Shared {
    remote: Remote,
    kept: watch::Receiver<Kept>,
}

impl Kept {
    /// How many lines are gone, and the rest.
    fn text(&self) -> (usize, Vec<u8>) {
        (self.gone, self.lines.iter().flatten().copied().collect())
    }
}

impl Control {
    /// Starts to keep the events. Must be called inside a tokio runtime.
    pub(crate) fn new(events: Option<Events>) -> Self {
        let (keep, kept) = watch::channel(Kept::default());
        if let Some(events) = events {
            tokio::spawn(pump(events, keep));
        }
        Self { kept }
    }
}

/// Serves the control plane on a free loopback port; it ends with the runtime.
pub(crate) async fn serve(control: &Control, remote: Remote) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let router = Router::new()
        .route("/_fake/gates/{tenant}/{gate}/open", post(open))
        .route("/_fake/journal/{tenant}", get(journal))
        .route("/_fake/report/{tenant}", get(report))
        .route("/_fake/wait/{tenant}", get(wait))
        .with_state(Shared {
            remote,
            kept: control.kept.clone(),
        });
    tokio::spawn(async move { drop(axum::serve(listener, router).await) });
    Ok(address)
}

async fn pump(mut events: Events, keep: watch::Sender<Kept>) {
    while let Some(event) = events.recv().await {
        let mut line = serde_json::to_vec(&event)
            .expect("events have text keys only, so they always serialise");
        line.push(b'\n');
        let line = Bytes::from(line);
        keep.send_modify(|kept| {
            kept.requests += usize::from(matches!(event.what, What::Request(_)));
            kept.bytes += line.len();
            kept.lines.push_back(line);
            while kept.bytes > KEPT_BYTES {
                let Some(oldest) = kept.lines.pop_front() else {
                    break;
                };
                kept.bytes -= oldest.len();
                kept.gone += 1;
            }
        });
    }
}

async fn open(
    State(shared): State<Shared>,
    Path((tenant, gate)): Path<(String, String)>,
) -> Response {
    if let Some(refusal) = stranger(&shared, &tenant) {
        return refusal;
    }
    match shared.remote.open(&gate) {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(unknown) => (StatusCode::NOT_FOUND, format!("{unknown}\n")).into_response(),
    }
}

/// JSON lines; `x-lines-gone` counts those that are no longer kept.
async fn journal(State(mut shared): State<Shared>, Path(tenant): Path<String>) -> Response {
    if let Some(refusal) = stranger(&shared, &tenant) {
        return refusal;
    }
    // What happened before this was asked must be in the answer, though the pump may be a moment behind.
    let written = shared.remote.written();
    let caught_up = |kept: &Kept| kept.gone + kept.lines.len() >= written;
    let (gone, text) = match shared.kept.wait_for(caught_up).await {
        Ok(kept) => kept.text(),
        Err(_) => return (StatusCode::GONE, FINISHED).into_response(),
    };
    (
        [
            ("content-type", "application/x-ndjson".to_owned()),
            ("x-lines-gone", gone.to_string()),
        ],
        text,
    )
        .into_response()
}

async fn report(State(shared): State<Shared>, Path(tenant): Path<String>) -> Response {
    if let Some(refusal) = stranger(&shared, &tenant) {
        return refusal;
    }
    axum::Json(shared.remote.report().await).into_response()
}

/// Answers when so many requests have arrived; the caller's own time-out is the deadline.
async fn wait(
    State(mut shared): State<Shared>,
    Path(tenant): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    if let Some(refusal) = stranger(&shared, &tenant) {
        return refusal;
    }
    let Some(count) = query
        .as_deref()
        .and_then(|query| query.strip_prefix("count="))
        .and_then(|n| n.parse::<usize>().ok())
    else {
        return (
            StatusCode::BAD_REQUEST,
            "the query is `count=` and a number\n",
        )
            .into_response();
    };
    match shared.kept.wait_for(|kept| kept.requests >= count).await {
        Ok(kept) => axum::Json(serde_json::json!({"requests": kept.requests})).into_response(),
        Err(_) => (StatusCode::GONE, FINISHED).into_response(),
    }
}

fn stranger(shared: &Shared, tenant: &str) -> Option<Response> {
    let known = shared.remote.name();
    (tenant != known).then(|| {
        (
            StatusCode::NOT_FOUND,
            format!("no tenant `{tenant}`; it is `{known}`\n"),
        )
            .into_response()
    })
}
