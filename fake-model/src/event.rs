//! What a tenant's journal says: one closed enum, tagged `event` in JSON, each with the same context.
//! Written by the server, read by whoever took the events. Events are data; nothing here formats them for people.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use serde::{Serialize, Serializer};

/// Something that happened, with when and where.
#[derive(Debug, Clone, Serialize)]
pub struct Event {
    /// The context.
    #[serde(flatten)]
    pub at: At,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

/// The context that every event has.
#[derive(Debug, Clone, Serialize)]
pub struct At {
    /// Microseconds since the server started, monotonic.
    pub t_us: u64,
    /// Milliseconds since the Unix epoch: the wall clock at the server's start plus `t_us`.
    pub wall_ms: u64,
    /// The tenant; absent in the server-wide journal of stray requests.
    pub tenant: Option<Arc<str>>,
    /// The number of the request within its journal, from 0; absent if no request is concerned.
    pub n: Option<u64>,
}

/// What happened.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum What {
    /// A request has arrived, whole.
    Request(Box<RequestSeen>),
    /// The reply waits for gates.
    Held {
        /// Those that are not open yet.
        gates: Vec<String>,
    },
    /// The gates of a held reply are open.
    Released {
        /// Microseconds since it was held.
        held_us: u64,
    },
    /// All of the reply that there will be is handed to the connection.
    Replied(Box<Replied>),
    /// A reply that was not complete is over.
    Disconnected {
        /// Frames handed to the connection before.
        frames: usize,
        /// Who ended it.
        by: Side,
    },
    /// A request that the script does not know was refused.
    Unmatched {
        /// The nearest step, and field by field why not.
        reason: String,
    },
    /// A request was refused because it does not offer the scripted tool, or offers several.
    ToolDrift {
        /// What the script wants.
        wanted: String,
        /// The candidates or the nearest names.
        near: Vec<String>,
    },
    /// A request was refused because a capture found nothing in its history.
    CaptureMiss {
        /// The pattern.
        pattern: String,
    },
    /// A request broke a law of the conversation; it was answered all the same.
    Violation(Breach),
    /// A gate was opened.
    Opened {
        /// Its name.
        gate: String,
    },
}

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The client left.
    Client,
    /// The tenant was finished, or the server shut down.
    Server,
}

/// A request as it arrived.
#[derive(Debug, Clone, Serialize)]
pub struct RequestSeen {
    /// What it was taken for.
    pub kind: Kind,
    /// The session, if it was recognised.
    pub session: Option<String>,
    /// The step that answers it.
    pub step: Option<usize>,
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case and values; secrets are masked.
    pub headers: Vec<(String, String)>,
    /// The body; empty if the journal was full (`body_bytes` then says so).
    pub body: BodyText,
    /// The length of the body as it arrived.
    pub body_bytes: usize,
}

/// The body of a request: shared with the server, never copied; in JSON a string.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct BodyText(pub(crate) Bytes);

impl BodyText {
    /// The bytes as they arrived.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text; what is not UTF-8 is replaced.
    pub fn to_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl fmt::Debug for BodyText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_text(), formatter)
    }
}

impl Serialize for BodyText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

/// What a request was taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The next turn of a session.
    Main,
    /// A request without tools: for a title.
    Title,
    /// The same bytes again.
    Retry,
    /// Refused; a further event says why.
    Refused,
}

/// A reply as it went out.
#[derive(Debug, Clone, Serialize)]
pub struct Replied {
    /// The session; absent for a title.
    pub session: Option<String>,
    /// The step; absent for a title.
    pub step: Option<usize>,
    /// The HTTP status; absent if the connection was dropped, or hangs, without one.
    pub status: Option<u16>,
    /// Stream frames.
    pub frames: usize,
    /// Bytes of the body.
    pub bytes: usize,
    /// The finish reason that was sent.
    pub finish: Option<String>,
    /// The fault that was scripted.
    pub fault: Option<&'static str>,
}

/// A broken law.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Breach {
    /// Which.
    #[serde(rename = "name")]
    pub law: Law,
    /// Where and how.
    pub detail: String,
}

/// What every main request must obey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// A tool call has no result before the conversation goes on.
    UnansweredCall,
    /// A tool call has two results.
    AnsweredTwice,
    /// A tool result belongs to no call.
    OrphanResult,
    /// A role that the protocol does not have.
    IllegalRole,
    /// A message stands where its role may not.
    IllegalOrder,
    /// Two calls have the same id.
    DuplicateCallId,
    /// `tools` is not byte for byte what the session sent first.
    ToolsChanged,
    /// `stream` is not true.
    NotStreaming,
    /// There is no `authorization` header.
    NoAuthorization,
    /// The assistant turns are not those that were sent.
    FalseHistory,
}

/// The server's one clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
    start_ms: u64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            start: Instant::now(),
            start_ms: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Microseconds since the start.
    pub(crate) fn now_us(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// The wall clock that belongs to a reading of [`Self::now_us`], in milliseconds.
    pub(crate) fn wall_ms(&self, t_us: u64) -> u64 {
        self.start_ms.saturating_add(t_us / 1000)
    }

    /// Seconds since the Unix epoch at the start: the `created` of every stream.
    pub(crate) fn created(&self) -> u64 {
        self.start_ms / 1000
    }
}
