//! One line, one JSON object: reading and writing JSON-RPC.
//!
//! Used by the daemon and by serve. Any bytes are a frame of some kind; nothing here can fail.

use serde_json::{Map, Value, json};

/// JSON-RPC's codes that plumb uses.
pub(crate) const PARSE_ERROR: i64 = -32700;
pub(crate) const NOT_FOUND: i64 = -32601;
pub(crate) const SERVER_ERROR: i64 = -32000;

/// What a line is.
#[derive(Debug)]
pub(crate) enum Frame {
    Request {
        id: Value,
        method: String,
        params: Map<String, Value>,
    },
    Notification {
        method: String,
    },
    /// An answer to a request of ours; the error is of no interest.
    Response {
        id: Value,
        result: Option<Value>,
    },
    /// A batch, or an object that is neither: plumb says nothing.
    Ignored,
    Malformed {
        why: String,
    },
}

impl Frame {
    pub(crate) fn read(line: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(line) {
            Err(error) => Self::Malformed {
                why: error.to_string(),
            },
            Ok(Value::Object(object)) => Self::of(object),
            Ok(Value::Array(_)) => Self::Ignored,
            Ok(_) => Self::Malformed {
                why: "a frame is a JSON object".to_owned(),
            },
        }
    }

    fn of(mut object: Map<String, Value>) -> Self {
        let id = object.remove("id").filter(|id| !id.is_null());
        let Some(Value::String(method)) = object.remove("method") else {
            return match id {
                Some(id) => Self::Response {
                    id,
                    result: object.remove("result"),
                },
                None => Self::Ignored,
            };
        };
        let Some(id) = id else {
            return Self::Notification { method };
        };
        let params = match object.remove("params") {
            Some(Value::Object(params)) => params,
            _ => Map::new(),
        };
        Self::Request { id, method, params }
    }
}

/// The `_meta` of parameters, made if it is missing; one that is no object is replaced.
pub(crate) fn meta_of(params: &mut Map<String, Value>) -> &mut Map<String, Value> {
    let meta = params.entry("_meta").or_insert(Value::Null);
    if !meta.is_object() {
        *meta = json!({});
    }
    meta.as_object_mut()
        .expect("it was made an object just above")
}

/// A successful answer.
pub(crate) fn answer(id: &Value, result: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}

/// An error answer; `id` is null if the request could not be read.
pub(crate) fn error(id: &Value, code: i64, message: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }).to_string()
}

/// An error answer with data.
pub(crate) fn error_with(id: &Value, code: i64, message: &str, data: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message, "data": data } }).to_string()
}

/// The answer to a line that is not JSON.
pub(crate) fn parse_error(why: &str) -> String {
    error(&Value::Null, PARSE_ERROR, &format!("parse error: {why}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_not_json_is_answered_with_a_null_id() {
        assert!(matches!(Frame::read(b"}{"), Frame::Malformed { .. }));
        assert!(matches!(Frame::read(b"[{}]"), Frame::Ignored));
        assert!(
            parse_error("x").starts_with(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700"#)
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_some_frame(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            drop(Frame::read(&bytes));
        }
    }
}
