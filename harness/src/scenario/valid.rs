//! What the types of a scenario cannot say: names that must exist, exactly one of several.

use std::collections::BTreeSet;

use super::{Call, Expect, File, Model, Step};
use crate::judge::BUILT_IN;

/// A mistake, with the quoted text near which it stands.
pub(super) struct Found {
    pub(super) what: String,
    pub(super) hint: Option<String>,
    pub(super) near: Option<String>,
}

impl Found {
    fn new(near: &str, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: Some(hint.into()),
            near: Some(near.to_owned()),
        }
    }
}

/// Checks a file as a whole.
pub(super) fn check(file: &File) -> Result<(), Found> {
    if file.format != super::FORMAT {
        return Err(Found {
            what: format!("format {} is not known here", file.format),
            hint: Some(format!("this program reads format = {}", super::FORMAT)),
            near: None,
        });
    }
    let mut sessions: BTreeSet<&str> = file.session.keys().map(String::as_str).collect();
    sessions.insert("main");
    let mut launches: BTreeSet<&str> = file.launch.keys().map(String::as_str).collect();
    launches.insert("main");
    for (name, session) in &file.session {
        if let Some(parent) = &session.parent {
            known(&sessions, parent, "session")?;
        }
        if let Some(launch) = &session.launch {
            known(&launches, launch, "launch")?;
        }
        if name == "main" && session.parent.is_some() {
            return Err(Found::new(
                name,
                "`main` has a parent",
                "name the child otherwise",
            ));
        }
    }
    steps(&file.step, &sessions, &launches)?;
    let checks = expectations(&file.expect)?;
    for case in &file.case {
        if let Some(changed) = &case.step {
            steps(changed, &sessions, &launches)?;
        }
        expectations(&case.expect)?;
        for name in &case.without {
            known(&checks, name, "check")?;
        }
    }
    controls(file, &checks)
}

fn controls(file: &File, checks: &BTreeSet<&str>) -> Result<(), Found> {
    for red in &file.red {
        if red.flips.is_empty() {
            return Err(Found::new(
                &red.title,
                format!("the control `{}` flips nothing", red.title),
                "state each check that it turns, with its class",
            ));
        }
        let mut names = checks.clone();
        if let Some(case) = &red.case {
            let Some(found) = file.case.iter().find(|one| one.name == *case) else {
                return Err(Found::new(
                    case,
                    format!("no case is named `{case}`"),
                    "name a case",
                ));
            };
            names.extend(found.expect.iter().map(|expect| expect.check.as_str()));
        }
        for flip in &red.flips {
            if !BUILT_IN.contains(&flip.check.as_str()) {
                known(&names, &flip.check, "check")?;
            }
        }
    }
    Ok(())
}

fn known(names: &BTreeSet<&str>, name: &str, noun: &str) -> Result<(), Found> {
    if names.contains(name) {
        return Ok(());
    }
    let all = names.iter().copied().collect::<Vec<_>>().join(", ");
    Err(Found::new(
        name,
        format!("no {noun} is named `{name}`"),
        format!("there are: {all}"),
    ))
}

fn steps(
    steps: &[Step],
    sessions: &BTreeSet<&str>,
    launches: &BTreeSet<&str>,
) -> Result<(), Found> {
    for step in steps {
        match step {
            Step::Model(model) => {
                known(
                    sessions,
                    model.session.as_deref().unwrap_or("main"),
                    "session",
                )?;
                one_reply(model)?;
                for call in model.call.iter().chain(model.calls.iter().flatten()) {
                    one_verb(call)?;
                    for name in call.spawn.iter().chain(&call.fork).chain(&call.message) {
                        known(sessions, name, "session")?;
                    }
                }
            }
            Step::Start(named) => known(launches, &named.launch, "launch")?,
            Step::Signal(signal) => known(launches, &signal.launch, "launch")?,
            Step::Gate(_) | Step::Note(_) | Step::Open(_) => {}
        }
    }
    Ok(())
}

fn one_reply(model: &Model) -> Result<(), Found> {
    let stated = [
        model.say.is_some(),
        model.call.is_some(),
        model.calls.is_some(),
        model.fail.is_some(),
    ];
    if stated.iter().filter(|one| **one).count() == 1 {
        return Ok(());
    }
    let near = model
        .say
        .as_deref()
        .or(model.session.as_deref())
        .unwrap_or("model");
    Err(Found::new(
        near,
        "a model step replies with exactly one thing",
        "write one of `say`, `call`, `calls`, `fail`",
    ))
}

fn one_verb(call: &Call) -> Result<(), Found> {
    let stated = [
        call.bash.is_some(),
        call.tool.is_some(),
        call.spawn.is_some(),
        call.fork.is_some(),
        call.message.is_some(),
        call.collect.is_some(),
    ];
    if stated.iter().filter(|one| **one).count() == 1 {
        return Ok(());
    }
    let near = call
        .tool
        .as_deref()
        .or(call.spawn.as_deref())
        .unwrap_or("call");
    Err(Found::new(
        near,
        "a call does exactly one thing",
        "write one of `bash`, `tool`, `spawn`, `fork`, `message`, `collect`",
    ))
}

fn expectations(expects: &[Expect]) -> Result<BTreeSet<&str>, Found> {
    let mut names = BTreeSet::new();
    for expect in expects {
        let name = expect.check.as_str();
        if !names.insert(name) || BUILT_IN.contains(&name) {
            return Err(Found::new(
                name,
                format!("two checks are named `{name}`"),
                "a check's name is unique in its scenario, the built-in ones included",
            ));
        }
        if expect.clause.is_empty() {
            return Err(Found::new(
                name,
                format!("`{name}` proves no clause"),
                "name its clause",
            ));
        }
        match kinds(expect) {
            1 => {}
            0 => {
                return Err(Found::new(
                    name,
                    format!("`{name}` states nothing to expect"),
                    "add one kind, such as `environment = { … }`",
                ));
            }
            _ => {
                return Err(Found::new(
                    name,
                    format!("`{name}` states more than one thing to expect"),
                    "make it several checks",
                ));
            }
        }
    }
    Ok(names)
}

fn kinds(expect: &Expect) -> usize {
    [
        expect.environment.is_some(),
        expect.absent.is_some(),
        expect.header.is_some(),
        expect.records.is_some(),
        expect.declared.is_some(),
        expect.mcp.is_some(),
        expect.effects.is_some(),
        expect.model_saw.is_some(),
        expect.result.is_some(),
        expect.overlap.is_some(),
        expect.warnings.is_some(),
        expect.tool_pin.is_some(),
        expect.tool_words.is_some(),
        expect.logged_tools.is_some(),
        expect.logged_results.is_some(),
        expect.logged_events.is_some(),
        expect.system_prompt.is_some(),
        expect.compare.is_some(),
        expect.outcome.is_some(),
        expect.log.is_some(),
        expect.pins.is_some(),
        expect.hook.is_some(),
        expect.secrets.is_some(),
    ]
    .into_iter()
    .filter(|stated| *stated)
    .count()
}
