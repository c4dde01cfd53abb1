//! A chat-completions request as the server reads it: borrowed from the body, tolerant of what it does not need.
//! Read by the desk. It judges nothing; what is missing is simply absent here.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The part of the request body that matters to a script.
#[derive(Debug, Deserialize)]
pub(crate) struct Chat<'a> {
    #[serde(borrow, default)]
    pub(crate) model: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) messages: Vec<Message<'a>>,
    #[serde(default)]
    pub(crate) stream: Option<bool>,
    #[serde(default)]
    pub(crate) stream_options: Option<StreamOptions>,
    /// The tools exactly as they were sent; absent in a title request.
    #[serde(borrow, default)]
    pub(crate) tools: Option<&'a RawValue>,
}

/// What the client wants beside the deltas.
#[derive(Debug, Deserialize)]
pub(crate) struct StreamOptions {
    #[serde(default)]
    pub(crate) include_usage: Option<bool>,
}

/// One message of the history.
#[derive(Debug, Deserialize)]
pub(crate) struct Message<'a> {
    #[serde(borrow)]
    pub(crate) role: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
    #[serde(borrow, default)]
    pub(crate) tool_call_id: Option<Cow<'a, str>>,
}

/// A tool call that an assistant message repeats.
#[derive(Debug, Deserialize)]
pub(crate) struct ToolCall<'a> {
    #[serde(borrow, default)]
    pub(crate) id: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) function: Function<'a>,
}

/// The function of a call.
#[derive(Debug, Deserialize)]
pub(crate) struct Function<'a> {
    #[serde(borrow)]
    pub(crate) name: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(#[serde(borrow)] Cow<'a, str>),
    Parts(#[serde(borrow)] Vec<Part<'a>>),
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Offered<'a> {
    #[serde(borrow)]
    function: Function<'a>,
}

impl<'a> Chat<'a> {
    /// Parses a body.
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(body)
    }

    /// Whether the client asked for a usage frame.
    pub(crate) fn wants_usage(&self) -> bool {
        self.stream_options
            .as_ref()
            .and_then(|options| options.include_usage)
            .unwrap_or(false)
    }

    /// The texts a capture may look at, oldest first: user messages and tool results.
    pub(crate) fn heard(&self) -> Vec<Cow<'a, str>> {
        self.messages
            .iter()
            .filter(|message| matches!(&*message.role, "user" | "tool"))
            .map(Message::text)
            .collect()
    }
}

impl<'a> Message<'a> {
    /// The text of the message; parts are joined, and no content is the empty text.
    pub(crate) fn text(&self) -> Cow<'a, str> {
        let Some(content) = self.content else {
            return Cow::Borrowed("");
        };
        match serde_json::from_str(content.get()) {
            Ok(Content::Text(text)) => text,
            Ok(Content::Parts(parts)) => parts
                .into_iter()
                .map(|part| part.text)
                .collect::<String>()
                .into(),
            Err(_) => Cow::Borrowed(""),
        }
    }

    /// The calls of an assistant message.
    pub(crate) fn calls(&self) -> &[ToolCall<'a>] {
        self.tool_calls.as_deref().unwrap_or_default()
    }
}

/// The names of the tools that a request offers.
pub(crate) fn tool_names(tools: &RawValue) -> Result<Vec<String>, serde_json::Error> {
    let offered: Vec<Offered<'_>> = serde_json::from_str(tools.get())?;
    Ok(offered
        .into_iter()
        .map(|tool| tool.function.name.into_owned())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_from_a_string_and_from_parts() {
        let body = br#"{"model":"m","messages":[
            {"role":"user","content":"a\u00e9\n"},
            {"role":"user","content":[{"type":"text","text":"b"},{"type":"image_url","image_url":{}},{"type":"text","text":"c"}]},
            {"role":"assistant","content":null}]}"#;
        let chat = Chat::parse(body).unwrap();
        let texts: Vec<_> = chat.messages.iter().map(Message::text).collect();
        assert_eq!(texts, ["a\u{e9}\n", "bc", ""]);
        assert_eq!(chat.heard(), ["a\u{e9}\n", "bc"]);
        assert!(chat.tools.is_none());
    }
}
