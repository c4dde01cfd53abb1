//! The frames of a chat-completions stream, as strict clients accept them. Called by the reply writer.
//! It knows the format and its deliberate mutations; it knows nothing of sessions, sockets or time.

use bytes::Bytes;
use serde::Serialize;

use crate::fragment::fragments;

/// What is the same on every frame of a stream, written once.
#[derive(Debug)]
pub(crate) struct Head {
    /// From `data:` to the opening bracket of `choices`.
    opening: Vec<u8>,
    usage: Usage,
    usage_frame: UsageFrame,
}

/// Whether the client gets a usage frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsageFrame {
    /// It asked, so it gets one, and `usage: null` on every other frame.
    Asked,
    /// It asked and gets none: a scripted fault.
    Withheld,
    /// It did not ask.
    Unasked,
}

/// A turn whose tools are resolved and whose arguments are final.
#[derive(Debug, Clone, Default)]
pub(crate) struct Said {
    pub(crate) reasoning: String,
    pub(crate) text: Option<String>,
    pub(crate) calls: Vec<SaidCall>,
}

/// One call, ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct SaidCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// Whether call fragments carry their `index`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallIndex {
    Sent,
    Missing,
}

/// Token counts: made up, but the same every time and never absurd.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Usage {
    prompt_tokens: usize,
    completion_tokens: usize,
    total_tokens: usize,
    prompt_tokens_details: PromptDetails,
    completion_tokens_details: CompletionDetails,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
struct PromptDetails {
    cached_tokens: usize,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
struct CompletionDetails {
    reasoning_tokens: usize,
}

/// The beginning of every chunk; `choices` and `usage` follow.
#[derive(Serialize)]
struct Opening<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: usize,
    delta: Delta<'a>,
    logprobs: (),
    finish_reason: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Delta<'a> {
    Role {
        role: &'static str,
        content: Option<&'static str>,
        refusal: (),
    },
    Reasoning {
        reasoning_content: &'a str,
    },
    Content {
        content: &'a str,
    },
    Calls {
        tool_calls: [CallDelta<'a>; 1],
    },
    Empty {},
}

#[derive(Serialize)]
struct CallDelta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "type")]
    kind: Option<&'static str>,
    function: FunctionDelta<'a>,
}

#[derive(Serialize)]
struct FunctionDelta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    arguments: &'a str,
}

impl Usage {
    /// Four bytes a token; what the session sent before counts as cached.
    pub(crate) fn of(request: usize, cached: usize, said: &Said) -> Self {
        let tokens = |bytes: usize| bytes.div_ceil(4);
        let calls: usize = said
            .calls
            .iter()
            .map(|call| call.name.len() + call.arguments.len())
            .sum();
        let reasoning_tokens = tokens(said.reasoning.len());
        // Reasoning is part of the completion (pi-ai reads it so).
        let completion_tokens =
            reasoning_tokens + tokens(said.text.as_deref().unwrap_or_default().len() + calls);
        let prompt_tokens = tokens(request);
        Self {
            prompt_tokens,
            completion_tokens,
            total_tokens: prompt_tokens + completion_tokens,
            prompt_tokens_details: PromptDetails {
                cached_tokens: tokens(cached).min(prompt_tokens),
            },
            completion_tokens_details: CompletionDetails { reasoning_tokens },
        }
    }
}

impl Said {
    /// The finish reason that belongs to it.
    pub(crate) fn finish(&self) -> &'static str {
        if self.calls.is_empty() {
            "stop"
        } else {
            "tool_calls"
        }
    }
}

impl Head {
    /// Writes what every frame begins with. The model's name is the one in the request; pi-ai notices another.
    pub(crate) fn new(
        id: &str,
        created: u64,
        model: &str,
        (usage_frame, usage): (UsageFrame, Usage),
    ) -> Self {
        let mut opening = b"data: ".to_vec();
        write_json(
            &mut opening,
            &Opening {
                id,
                object: "chat.completion.chunk",
                created,
                model,
            },
        );
        // The object goes on: `choices` takes the place of its closing brace.
        opening.pop();
        opening.extend_from_slice(b",\"choices\":[");
        Self {
            opening,
            usage,
            usage_frame,
        }
    }

    /// The frames before the finish frame: role, reasoning, content, calls.
    pub(crate) fn body(&self, said: &Said, call_index: CallIndex) -> Vec<Bytes> {
        let content = if said.text.is_none() && !said.calls.is_empty() {
            None
        } else {
            Some("")
        };
        let mut frames = vec![self.frame(
            Delta::Role {
                role: "assistant",
                content,
                refusal: (),
            },
            None,
        )];
        for reasoning_content in fragments(&said.reasoning) {
            frames.push(self.frame(Delta::Reasoning { reasoning_content }, None));
        }
        for content in fragments(said.text.as_deref().unwrap_or_default()) {
            frames.push(self.frame(Delta::Content { content }, None));
        }
        for (position, call) in said.calls.iter().enumerate() {
            let index = (call_index == CallIndex::Sent).then_some(position);
            let opening = FunctionDelta {
                name: Some(&call.name),
                arguments: "",
            };
            let header = CallDelta {
                index,
                id: Some(&call.id),
                kind: Some("function"),
                function: opening,
            };
            frames.push(self.frame(
                Delta::Calls {
                    tool_calls: [header],
                },
                None,
            ));
            for arguments in fragments(&call.arguments) {
                let more = CallDelta {
                    index,
                    id: None,
                    kind: None,
                    function: FunctionDelta {
                        name: None,
                        arguments,
                    },
                };
                frames.push(self.frame(Delta::Calls { tool_calls: [more] }, None));
            }
        }
        frames
    }

    /// The finish frame and, if it was asked for, the usage frame.
    pub(crate) fn finish(&self, reason: &str) -> Vec<Bytes> {
        let mut frames = vec![self.frame(Delta::Empty {}, Some(reason))];
        if self.usage_frame == UsageFrame::Asked {
            let mut frame = self.opening.clone();
            frame.extend_from_slice(b"],\"usage\":");
            write_json(&mut frame, &self.usage);
            frame.extend_from_slice(b"}\n\n");
            frames.push(Bytes::from(frame));
        }
        frames
    }

    fn frame(&self, delta: Delta<'_>, finish_reason: Option<&str>) -> Bytes {
        let closing: &[u8] = match self.usage_frame {
            UsageFrame::Unasked => b"]}\n\n",
            UsageFrame::Asked | UsageFrame::Withheld => b"],\"usage\":null}\n\n",
        };
        // Room for a delta with a few words; a longer one grows the frame once.
        let mut frame = Vec::with_capacity(self.opening.len() + 192);
        frame.extend_from_slice(&self.opening);
        write_json(
            &mut frame,
            &Choice {
                index: 0,
                delta,
                logprobs: (),
                finish_reason,
            },
        );
        frame.extend_from_slice(closing);
        Bytes::from(frame)
    }
}

/// The frame that ends a good stream.
pub(crate) fn done() -> Bytes {
    Bytes::from_static(b"data: [DONE]\n\n")
}

/// A frame whose data is not JSON.
pub(crate) fn malformed() -> Bytes {
    Bytes::from_static(b"data: {\"id\":\"broken\",\"choices\":[{\"index\":0,\n\n")
}

/// A frame that carries an error in place of a chunk.
pub(crate) fn error(error: &serde_json::Value) -> Bytes {
    let mut frame = b"data: ".to_vec();
    write_json(&mut frame, &serde_json::json!({ "error": error }));
    frame.extend_from_slice(b"\n\n");
    Bytes::from(frame)
}

fn write_json(frame: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(frame, value)
        .expect("plain structs with text keys always serialise into memory");
}
