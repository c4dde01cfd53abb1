//! From a step of the script and a request to the bytes that answer it. Called by the desk.
//! Pure: the same step and the same request give the same plan, so a retry needs no memory of the first answer.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use bytes::Bytes;

use crate::capture::Missed;
use crate::chat::Chat;
use crate::script::{Arguments, Fail, Fault, Turn};
use crate::tool::{Drift, resolve};
use crate::wire::{CallIndex, Head, Said, SaidCall, Usage, UsageFrame, done, error, malformed};

/// The content type of a good stream.
const EVENT_STREAM: &str = "text/event-stream; charset=utf-8";

/// How a request is answered once its gates are open.
#[derive(Debug)]
pub(crate) enum Plan {
    /// A streamed turn.
    Stream(StreamPlan),
    /// A plain HTTP answer.
    Status {
        code: StatusCode,
        headers: BTreeMap<String, String>,
        body: Bytes,
    },
    /// The connection ends without an answer.
    Drop,
    /// No answer while the tenant lives.
    Hang,
}

/// The frames of a streamed turn and how the stream ends.
#[derive(Debug)]
pub(crate) struct StreamPlan {
    pub(crate) content_type: String,
    pub(crate) frames: Vec<Bytes>,
    pub(crate) end: End,
    /// The finish reason, if the finish frame is sent.
    pub(crate) finish: Option<String>,
    pub(crate) fault: Option<&'static str>,
}

/// What comes after the last frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The end of the body; the connection stays.
    Clean,
    /// The end of the connection, inside the body.
    Drop,
    /// Nothing.
    Hang,
}

/// A step that cannot be said to this client.
#[derive(Debug)]
pub(crate) enum Unsayable {
    ToolDrift(Drift),
    CaptureMiss(Missed),
}

/// What a reply needs to know of the request.
pub(crate) struct Asked<'a> {
    pub(crate) chat: &'a Chat<'a>,
    pub(crate) tools: &'a [String],
    /// The stream's id, `created` value, body length and the length of the session's request before.
    pub(crate) id: String,
    pub(crate) created: u64,
    pub(crate) length: usize,
    pub(crate) cached: usize,
}

/// The turn with tools resolved and captures filled.
pub(crate) fn say(turn: &Turn, asked: &Asked<'_>) -> Result<Said, Unsayable> {
    let is_heard = |arguments: &Arguments| matches!(arguments, Arguments::Json(template) if template.has_captures());
    // Reading a long history costs; only a capture needs it.
    let heard = if turn.calls.iter().any(|call| is_heard(&call.arguments)) {
        asked.chat.heard()
    } else {
        Vec::new()
    };
    let calls = turn
        .calls
        .iter()
        .map(|call| {
            let name = resolve(&call.tool, asked.tools).map_err(Unsayable::ToolDrift)?;
            let arguments = match &call.arguments {
                Arguments::Json(template) => template
                    .fill(&heard)
                    .map_err(Unsayable::CaptureMiss)?
                    .to_string(),
                Arguments::Verbatim(text) => text.clone(),
            };
            Ok(SaidCall {
                id: call.id.clone(),
                name,
                arguments,
            })
        })
        .collect::<Result<_, _>>()?;
    Ok(Said {
        reasoning: turn.reasoning.clone().unwrap_or_default(),
        text: turn.text.clone(),
        calls,
    })
}

/// The plan for a turn.
pub(crate) fn stream(said: &Said, fault: Option<&Fault>, asked: &Asked<'_>) -> Plan {
    let usage_frame = match (asked.chat.wants_usage(), fault) {
        (false, _) => UsageFrame::Unasked,
        (true, Some(Fault::NoUsage)) => UsageFrame::Withheld,
        (true, _) => UsageFrame::Asked,
    };
    let usage = Usage::of(asked.length, asked.cached, said);
    let head = Head::new(
        &asked.id,
        asked.created,
        &asked.chat.model,
        (usage_frame, usage),
    );
    let call_index = if matches!(fault, Some(Fault::NoIndex)) {
        CallIndex::Missing
    } else {
        CallIndex::Sent
    };
    let reason = match fault {
        Some(Fault::Finish(reason)) => reason.clone(),
        _ => said.finish().to_owned(),
    };
    let plan = StreamPlan {
        content_type: EVENT_STREAM.to_owned(),
        frames: head.body(said, call_index),
        end: End::Clean,
        finish: Some(reason.clone()),
        fault: fault.map(Fault::name),
    };
    Plan::Stream(with_fault(plan, head.finish(&reason), fault))
}

/// The plan for a failure in place of a turn.
pub(crate) fn fail(fail: &Fail) -> Plan {
    match fail {
        Fail::Status {
            code,
            headers,
            body,
        } => Plan::Status {
            code: StatusCode::from_u16(*code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            headers: headers.clone(),
            body: match body {
                serde_json::Value::String(text) => Bytes::from(text.clone()),
                serde_json::Value::Null => Bytes::new(),
                json => Bytes::from(json.to_string()),
            },
        },
        Fail::Drop => Plan::Drop,
        Fail::Hang => Plan::Hang,
    }
}

/// Adds the frames after the body, or what the fault puts in their place.
fn with_fault(mut plan: StreamPlan, tail: Vec<Bytes>, fault: Option<&Fault>) -> StreamPlan {
    match fault {
        Some(Fault::DropAfter(frames)) => return cut(plan, *frames, End::Drop),
        Some(Fault::HangAfter(frames)) => return cut(plan, *frames, End::Hang),
        Some(Fault::Cut) => return cut(plan, usize::MAX, End::Clean),
        Some(Fault::ErrorAfter {
            frames,
            error: value,
        }) => {
            let mut plan = cut(plan, *frames, End::Clean);
            plan.frames.push(error(value));
            return plan;
        }
        Some(Fault::MalformedAfter(frames)) => plan
            .frames
            .insert((*frames).min(plan.frames.len()), malformed()),
        Some(Fault::ContentType(other)) => other.clone_into(&mut plan.content_type),
        Some(Fault::Finish(_) | Fault::NoDone | Fault::NoUsage | Fault::NoIndex) | None => {}
    }
    plan.frames.extend(tail);
    if !matches!(fault, Some(Fault::NoDone)) {
        plan.frames.push(done());
    }
    plan
}

/// The plan without its finish: at most so many frames of the body, then that end.
fn cut(mut plan: StreamPlan, frames: usize, end: End) -> StreamPlan {
    plan.frames.truncate(frames);
    StreamPlan {
        end,
        finish: None,
        ..plan
    }
}
