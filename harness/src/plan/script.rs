//! Compiles the timeline of a run: what the fake model is told, and what the harness does between.
//!
//! Pure. A model step becomes a reply of its session; every other step becomes an action that waits
//! for the model steps above it, and a gate for the model steps below it.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::words::object;
use super::{Run, Vocabulary};
use crate::scenario::{Call, Command, Model, Place, Step};

/// What a run's timeline comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Scripts {
    /// The fake model's script for each launch, in its own format.
    pub models: BTreeMap<String, Value>,
    /// What the harness does, in order.
    pub actions: Vec<Action>,
    /// Number of model steps.
    pub replies: usize,
}

/// Something that the harness does or waits for.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// Position in the timeline, from 0.
    pub idx: usize,
    /// How many model replies must have been sent before.
    pub after: usize,
    /// What to do.
    pub step: Step,
}

/// The first user message of a session: how its conversation is known.
pub fn opening(session: &str) -> String {
    format!("[{session}] Follow the script.")
}

/// The gate that the step at `idx` opens when it is done.
pub fn gate(idx: usize) -> String {
    format!("step-{idx}")
}

/// Where things of a run lie: what a script has to name.
pub struct Paths<'a> {
    /// The folder of the scenario's generated commands.
    pub bin: &'a Path,
    /// The path of a folder of the scenario.
    pub place: &'a dyn Fn(&Place) -> Option<String>,
}

/// Compiles the timeline of `run`.
pub fn compile(run: &Run, words: &Vocabulary, paths: &Paths<'_>) -> Scripts {
    let mut replies: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    let mut actions = Vec::new();
    let mut steps: BTreeMap<&str, usize> = BTreeMap::new();
    let mut sent = 0;
    let mut barrier = None;
    for (idx, step) in run.steps.iter().enumerate() {
        let Step::Model(model) = step else {
            actions.push(Action {
                idx,
                after: sent,
                step: step.clone(),
            });
            barrier = Some(gate(idx));
            continue;
        };
        sent += 1;
        let session = model.session.as_deref().unwrap_or("main");
        let launch = launch_of(run, session);
        let gates: Vec<String> = barrier.iter().cloned().collect();
        let step = steps.entry(session).or_insert(0_usize);
        replies.entry(launch).or_default().push(json!({
            "session": session,
            "step": *step,
            "gates": gates,
            "reply": reply(model, words, paths),
        }));
        *step += 1;
    }
    let models = run
        .launches
        .keys()
        .map(|launch| {
            let sessions: Vec<Value> = run
                .sessions
                .keys()
                .filter(|name| launch_of(run, name) == launch)
                .map(|name| json!({ "name": name, "opening": opening(name) }))
                .collect();
            let script = json!({
                "sessions": sessions,
                "replies": replies.remove(launch.as_str()).unwrap_or_default(),
                "title": "A scripted title",
            });
            (launch.clone(), script)
        })
        .collect();
    Scripts {
        models,
        actions,
        replies: sent,
    }
}

/// The launch that a session runs in: its own, else its parent's, else `main`.
pub(crate) fn launch_of<'a>(run: &'a Run, session: &str) -> &'a str {
    let Some(found) = run.sessions.get(session) else {
        return "main";
    };
    match (&found.launch, &found.parent) {
        (Some(launch), _) => launch,
        (None, Some(parent)) => launch_of(run, parent),
        (None, None) => "main",
    }
}

fn reply(model: &Model, words: &Vocabulary, paths: &Paths<'_>) -> Value {
    if let Some(text) = &model.say {
        return json!({ "say": text });
    }
    if let Some(fail) = &model.fail {
        return json!({ "fail": fail });
    }
    let calls: Vec<Value> = model
        .call
        .iter()
        .chain(model.calls.iter().flatten())
        .map(|one| call(one, words, paths))
        .collect();
    json!({ "calls": calls })
}

fn call(call: &Call, words: &Vocabulary, paths: &Paths<'_>) -> Value {
    let background = call.background.unwrap_or(false);
    let (tool, mut arguments) = verb(call, words, paths, background);
    arguments.extend(object(&call.with.clone().unwrap_or_default()));
    json!({ "tool": tool, "arguments": arguments })
}

fn verb(
    call: &Call,
    words: &Vocabulary,
    paths: &Paths<'_>,
    background: bool,
) -> (Value, Map<String, Value>) {
    if let Some(commands) = &call.bash {
        let mut arguments = object(&words.bash.extra);
        arguments.insert(
            words.bash.command.clone(),
            json!(shell(commands, paths.bin)),
        );
        if background {
            arguments.extend(object(&words.bash.background));
        }
        return (named(&words.bash.tool), arguments);
    }
    if call.collect.is_some() {
        let mut arguments = object(&words.collect.extra);
        arguments.insert(words.collect.id.clone(), capture(&words.collect.pattern));
        return (named(&words.collect.tool), arguments);
    }
    for (child, delegate) in [(&call.spawn, &words.spawn), (&call.fork, &words.fork)] {
        let Some(child) = child else { continue };
        let mut arguments = object(&delegate.extra);
        arguments.insert(delegate.prompt.clone(), json!(opening(child)));
        if background {
            arguments.extend(object(&delegate.background));
        } else if let Some(foreground) = &delegate.foreground {
            arguments.extend(object(foreground));
        }
        return (named(&delegate.tool), arguments);
    }
    if call.message.is_some() {
        let mut arguments = Map::new();
        arguments.insert(words.message.id.clone(), capture(&words.message.pattern));
        let text = call.text.clone().unwrap_or_else(|| "Go on.".into());
        arguments.insert(words.message.text.clone(), json!(text));
        return (named(&words.message.tool), arguments);
    }
    let name = call.tool.as_deref().unwrap_or_default();
    let tool = match name.split_once(':') {
        Some((server, tool)) => json!({ "of": server, "name": tool }),
        None => named(name),
    };
    let mut arguments = object(&call.arguments.clone().unwrap_or_default());
    for (name, place) in call.folders.iter().flatten() {
        arguments.insert(name.clone(), json!((paths.place)(place)));
    }
    (tool, arguments)
}

fn named(tool: &str) -> Value {
    json!({ "name": tool })
}

fn capture(pattern: &str) -> Value {
    json!({ "$capture": { "pattern": pattern } })
}

/// The shell text of a bash call: one line for each command.
pub(crate) fn shell(commands: &[Command], bin: &Path) -> String {
    let script = |verb: &str, name: &str| bin.join(format!("{verb}-{name}")).display().to_string();
    let lines: Vec<String> = commands
        .iter()
        .map(|command| match command {
            Command::Probe(name) => script("probe", name),
            // The trailing `:` keeps a shell from replacing itself by the probe.
            Command::Grandchild(name) => format!("sh -c '{}; :'", script("probe", name)),
            Command::Hold(name) => script("hold", name),
            Command::Effect(name) => script("effect", name),
            Command::Launch(name) => script("launch", name),
            Command::Shell(text) => text.clone(),
        })
        .collect();
    lines.join("\n")
}
