//! The laws of a conversation on the wire, checked on the messages alone.
//! Called by the desk on every main request. It reports and never refuses: a broken law is an event, not an answer.

use std::collections::HashMap;

use crate::chat::Message;
use crate::event::{Breach, Law};

/// Every law that these messages break, in the order of the messages.
pub(crate) fn breaches(messages: &[Message<'_>]) -> Vec<Breach> {
    let mut reading = Reading::default();
    for (index, message) in messages.iter().enumerate() {
        match &*message.role {
            "system" | "developer" => reading.settle(index),
            "user" => {
                reading.settle(index);
                reading.has_begun = true;
            }
            "assistant" => {
                reading.settle(index);
                reading.assistant(index, message);
            }
            "tool" => reading.result(index, message),
            other => reading.breach(
                Law::IllegalRole,
                format!("messages[{index}] has the role `{other}`"),
            ),
        }
    }
    reading.settle(messages.len());
    let last = messages.last().map(|message| &*message.role);
    if !matches!(last, Some("user" | "tool")) {
        reading.breach(
            Law::IllegalOrder,
            format!(
                "the last message is of role `{}`; user or tool must be",
                last.unwrap_or("none")
            ),
        );
    }
    reading.breaches
}

/// A call id as the history shows it.
enum Standing {
    Open,
    Answered,
    Abandoned,
}

#[derive(Default)]
struct Reading<'m> {
    calls: HashMap<&'m str, Standing>,
    open: Vec<&'m str>,
    has_begun: bool,
    breaches: Vec<Breach>,
}

impl<'m> Reading<'m> {
    fn breach(&mut self, law: Law, detail: String) {
        self.breaches.push(Breach { law, detail });
    }

    /// No more results can come for the calls that are open: something else follows.
    fn settle(&mut self, index: usize) {
        for id in std::mem::take(&mut self.open) {
            self.calls.insert(id, Standing::Abandoned);
            self.breach(
                Law::UnansweredCall,
                format!("call `{id}` has no result before messages[{index}]"),
            );
        }
    }

    fn assistant(&mut self, index: usize, message: &'m Message<'_>) {
        if !self.has_begun {
            self.breach(
                Law::IllegalOrder,
                format!("messages[{index}] is of role `assistant` before any user message"),
            );
        }
        for call in message.calls() {
            if self.calls.insert(&call.id, Standing::Open).is_some() {
                self.breach(
                    Law::DuplicateCallId,
                    format!("messages[{index}] uses the call id `{}` again", call.id),
                );
            } else {
                self.open.push(&call.id);
            }
        }
    }

    fn result(&mut self, index: usize, message: &'m Message<'_>) {
        let id = message.tool_call_id.as_deref().unwrap_or_default();
        match self.calls.get_mut(id) {
            Some(standing @ Standing::Open) => {
                *standing = Standing::Answered;
                self.open.retain(|open| *open != id);
            }
            Some(Standing::Answered) => {
                self.breach(
                    Law::AnsweredTwice,
                    format!("messages[{index}] answers the call `{id}` again"),
                );
            }
            Some(Standing::Abandoned) => {
                self.breach(
                    Law::IllegalOrder,
                    format!("messages[{index}] answers the call `{id}` too late"),
                );
            }
            None => self.breach(
                Law::OrphanResult,
                format!("messages[{index}] answers `{id}`, which nobody called"),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::chat::Chat;

    #[track_caller]
    fn check(messages: &Value, expected: &[Law]) {
        let body = json!({"model": "m", "messages": messages}).to_string();
        let chat = Chat::parse(body.as_bytes()).unwrap();
        let found: Vec<Law> = breaches(&chat.messages)
            .into_iter()
            .map(|breach| breach.law)
            .collect();
        assert_eq!(found, expected);
    }

    fn user() -> Value {
        json!({"role": "user", "content": "u"})
    }

    fn calls(ids: &[&str]) -> Value {
        let calls: Vec<Value> = ids.iter().map(|id| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}})).collect();
        json!({"role": "assistant", "content": null, "tool_calls": calls})
    }

    fn result(id: &str) -> Value {
        json!({"role": "tool", "tool_call_id": id, "content": "r"})
    }

    #[test]
    fn a_tool_loop_breaks_no_law() {
        check(
            &json!([{"role": "system", "content": "s"}, user(), calls(&["a", "b"]), result("a"), result("b"), user()]),
            &[],
        );
        check(
            &json!([user(), calls(&["a", "b"]), result("b"), result("a")]),
            &[],
        );
    }

    #[test]
    fn each_call_is_answered_exactly_once() {
        check(
            &json!([user(), calls(&["a"]), user()]),
            &[Law::UnansweredCall],
        );
        check(
            &json!([user(), calls(&["a"]), result("a"), result("a")]),
            &[Law::AnsweredTwice],
        );
        check(
            &json!([user(), calls(&["a"]), user(), result("a")]),
            &[Law::UnansweredCall, Law::IllegalOrder],
        );
    }

    #[test]
    fn a_result_needs_a_call_and_an_id_is_used_once() {
        check(&json!([user(), result("x")]), &[Law::OrphanResult]);
        check(
            &json!([user(), calls(&["a"]), result("a"), calls(&["a"]), user()]),
            &[Law::DuplicateCallId],
        );
    }

    #[test]
    fn roles_and_order_are_legal() {
        check(
            &json!([{"role": "robot", "content": "x"}, user()]),
            &[Law::IllegalRole],
        );
        check(&json!([calls(&[]), user()]), &[Law::IllegalOrder]);
        check(&json!([user(), calls(&[])]), &[Law::IllegalOrder]);
        check(&json!([]), &[Law::IllegalOrder]);
    }
}
