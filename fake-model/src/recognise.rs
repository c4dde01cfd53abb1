//! Whose conversation a request belongs to, by what is in it. Called by the desk.
//! It never looks at the order of arrival, at headers or at the connection.

use std::fmt::Write;

use crate::chat::Message;
use crate::script::Session;

/// How much of a text a message quotes.
const QUOTED: usize = 80;

/// A recognised conversation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The session's place in the script.
    pub(crate) session: usize,
    /// The place of the message that opens it.
    pub(crate) message: usize,
}

/// The session of the last user message that begins with an opening; of several openings the longest counts.
/// A child's first message has text after its opening, and a fork carries its parent's messages before its own.
pub(crate) fn recognise(messages: &[Message<'_>], sessions: &[Session]) -> Option<Found> {
    messages
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, message)| message.role == "user")
        .find_map(|(message, user)| {
            let text = user.text();
            sessions
                .iter()
                .enumerate()
                .filter(|(_, session)| text.starts_with(&session.opening))
                .max_by_key(|(_, session)| session.opening.len())
                .map(|(session, _)| Found { session, message })
        })
}

/// Why no session was found: the opening that comes nearest, and where it parts from the message.
pub(crate) fn nearest(messages: &[Message<'_>], sessions: &[Session]) -> String {
    let mut best: Option<(usize, usize, String, &Session)> = None;
    for (index, message) in messages
        .iter()
        .enumerate()
        .filter(|(_, message)| message.role == "user")
    {
        let text = message.text();
        for session in sessions {
            let shared = shared_prefix(&text, &session.opening);
            if best.as_ref().is_none_or(|(most, ..)| shared > *most) {
                best = Some((shared, index, quote(&text), session));
            }
        }
    }
    let mut reason = "no user message starts with the opening of a session".to_owned();
    let written = match best {
        Some((shared, index, text, session)) => write!(
            reason,
            "; nearest is session `{}` step 0: its opening is {:?}, messages[{index}] starts {text}, and they part at byte {shared}",
            session.name, session.opening
        ),
        None => write!(
            reason,
            "; {} messages, {} sessions in the script",
            messages.len(),
            sessions.len()
        ),
    };
    written.expect("writing to a String cannot fail");
    reason
}

/// The beginning of a text, in quotes.
pub(crate) fn quote(text: &str) -> String {
    let end = text
        .char_indices()
        .nth(QUOTED)
        .map_or(text.len(), |(at, _)| at);
    let more = if end < text.len() { "…" } else { "" };
    format!("{:?}{more}", &text[..end])
}

fn shared_prefix(left: &str, right: &str) -> usize {
    left.chars()
        .zip(right.chars())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::chat::Chat;
    use crate::script::Script;

    const SESSIONS: [(&str, &str); 3] = [
        ("main", "[main]"),
        ("child", "[child]"),
        ("child-2", "[child] two"),
    ];

    fn script() -> Script {
        let sessions: Vec<Value> = SESSIONS
            .iter()
            .map(|(name, opening)| json!({"name": name, "opening": opening}))
            .collect();
        Script::from_json(&json!({"sessions": sessions, "replies": []})).unwrap()
    }

    #[track_caller]
    fn check(texts: &[&str], expected: Option<(&str, usize)>) {
        let messages: Vec<Value> = texts
            .iter()
            .map(|text| json!({"role": "user", "content": text}))
            .collect();
        let body = json!({"model": "m", "messages": messages}).to_string();
        let found = recognise(
            &Chat::parse(body.as_bytes()).unwrap().messages,
            &script().sessions,
        );
        assert_eq!(
            found.map(|found| (SESSIONS[found.session].0, found.message)),
            expected
        );
    }

    #[test]
    fn the_last_message_that_opens_a_session_decides() {
        check(&["[main] go", "runtime context"], Some(("main", 0)));
        check(
            &["[main] go", "[child] now you", "context"],
            Some(("child", 1)),
        );
        check(&["say [main]"], None);
    }

    #[test]
    fn the_longest_opening_wins() {
        check(&["[child] two and a tail"], Some(("child-2", 0)));
        check(&["[child] three"], Some(("child", 0)));
    }

    #[test]
    fn a_miss_names_the_nearest_opening() {
        let body = json!({"model": "m", "messages": [{"role": "user", "content": "[chill] two"}]})
            .to_string();
        insta::assert_snapshot!(nearest(&Chat::parse(body.as_bytes()).unwrap().messages, &script().sessions),
            @r#"no user message starts with the opening of a session; nearest is session `child` step 0: its opening is "[child]", messages[0] starts "[chill] two", and they part at byte 5"#);
    }
}
