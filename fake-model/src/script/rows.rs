//! The JSON of a script, as types: what may be written, before it is checked. Read by `read` alone.
//! Each struct refuses unknown keys; nothing here is public, so the format can be told from these types and from nowhere else.

use std::num::NonZeroU32;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{Fail, Fault};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptRow {
    pub(super) sessions: Vec<SessionRow>,
    pub(super) replies: Vec<ReplyRow>,
    #[serde(default)]
    pub(super) title: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionRow {
    pub(super) name: String,
    pub(super) opening: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplyRow {
    pub(super) session: String,
    pub(super) step: usize,
    #[serde(default)]
    pub(super) gates: Vec<String>,
    pub(super) reply: ReplyBody,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplyBody {
    pub(super) say: Option<String>,
    pub(super) calls: Option<Vec<CallRow>>,
    pub(super) fail: Option<Fail>,
    pub(super) text: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) fault: Option<Fault>,
    pub(super) times: Option<NonZeroU32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallRow {
    pub(super) id: Option<String>,
    pub(super) tool: ToolRow,
    /// `null` is an argument like any other; only a missing key is absent.
    #[serde(default, deserialize_with = "given")]
    pub(super) arguments: Option<Value>,
    pub(super) arguments_raw: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolRow {
    pub(super) name: Option<String>,
    pub(super) of: Option<String>,
    pub(super) raw: Option<String>,
}

fn given<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}
