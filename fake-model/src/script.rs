//! The script of one tenant, checked: sessions, their replies in order, and the title.
//! Read by the desk. It knows nothing of HTTP, and a `Script` that exists is sound: every step has its session,
//! steps count from 0 without a gap, openings and call ids are unique, every capture pattern compiles.

mod read;
mod rows;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::num::NonZeroU32;

use serde::Deserialize;
use serde_json::Value;

use crate::capture::Template;
pub use read::ScriptError;
pub(crate) use read::{NAME_RULE, is_name};

/// What one tenant's model says, to whom and when. In JSON:
///
/// ```json
/// { "sessions": [ {"name": "main", "opening": "[main] do the thing"} ],
///   "replies": [ {"session": "main", "step": 0, "gates": ["g0"], "reply": {"say": "hello"}} ],
///   "title": "A title" }
/// ```
///
/// A `reply` is exactly one of
/// - `"say": "text"`;
/// - `"calls": [{"id"?, "tool", "arguments" or "arguments_raw"}]`, with `"text"` before them if wanted. A `tool` is
///   `{"name": "bash"}` (offered under this name), `{"of": "plumb", "name": "list_memories"}` (the one offered tool of that group,
///   such as `mcp__plumb__list_memories`) or `{"raw": "name"}` (sent unchecked). In `arguments` the object
///   `{"$capture": {"pattern": "id=(\\w+)"}}` becomes the group's last match in user messages and tool results;
///   `arguments_raw` is sent as it is. An absent `id` becomes `call_<session>_<step>_<n>`;
/// - `"fail"`: `"drop"`, `"hang"` or `{"status": {"code", "headers"?, "body"?}}`; with `"times": n` that many identical
///   attempts fail, and the next one gets the next reply.
///
/// `say` and `calls` take `"reasoning": "text"` and one `"fault"`: `{"drop-after": k}`, `{"hang-after": k}`, `"cut"`,
/// `{"malformed-after": k}`, `{"error-after": {"frames": k, "error": …}}`, `{"content-type": "…"}`, `{"finish": "length"}`,
/// `"no-done"`, `"no-usage"`, `"no-index"`. `k` counts frames from the role frame; at or past the finish frame it acts just before it.
/// A `title` that is absent or null makes a title request unmatched.
#[derive(Debug)]
pub struct Script {
    pub(crate) sessions: Vec<Session>,
    pub(crate) title: Option<String>,
    pub(crate) gates: BTreeSet<String>,
}

/// A conversation, known by how one of its user messages begins.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) name: String,
    pub(crate) opening: String,
    pub(crate) steps: Vec<Step>,
}

/// One reply of a session and what must be open before it goes out.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) gates: Vec<String>,
    pub(crate) reply: Reply,
}

/// Something to say, or a failure in place of saying anything.
#[derive(Debug)]
pub(crate) enum Reply {
    /// An assistant turn, streamed, with at most one fault on the wire.
    Turn(Turn, Option<Fault>),
    /// No turn at all. With `times`, that many identical attempts fail and the next one gets the next reply.
    Fail(Fail, Option<NonZeroU32>),
}

/// What the assistant says in one turn.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) reasoning: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) calls: Vec<Call>,
}

/// One tool call of a turn.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) tool: Tool,
    pub(crate) arguments: Arguments,
}

/// How a call names its tool.
#[derive(Debug, Clone)]
pub(crate) enum Tool {
    /// This very name, which the request must offer.
    Exact(String),
    /// The one offered tool called `name` within the group `of`, whatever prefix and delimiters the client uses.
    Within { of: String, name: String },
    /// This name, offered or not.
    Unchecked(String),
}

/// What a call passes.
#[derive(Debug)]
pub(crate) enum Arguments {
    /// JSON, with captures filled in from the history.
    Json(Template),
    /// These bytes, JSON or not.
    Verbatim(String),
}

/// A failure in place of a turn.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Fail {
    /// An HTTP answer with this status.
    Status {
        /// The status code.
        code: u16,
        /// Extra headers, for example `retry-after`.
        #[serde(default)]
        headers: BTreeMap<String, String>,
        /// The body: a string goes out as it is, anything else as JSON.
        #[serde(default)]
        body: Value,
    },
    /// The connection ends before any header.
    Drop,
    /// Nothing is sent until the client leaves or the tenant is finished.
    Hang,
}

/// One thing wrong on the wire of a streamed turn. Positions count frames from the role frame;
/// a position at or past the finish frame acts just before it, so that no fault is lost on a short turn.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Fault {
    /// The connection ends after that many frames.
    DropAfter(usize),
    /// After that many frames nothing more comes.
    HangAfter(usize),
    /// The body ends properly, but before the finish frame.
    Cut,
    /// After that many frames comes one that is not JSON; the rest follows.
    MalformedAfter(usize),
    /// After that many frames comes an error object, and the body ends.
    ErrorAfter {
        /// How many good frames come first.
        frames: usize,
        /// The value under `error`.
        error: Value,
    },
    /// The stream is sent under this content type.
    ContentType(String),
    /// This `finish_reason` in place of the right one.
    Finish(String),
    /// No `[DONE]` frame.
    NoDone,
    /// No usage frame although it was asked for.
    NoUsage,
    /// Tool-call fragments without `index`.
    NoIndex,
}

impl Script {
    /// Reads and checks a script.
    pub fn from_json(script: &Value) -> Result<Self, ScriptError> {
        read::script(script)
    }
}

impl Fail {
    /// The name under which the journal lists it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Status { .. } => "status",
            Self::Drop => "drop",
            Self::Hang => "hang",
        }
    }
}

impl Fault {
    /// The name under which the journal lists it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::DropAfter(_) => "drop-after",
            Self::HangAfter(_) => "hang-after",
            Self::Cut => "cut",
            Self::MalformedAfter(_) => "malformed-after",
            Self::ErrorAfter { .. } => "error-after",
            Self::ContentType(_) => "content-type",
            Self::Finish(_) => "finish",
            Self::NoDone => "no-done",
            Self::NoUsage => "no-usage",
            Self::NoIndex => "no-index",
        }
    }

    /// Whether any client takes the turn as if nothing were wrong: the OpenAI SDKs and pi-ai all do.
    pub(crate) fn is_harmless(&self) -> bool {
        matches!(self, Self::NoDone | Self::NoUsage)
    }
}
