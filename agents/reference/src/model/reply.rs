//! Puts a streamed reply together: text, reasoning and tool calls, whose pieces are joined by index.
//!
//! Fed by the client with one chunk after the other. It must never turn an unfinished reply into a finished one, lose
//! a call, or give two calls one id.

use serde_json::Value;

/// A tool call of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Its id, unique in the reply.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments, as the model wrote them.
    pub arguments: String,
}

/// A whole reply.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// What it says.
    pub text: String,
    /// What it thought.
    pub reasoning: String,
    /// What it calls.
    pub calls: Vec<Call>,
    /// What it cost, as the server counted.
    pub usage: Option<Value>,
}

/// A reply that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// A chunk cannot be read.
    #[error("a chunk of the stream is no JSON: {what}")]
    NotJson {
        /// What the parser says.
        what: String,
    },
    /// The server reported an error in the stream.
    #[error("the server reported: {message}")]
    Reported {
        /// What it says.
        message: String,
    },
    /// The stream ended too early.
    #[error("the stream ended without a finish_reason")]
    Unfinished,
    /// The reply was cut.
    #[error("the reply was cut: finish_reason `{reason}`")]
    Cut {
        /// Why.
        reason: String,
    },
    /// A call cannot be answered.
    #[error("tool call {at} has {what}")]
    BadCall {
        /// Its place in the reply, from 0.
        at: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Nothing was said and nothing called.
    #[error("the reply is empty")]
    Empty,
}

/// A reply of which pieces are still to come.
#[derive(Debug, Default)]
pub struct Assembly {
    reply: Reply,
    indices: Vec<Option<u64>>,
    finish: Option<String>,
}

impl Assembly {
    /// Takes the data of one event.
    pub fn push(&mut self, data: &str) -> Result<(), ReplyError> {
        let chunk: Value = serde_json::from_str(data).map_err(|error| ReplyError::NotJson {
            what: error.to_string(),
        })?;
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            let message = error
                .get("message")
                .and_then(Value::as_str)
                .map_or_else(|| error.to_string(), str::to_owned);
            return Err(ReplyError::Reported { message });
        }
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            self.reply.usage = Some(usage.clone());
        }
        let Some(choice) = chunk.pointer("/choices/0") else {
            return Ok(());
        };
        if let Some(delta) = choice.get("delta") {
            self.join(delta);
        }
        // An empty reason is none: more may follow it.
        if let Some(reason) = choice
            .get("finish_reason")
            .and_then(Value::as_str)
            .filter(|reason| !reason.is_empty())
        {
            self.finish = Some(reason.to_owned());
        }
        Ok(())
    }

    /// The reply, once the stream is over.
    pub fn finish(self) -> Result<Reply, ReplyError> {
        match self.finish.as_deref() {
            None => return Err(ReplyError::Unfinished),
            Some(reason @ ("length" | "content_filter")) => {
                return Err(ReplyError::Cut {
                    reason: reason.to_owned(),
                });
            }
            Some(_) => {}
        }
        for (at, call) in self.reply.calls.iter().enumerate() {
            let bad = |what| Err(ReplyError::BadCall { at, what });
            if call.id.is_empty() {
                return bad("no id");
            }
            if call.name.is_empty() {
                return bad("no name");
            }
            if self.reply.calls[..at]
                .iter()
                .any(|earlier| earlier.id == call.id)
            {
                return bad("the id of an earlier call");
            }
        }
        if self.reply.calls.is_empty() && self.reply.text.trim().is_empty() {
            return Err(ReplyError::Empty);
        }
        Ok(self.reply)
    }

    fn join(&mut self, delta: &Value) {
        let text = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        self.reply.text.push_str(text("content"));
        self.reply.reasoning.push_str(text("reasoning_content"));
        self.reply.reasoning.push_str(text("reasoning"));
        for piece in delta
            .get("tool_calls")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let at = self.place(piece);
            let field = |pointer: &str| {
                piece
                    .pointer(pointer)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
            };
            let call = &mut self.reply.calls[at];
            for (part, pointer) in [(&mut call.id, "/id"), (&mut call.name, "/function/name")] {
                // Some servers repeat id and name on every piece.
                if part.is_empty() {
                    field(pointer).clone_into(part);
                }
            }
            call.arguments.push_str(field("/function/arguments"));
        }
    }

    /// Where a piece belongs: by its index; without one, a new id begins a new call and no id continues the last.
    fn place(&mut self, piece: &Value) -> usize {
        let index = piece.get("index").and_then(Value::as_u64);
        let id = piece
            .get("id")
            .and_then(Value::as_str)
            .filter(|id| !id.is_empty());
        let known = match (index, id) {
            (Some(_), _) => self.indices.iter().position(|seen| *seen == index),
            (None, Some(id)) => self.reply.calls.iter().rposition(|call| call.id == id),
            (None, None) => self.reply.calls.len().checked_sub(1),
        };
        known.unwrap_or_else(|| {
            self.indices.push(index);
            self.reply.calls.push(Call {
                id: String::new(),
                name: String::new(),
                arguments: String::new(),
            });
            self.reply.calls.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn assembled(chunks: &[Value]) -> Result<Reply, ReplyError> {
        let mut assembly = Assembly::default();
        for chunk in chunks {
            assembly.push(&chunk.to_string())?;
        }
        assembly.finish()
    }

    fn delta(delta: &Value) -> Value {
        json!({"choices": [{"index": 0, "delta": delta}]})
    }

    fn finish(reason: &str) -> Value {
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    }

    fn piece(index: Option<u64>, id: &str, arguments: &str) -> Value {
        let mut piece = json!({"function": {"arguments": arguments}});
        if let Some(index) = index {
            piece["index"] = json!(index);
        }
        if !id.is_empty() {
            piece["id"] = json!(id);
            piece["function"]["name"] = json!("bash");
        }
        delta(&json!({"tool_calls": [piece]}))
    }

    #[test]
    fn parallel_calls_are_told_apart_by_index() {
        let reply = assembled(&[
            piece(Some(0), "a", "{\"x\""),
            piece(Some(1), "b", "{"),
            piece(Some(0), "", ":1}"),
            piece(Some(1), "", "}"),
            finish("tool_calls"),
        ]);
        let calls = reply.unwrap().calls;
        assert_eq!(
            calls
                .iter()
                .map(|call| call.arguments.as_str())
                .collect::<Vec<_>>(),
            ["{\"x\":1}", "{}"]
        );
    }

    #[test]
    fn without_an_index_a_new_id_begins_a_new_call() {
        let reply = assembled(&[
            piece(None, "a", "{"),
            piece(None, "", "}"),
            piece(None, "b", "{}"),
            finish("stop"),
        ]);
        let calls = reply.unwrap().calls;
        assert_eq!(
            calls
                .iter()
                .map(|call| call.arguments.as_str())
                .collect::<Vec<_>>(),
            ["{}", "{}"]
        );
    }

    #[track_caller]
    fn refused(chunks: &[Value], expected: &str) {
        assert_eq!(assembled(chunks).unwrap_err().to_string(), expected);
    }

    #[test]
    fn an_unfinished_reply_is_no_reply() {
        let text = delta(&json!({"content": "half"}));
        refused(
            std::slice::from_ref(&text),
            "the stream ended without a finish_reason",
        );
        refused(
            &[text.clone(), finish("")],
            "the stream ended without a finish_reason",
        );
        refused(
            &[text, finish("length")],
            "the reply was cut: finish_reason `length`",
        );
        refused(&[finish("stop")], "the reply is empty");
    }

    #[test]
    fn a_call_that_cannot_be_answered_is_named() {
        refused(
            &[piece(Some(0), "", "{}"), finish("stop")],
            "tool call 0 has no id",
        );
        refused(
            &[
                piece(Some(0), "a", "{}"),
                piece(Some(1), "a", "{}"),
                finish("stop"),
            ],
            "tool call 1 has the id of an earlier call",
        );
    }

    #[test]
    fn an_error_in_the_stream_is_the_servers_own_words() {
        refused(
            &[json!({"error": {"message": "no more"}})],
            "the server reported: no more",
        );
    }

    proptest! {
        #[test]
        fn arguments_come_out_whole_however_they_were_cut(
            arguments in proptest::collection::vec("[a-z{}\":, ]{0,12}", 1..4),
            size in 1usize..5,
        ) {
            let mut chunks = Vec::new();
            let pieces: Vec<Vec<char>> = arguments.iter().map(|text| text.chars().collect()).collect();
            for (at, text) in pieces.iter().enumerate() {
                chunks.push(piece(Some(at as u64), &format!("id-{at}"), &text.iter().take(size).collect::<String>()));
            }
            for round in 1..12 {
                for (at, text) in pieces.iter().enumerate() {
                    let part: String = text.iter().skip(round * size).take(size).collect();
                    chunks.push(piece(Some(at as u64), "", &part));
                }
            }
            chunks.push(finish("tool_calls"));
            let reply = assembled(&chunks).unwrap();
            prop_assert_eq!(reply.calls.into_iter().map(|call| call.arguments).collect::<Vec<_>>(), arguments);
        }
    }
}
