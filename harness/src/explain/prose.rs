//! A scenario as prose: what happens, what is expected, what turns it red.
//!
//! Called by `explain ID` and by the generator of `docs/scenarios.md`. The kind of an expectation is read from the
//! file's own keys, so that a new kind needs no line here. It must never say what a scenario does not state.

#![expect(
    clippy::let_underscore_must_use,
    reason = "writing into a String cannot fail"
)]

use std::fmt::Write as _;

use crate::library::Entry;
use crate::scenario::{Addressee, Call, Command, Expect, Fact, Model, Red, Step};

/// Keys of an expectation that are not its kind.
const NOT_A_KIND: [&str; 4] = ["check", "clause", "revisions", "builds"];

/// The scenario as a section of Markdown, which is readable as it stands.
pub fn section(entry: &Entry) -> String {
    let file = &entry.scenario.file;
    let mut text = format!(
        "## {}\n\n**{}**\n\n{}\n",
        entry.scenario.id,
        file.title,
        file.why.trim()
    );
    if let Some(builds) = &file.builds {
        let _ = write!(text, "\nOnly on {}.\n", builds.join(", "));
    }
    if !file.step.is_empty() {
        text.push('\n');
        for (idx, step) in file.step.iter().enumerate() {
            let _ = writeln!(text, "{}. {}", idx + 1, step_in_words(step));
        }
    }
    if !file.expect.is_empty() {
        text.push_str("\n| check | clauses | looks at | only |\n|---|---|---|---|\n");
        let kinds = kinds(&entry.text);
        for (idx, expect) in file.expect.iter().enumerate() {
            let kind = kinds.get(idx).map_or("", String::as_str);
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} |",
                expect.check,
                expect.clause.join(", "),
                kind.replace('_', " "),
                only(expect)
            );
        }
    }
    if !file.case.is_empty() {
        let names: Vec<&str> = file.case.iter().map(|case| case.name.as_str()).collect();
        let _ = write!(text, "\nAlso run as: {}.\n", names.join(", "));
    }
    if !file.red.is_empty() {
        text.push_str("\nMust turn red:\n\n");
        for red in &file.red {
            let _ = writeln!(text, "- {}", control(red));
        }
    }
    text
}

/// The kind of each expectation of a scenario's text, in order.
fn kinds(text: &str) -> Vec<String> {
    let Ok(table) = text.parse::<toml::Table>() else {
        return Vec::new();
    };
    table
        .get("expect")
        .and_then(toml::Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(toml::Value::as_table)
        .map(|expect| {
            expect
                .keys()
                .find(|key| !NOT_A_KIND.contains(&key.as_str()))
                .cloned()
                .unwrap_or_default()
        })
        .collect()
}

fn only(expect: &Expect) -> String {
    let revisions = expect.revisions.iter().flatten();
    let builds = expect.builds.iter().flatten();
    revisions
        .chain(builds)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ")
}

fn control(red: &Red) -> String {
    let turns: Vec<String> = red
        .flips
        .iter()
        .map(|flip| format!("{} ({})", flip.check, flip.class.code()))
        .collect();
    let mut place = String::new();
    if let Some(case) = &red.case {
        let _ = write!(place, ", as {case}");
    }
    if let Some(builds) = &red.builds {
        let _ = write!(place, ", on {}", builds.join(", "));
    }
    format!("{}{place}: {}", red.title, turns.join(", "))
}

fn step_in_words(step: &Step) -> String {
    match step {
        Step::Model(model) => reply(model),
        Step::Gate(gate) => {
            let of = gate.of.as_deref().unwrap_or("main");
            let fact = match gate.until {
                Fact::Declared => format!("session `{of}` has declared itself at plumb"),
                Fact::ConnectionEnded => format!("the connection of session `{of}` has ended"),
                Fact::Probed => format!("probe `{of}` has written"),
                Fact::Holding => format!("command `{of}` stands and waits"),
                Fact::Exited => format!("launch `{of}` has ended"),
            };
            format!(
                "Wait until {fact}, {} s at most.",
                gate.within.as_secs_f32()
            )
        }
        Step::Note(note) => {
            let to = match &note.to {
                Addressee::Next(_) => "whoever comes next".to_owned(),
                Addressee::SessionOf(session) => format!("the plumb session of `{session}`"),
            };
            format!("A stranger leaves the note “{}” for {to}.", note.text)
        }
        Step::Start(named) => format!("Launch `{}` starts.", named.launch),
        Step::Open(open) => format!("Command `{}` may go on.", open.hold),
        Step::Signal(signal) => format!("Launch `{}` is sent {}.", signal.launch, signal.name),
    }
}

fn reply(model: &Model) -> String {
    let session = model.session.as_deref().unwrap_or("main");
    if let Some(text) = &model.say {
        return format!("The model says “{text}” to `{session}`.");
    }
    if model.fail.is_some() {
        return format!("The model's reply to `{session}` fails.");
    }
    let calls: Vec<String> = model
        .call
        .iter()
        .chain(model.calls.iter().flatten())
        .map(call_in_words)
        .collect();
    format!("The model has `{session}` {}.", calls.join(" and "))
}

fn call_in_words(call: &Call) -> String {
    if let Some(commands) = &call.bash {
        let done: Vec<String> = commands.iter().map(command_in_words).collect();
        let where_to = if call.background == Some(true) {
            "in a background command"
        } else {
            "in bash"
        };
        return format!("{} {where_to}", done.join(", then "));
    }
    if let Some(tool) = &call.tool {
        return format!("call `{tool}`");
    }
    if let Some(child) = &call.spawn {
        return format!("delegate to `{child}`");
    }
    if let Some(child) = &call.fork {
        return format!("fork into `{child}`");
    }
    if let Some(child) = &call.message {
        return format!("send `{child}` a message");
    }
    "wait for the newest background command".to_owned()
}

fn command_in_words(command: &Command) -> String {
    match command {
        Command::Probe(name) => format!("write down its environment as `{name}`"),
        Command::Grandchild(name) => format!("write down a child's environment as `{name}`"),
        Command::Hold(name) => format!("wait as `{name}`"),
        Command::Effect(name) => format!("count `{name}`"),
        Command::Launch(name) => format!("run launch `{name}`"),
        Command::Shell(text) => format!("run `{text}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::section;
    use crate::library::Entry;
    use crate::scenario;

    #[test]
    fn a_scenario_is_told_in_the_order_in_which_it_happens() {
        let text = r#"
format = 1
title = "A note arrives"
why = "Mail must not be lost."
[[step]]
model.call = { tool = "plumb:list_memories" }
[[step]]
gate = { until = "declared", within = "10s" }
[[step]]
note = { to = { session-of = "main" }, text = "red kite" }
[[step]]
model.say = "done"
[[expect]]
check = "once"
clause = ["PLUG-7"]
revisions = ["note"]
model_saw = { text = "red kite", times = 1 }
[[red]]
title = "mail is claimed"
flips = [{ check = "once", class = "note-lost" }]
"#;
        let entry = Entry {
            scenario: scenario::read("plumb/note", text).unwrap(),
            text: text.to_owned(),
        };
        insta::assert_snapshot!(section(&entry), @r"
        ## plumb/note

        **A note arrives**

        Mail must not be lost.

        1. The model has `main` call `plumb:list_memories`.
        2. Wait until session `main` has declared itself at plumb, 10 s at most.
        3. A stranger leaves the note “red kite” for the plumb session of `main`.
        4. The model says “done” to `main`.

        | check | clauses | looks at | only |
        |---|---|---|---|
        | once | PLUG-7 | model saw | note |

        Must turn red:

        - mail is claimed: once (note-lost)
        ");
    }
}
