//! Evidence of plumb's wires to judge, without a run: for the unit tests of the checks beside.

use serde_json::{Value, json};

use super::{BuildFacts, Reading};
use crate::evidence::Evidence;
use crate::evidence::model::ModelEvent;
use crate::evidence::session::SessionLog;
use crate::evidence::tap::{Direction, Frame, Tap};
use crate::plan::Run;
use crate::plan::tests_support::run_with_flips;

/// The id of the session `main`.
pub(super) const SESSION: &str = "session-3f2b8c1a-0d4e-4c7f-9a61-5e8d7b2c4f90";

/// The id that is minted for it.
pub(super) const MINTED: &str = "dsh-ws-3f2b8c1a0d4e";

/// A call on the wire: tool, arguments, answer, and its `_meta`.
pub(super) type Sent = (&'static str, Value, &'static str, Value);

/// One connection of the plugin, with calls of one second each.
pub(super) fn connection(calls: &[Sent]) -> Tap {
    let mut tap = process(&["serve"]);
    tap.frames.push(frame(
        0,
        Direction::ToServer,
        json!({"method": "initialize", "params": {"clientInfo": {"name": "dsh-plumb-identity"}}}),
    ));
    for (idx, (tool, arguments, answer, meta)) in calls.iter().enumerate() {
        let at = (idx as u64 + 1) * 1_000_000;
        let mut params = json!({"name": tool, "arguments": arguments});
        if !meta.is_null() {
            params["_meta"] = meta.clone();
        }
        let sent = json!({"id": idx, "method": "tools/call", "params": params});
        let result = json!({"content": [{"type": "text", "text": answer}], "isError": false});
        tap.frames.push(frame(at, Direction::ToServer, sent));
        tap.frames.push(frame(
            at + 500_000,
            Direction::ToClient,
            json!({"id": idx, "result": result}),
        ));
    }
    tap
}

/// A plumb process with these words.
pub(super) fn process(words: &[&str]) -> Tap {
    Tap {
        file: "mcp/00.jsonl".into(),
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        env: std::collections::BTreeMap::new(),
        env_names: Vec::new(),
        started_us: 0,
        frames: Vec::new(),
        noise: Vec::new(),
        masked: false,
        exit: None,
    }
}

pub(super) fn frame(t_us: u64, direction: Direction, message: Value) -> Frame {
    Frame {
        t_us,
        direction,
        message,
    }
}

/// A conversation in which the model made these plumb calls: tool, arguments, what it was told.
pub(super) fn conversation(calls: &[(&str, Value, &str)]) -> ModelEvent {
    let mut messages = vec![json!({"role": "user", "content": crate::plan::opening("main")})];
    for (idx, (tool, arguments, told)) in calls.iter().enumerate() {
        let id = format!("call-{idx}");
        let function =
            json!({"name": format!("mcp__plumb__{tool}"), "arguments": arguments.to_string()});
        messages
            .push(json!({"role": "assistant", "tool_calls": [{"id": id, "function": function}]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": told}));
    }
    ModelEvent(json!({
        "event": "request", "kind": "main", "session": "main", "launch": "main",
        "body": {"messages": messages},
    }))
}

/// Judges `taps` and a conversation with `check`.
pub(super) fn judged(
    taps: Vec<Tap>,
    model: Vec<ModelEvent>,
    check: impl FnOnce(&Reading<'_>) -> super::Judged,
) -> super::Judged {
    let run: Run = run_with_flips(Vec::new());
    let header = json!({"type": "session", "id": SESSION});
    let opened = json!({"type": "user/message", "data": {"content": crate::plan::opening("main")}});
    let log = SessionLog {
        launch: "main".into(),
        file: "f".into(),
        header,
        events: vec![opened],
        torn: None,
    };
    let evidence = Evidence {
        taps,
        model,
        sessions: vec![log],
        ..Evidence::default()
    };
    check(&Reading::new(&run, &evidence, &BuildFacts::default()))
}
