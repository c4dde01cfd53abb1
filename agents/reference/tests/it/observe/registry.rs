//! The registry: what it refuses, what it gives, what it forgets.

use serde_json::{Value, json};

use super::{Seen, Subject};
use crate::room::Room;

/// A declaration, and whether it is refused only when its resolver runs.
const ROWS: [(&str, &str); 14] = [
    (
        "duplicate-name",
        r#"{"name": "good", "variables": ["DSH_B"], "values": {"DSH_B": "b"}}"#,
    ),
    (
        "duplicate-key",
        r#"{"variables": ["DSH_A"], "values": {"DSH_A": "b"}}"#,
    ),
    (
        "reserved-key",
        r#"{"variables": ["DSH_SHELL"], "values": {"DSH_SHELL": "1"}}"#,
    ),
    ("blank-name", r#"{"name": " ", "variables": ["DSH_B"]}"#),
    (
        "no-name",
        r#"{"missing": ["name"], "variables": ["DSH_B"]}"#,
    ),
    ("no-keys", r#"{"variables": []}"#),
    ("missing-keys", r#"{"missing": ["variables"]}"#),
    ("bad-key", r#"{"variables": ["DSH_lower"]}"#),
    ("no-description", r#"{"variables": {"DSH_B": null}}"#),
    (
        "no-resolver",
        r#"{"missing": ["resolve"], "variables": ["DSH_B"]}"#,
    ),
    (
        "undeclared",
        r#"{"behaviour": "undeclared", "variables": ["DSH_B"]}"#,
    ),
    (
        "reserved-value",
        r#"{"behaviour": "reserved", "variables": ["DSH_B"]}"#,
    ),
    (
        "non-string",
        r#"{"behaviour": "nonstring", "variables": ["DSH_B"]}"#,
    ),
    (
        "throws",
        r#"{"behaviour": "throws", "variables": ["DSH_B"]}"#,
    ),
];

pub(crate) fn look(subject: Subject<'_>, seen: &mut Seen) {
    if !subject.revision.has_registry() {
        return;
    }
    let room = Room::new();
    let execute = |operations: &[Value]| {
        room.execute(room.settings(subject.revision, subject.faults), operations)
    };
    let good = json!({"op": "register", "contributor": "good", "variables": ["DSH_A"], "behaviour": "counting"});
    let show = |name: &str| json!({"op": "tool", "name": "bash", "arguments": {"command": format!("echo ${name}")}});
    for (name, row) in ROWS {
        let mut attempt: Value = serde_json::from_str(row).unwrap();
        attempt["op"] = json!("register");
        attempt["contributor"] = json!("tried");
        let outcomes = execute(&[
            good.clone(),
            attempt,
            json!({"op": "list"}),
            json!({"op": "collect"}),
        ]);
        let refusal = outcomes[1]["error"]["message"]
            .as_str()
            .unwrap_or("(accepted)");
        seen.put(&format!("registry/{name}/registered"), refusal);
        if refusal != "(accepted)" {
            seen.json(
                &format!("registry/{name}/left"),
                &outcomes[2]["value"]["declared"],
            );
        }
        let works = outcomes[3]["ok"].as_bool().unwrap();
        seen.put(
            &format!("registry/{name}/call"),
            if works { "works" } else { "fails" },
        );
    }
    let outcomes = execute(&[
        good,
        show("DSH_A"),
        json!({"op": "list"}),
        show("DSH_A"),
        json!({"op": "reload_contributor", "contributor": "good", "behaviour": "values", "values": {"DSH_A": "new"}}),
        show("DSH_A"),
        json!({"op": "dispose_contributor", "contributor": "good"}),
        show("DSH_A"),
        json!({"op": "register", "contributor": "good", "variables": ["DSH_A"], "behaviour": "none"}),
    ]);
    let text = |at: usize| {
        outcomes[at]["value"]["text"]
            .as_str()
            .unwrap_or("(none)")
            .to_owned()
    };
    seen.put("registry/good/first", &text(1));
    seen.put("registry/good/second", &text(3));
    let listed = &outcomes[2]["value"];
    seen.put(
        "registry/good/list-runs-nothing",
        &(listed["before"] == listed["after"]).to_string(),
    );
    seen.put(
        "registry/good/reload",
        outcomes[4]["error"]["message"].as_str().unwrap_or("works"),
    );
    seen.put("registry/good/reloaded", &text(5));
    seen.put("registry/good/disposed", &text(7));
    seen.put(
        "registry/good/again",
        outcomes[8]["error"]["message"].as_str().unwrap_or("works"),
    );
}
