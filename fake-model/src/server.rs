//! HTTP: finds the tenant of a request, carries out the answer of its desk, refuses the rest.
//! Started by [`FakeModel`](crate::FakeModel). It decides nothing about scripts and keeps no state but the list of tenants.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::delivery::{Delivery, Ending, Stage};
use crate::desk::{Answer, Planned, Received, Refused};
use crate::event::{Clock, Kind, What};
use crate::journal::Journal;
use crate::reply::Plan;
use crate::room::{Command, Room};
use crate::stream::{Frames, dropped};

/// The longest body that is read: more than any model's context in text.
const BODY_LIMIT: usize = 64 << 20;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) clock: Clock,
    pub(crate) seats: watch::Sender<HashMap<String, Seat>>,
    pub(crate) stray: Journal,
    pub(crate) strays: AtomicU64,
    pub(crate) stop: CancellationToken,
}

/// A tenant's name, taken for good.
#[derive(Debug, Clone)]
pub(crate) enum Seat {
    Live(Arc<Room>),
    Finished,
}

/// The one route of the server.
pub(crate) fn router(house: Arc<House>) -> Router {
    Router::new().fallback(answer).with_state(house)
}

async fn answer(State(house): State<Arc<House>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = tokio::select! {
        read = to_bytes(body, BODY_LIMIT) => read,
        () = house.stop.cancelled() => return Body::from_stream(dropped()).into_response(),
    };
    let (body, problem) = match body {
        Ok(body) => (body, None),
        Err(error) => (
            Bytes::new(),
            Some(format!(
                "the body cannot be read, or is longer than {BODY_LIMIT} bytes: {error}"
            )),
        ),
    };
    let target = head
        .uri
        .path_and_query()
        .map_or_else(|| head.uri.path().to_owned(), ToString::to_string);
    let (tenant, below) = match split(head.uri.path()) {
        Some((tenant, below)) => (Some(tenant.to_owned()), below.to_owned()),
        None => (None, String::new()),
    };
    let received = Received {
        method: head.method,
        target,
        below,
        headers: head.headers,
        body,
    };
    let seat = tenant
        .as_ref()
        .and_then(|name| house.seats.borrow().get(name).cloned());
    let reason = match (seat, problem) {
        (_, Some(problem)) => problem,
        (Some(Seat::Live(room)), None) => return enter(&room, received).await,
        (Some(Seat::Finished), None) => "this tenant is finished".to_owned(),
        (None, None) => format!(
            "path `{}` belongs to no tenant; `/t/<tenant>/v1/chat/completions` is right, and the tenants are {:?}",
            received.target,
            house.seats.borrow().keys().collect::<Vec<_>>()
        ),
    };
    stray(&house, &received, reason)
}

/// `/t/<tenant>/v1<below>`.
fn split(path: &str) -> Option<(&str, &str)> {
    let (tenant, rest) = path.strip_prefix("/t/")?.split_once('/')?;
    let below = rest.strip_prefix("v1")?;
    (below.is_empty() || below.starts_with('/')).then_some((tenant, below))
}

fn stray(house: &House, received: &Received, reason: String) -> Response {
    let n = house.strays.fetch_add(1, Ordering::Relaxed);
    house.stray.write(
        Some(n),
        What::Request(received.seen(Kind::Refused, None, None)),
    );
    house.stray.write(
        Some(n),
        What::Unmatched {
            reason: reason.clone(),
        },
    );
    refuse(&Refused {
        n,
        code: "unmatched",
        message: reason,
    })
}

async fn enter(room: &Room, received: Received) -> Response {
    let received = Box::new(received);
    match room.ask(|to| Command::Answer(received, to)).await {
        Some(Answer::Planned(planned)) => deliver(room, planned).await,
        Some(Answer::Refused(refused)) => refuse(&refused),
        // Finished between the look-up and now: the journal is closed, so this has no event.
        None => refuse(&Refused {
            n: 0,
            code: "unmatched",
            message: "this tenant is finished".to_owned(),
        }),
    }
}

async fn deliver(room: &Room, planned: Planned) -> Response {
    let Planned {
        n,
        place,
        gates,
        plan,
    } = planned;
    let mut delivery = Delivery {
        n,
        place,
        journal: room.journal.clone(),
        desk: room.desk.clone(),
        frames: 0,
        bytes: 0,
        stage: Stage::Owed,
    };
    let closed = room.gates.closed(&gates);
    if !closed.is_empty() {
        let since = Instant::now();
        delivery.write(What::Held { gates: closed });
        tokio::select! {
            () = room.gates.passed(&gates) => {}
            () = room.stop.cancelled() => {
                delivery.end_by_server();
                return Body::from_stream(dropped()).into_response();
            }
        }
        let held_us = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        delivery.write(What::Released { held_us });
    }
    let mut response = carry_out(plan, delivery, &room.stop).await;
    header(&mut response, REQUEST_ID, &format!("req_{n}"));
    response
}

async fn carry_out(plan: Plan, mut delivery: Delivery, stop: &CancellationToken) -> Response {
    match plan {
        Plan::Stream(plan) => {
            let content_type = plan.content_type.clone();
            let body = Body::from_stream(Frames::new(plan, delivery, stop.clone()));
            let mut response = body.into_response();
            header(&mut response, CONTENT_TYPE, &content_type);
            header(&mut response, CACHE_CONTROL, "no-cache");
            response
        }
        Plan::Status {
            code,
            headers,
            body,
        } => {
            delivery.bytes = body.len();
            delivery.replied(
                Ending {
                    status: Some(code.as_u16()),
                    finish: None,
                    fault: Some("status"),
                },
                Stage::Over,
            );
            let mut response = (code, body).into_response();
            header(&mut response, CONTENT_TYPE, "application/json");
            for (name, value) in headers {
                if let Ok(name) = HeaderName::try_from(name) {
                    header(&mut response, name, &value);
                }
            }
            response
        }
        Plan::Drop => {
            delivery.replied(
                Ending {
                    fault: Some("drop"),
                    ..Ending::default()
                },
                Stage::Over,
            );
            Body::from_stream(dropped()).into_response()
        }
        Plan::Hang => {
            delivery.replied(
                Ending {
                    fault: Some("hang"),
                    ..Ending::default()
                },
                Stage::Hanging,
            );
            stop.cancelled().await;
            delivery.end_by_server();
            Body::from_stream(dropped()).into_response()
        }
    }
}

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// A strict miss is a 400 that asks not to be retried: the OpenAI SDKs retry 408, 409, 429 and 5xx by themselves.
fn refuse(refused: &Refused) -> Response {
    let error = json!({"error": {
        "message": refused.message, "type": "invalid_request_error", "param": null, "code": refused.code,
    }});
    let mut response = (StatusCode::BAD_REQUEST, error.to_string()).into_response();
    header(&mut response, CONTENT_TYPE, "application/json");
    header(&mut response, SHOULD_RETRY, "false");
    header(&mut response, REQUEST_ID, &format!("req_{}", refused.n));
    response
}

/// Sets a header; the script reader has checked those that come from a script.
fn header(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}
