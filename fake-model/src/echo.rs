//! Does the history repeat what this server said? Called by the desk with the messages after a session's opening.
//! A turn that reached the client whole must be there, unchanged; one that was broken on the wire may be missing or partial.

use crate::chat::Message;

/// A turn as it was sent.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) step: usize,
    pub(crate) text: Option<String>,
    /// Ids and names of the calls, in order.
    pub(crate) calls: Vec<(String, String)>,
    pub(crate) arrival: Arrival,
}

/// How much of a turn the client must have taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Not all of it is sent; it never will be if the client has left.
    UnderWay,
    /// All of it.
    Whole,
    /// Any part, or nothing: a fault was scripted.
    Broken,
}

/// The first way in which the assistant turns differ from what was sent.
pub(crate) fn difference(messages: &[Message<'_>], sent: &[Sent]) -> Option<String> {
    let mut left = sent.iter().enumerate();
    for message in messages
        .iter()
        .filter(|message| message.role == "assistant")
    {
        loop {
            let Some((index, turn)) = left.next() else {
                return Some(format!(
                    "the history has {} which was never sent",
                    describe(message)
                ));
            };
            if is_echo(message, turn) {
                break;
            }
            if turn.arrival == Arrival::Whole {
                return Some(format!(
                    "step {} was sent with {}; the history has {}",
                    turn.step,
                    describe_sent(turn),
                    describe(message)
                ));
            }
            // Of a broken turn the history may hold a part; unless the message is a later turn, this is it.
            if !sent
                .iter()
                .skip(index + 1)
                .any(|later| is_echo(message, later))
            {
                break;
            }
        }
    }
    left.find(|(_, turn)| turn.arrival == Arrival::Whole)
        .map(|(_, turn)| {
            format!(
                "step {} was sent with {}; the history has nothing of it",
                turn.step,
                describe_sent(turn)
            )
        })
}

fn is_echo(message: &Message<'_>, turn: &Sent) -> bool {
    let calls = message.calls();
    calls.len() == turn.calls.len()
        && calls
            .iter()
            .zip(&turn.calls)
            .all(|(call, (id, name))| call.id == *id && call.function.name == *name)
        && message.text() == turn.text.as_deref().unwrap_or_default()
}

fn describe(message: &Message<'_>) -> String {
    let calls: Vec<String> = message
        .calls()
        .iter()
        .map(|call| format!("{} {}", call.id, call.function.name))
        .collect();
    format!("text {:?} and calls {calls:?}", message.text())
}

fn describe_sent(turn: &Sent) -> String {
    let calls: Vec<String> = turn
        .calls
        .iter()
        .map(|(id, name)| format!("{id} {name}"))
        .collect();
    format!(
        "text {:?} and calls {calls:?}",
        turn.text.as_deref().unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::chat::Chat;

    fn said(text: &str, arrival: Arrival) -> Sent {
        Sent {
            step: 0,
            text: Some(text.to_owned()),
            calls: Vec::new(),
            arrival,
        }
    }

    fn called(id: &str) -> Sent {
        Sent {
            step: 0,
            text: None,
            calls: vec![(id.to_owned(), "bash".to_owned())],
            arrival: Arrival::Whole,
        }
    }

    fn compare(messages: &Value, sent: &[Sent]) -> Option<String> {
        let body = json!({"model": "m", "messages": messages}).to_string();
        difference(&Chat::parse(body.as_bytes()).unwrap().messages, sent)
    }

    #[test]
    fn whole_turns_must_be_repeated() {
        let turn = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "function": {"name": "bash", "arguments": "{}"}}]});
        assert_eq!(compare(&json!([turn]), &[called("c1")]), None);
        insta::assert_snapshot!(compare(&json!([turn]), &[called("c2")]).unwrap(),
            @r#"step 0 was sent with text "" and calls ["c2 bash"]; the history has text "" and calls ["c1 bash"]"#);
        insta::assert_snapshot!(compare(&json!([]), &[called("c1")]).unwrap(),
            @r#"step 0 was sent with text "" and calls ["c1 bash"]; the history has nothing of it"#);
        insta::assert_snapshot!(compare(&json!([turn]), &[]).unwrap(),
            @r#"the history has text "" and calls ["c1 bash"] which was never sent"#);
    }

    #[test]
    fn a_broken_turn_may_be_missing_or_partial() {
        let say = |text: &str| json!({"role": "assistant", "content": text});
        let sent = [
            said("half of it", Arrival::Broken),
            said("then", Arrival::Whole),
        ];
        assert_eq!(compare(&json!([say("then")]), &sent), None);
        assert_eq!(compare(&json!([say("half"), say("then")]), &sent), None);
        assert!(compare(&json!([say("half")]), &sent).is_some());
    }
}
