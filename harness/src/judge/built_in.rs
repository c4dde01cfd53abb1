//! The checks that every scenario has without stating them: how the agent ended, that it booted and
//! mounted what it was given, that the script was followed, that nothing is left, and that nothing
//! planted came through.

use super::context::{Judged, Reading};
use super::environment::is_managed;
use crate::evidence::facts::End;
use crate::plan;
use crate::scenario::{Command, Mcp, Step};
use crate::verdict::{Class, Finding};

/// Every built-in finding that applies to the run.
pub(super) fn findings(reading: &Reading<'_>) -> Vec<Finding> {
    let mut judged: Vec<(&str, Judged)> = vec![
        ("exit", exit(reading)),
        ("boot", boot(reading)),
        ("mounted", mounted(reading)),
        ("script", script(reading)),
        ("route", route(reading)),
        ("timeline", timeline(reading)),
        ("empty", empty(reading)),
        ("kept", super::kept::kept(reading)),
    ];
    if reading.run.needs_plumb() {
        judged.push(("namespace", namespace(reading)));
        if !reading.evidence.facts.untapped {
            judged.push(("carried", super::carried::carried(reading)));
        }
    }
    if !planned_probes(reading).is_empty() {
        judged.push(("canaries", canaries(reading)));
    }
    judged
        .into_iter()
        .map(|(check, judged)| super::judged(check, &clauses(check), judged))
        .collect()
}

/// The clauses that a built-in check proves.
fn clauses(check: &str) -> Vec<String> {
    super::BUILT_IN_CLAUSES
        .iter()
        .filter(|(name, _)| *name == check)
        .flat_map(|(_, ids)| ids.iter().map(|id| (*id).to_owned()))
        .collect()
}

/// Each launch ended as it had to.
fn exit(reading: &Reading<'_>) -> Judged {
    let facts = &reading.evidence.facts;
    let mut judged = Judged::reading(["facts.json".to_owned()]);
    if let Some(why) = &facts.broken {
        judged.fail(Class::Harness, why.clone());
    }
    if facts.limit_hit {
        judged.fail(
            Class::ScenarioTimedOut,
            format!(
                "the scenario was not over within {} s",
                reading.run.limit.as_secs()
            ),
        );
    }
    if facts.launches.is_empty() {
        judged.fail(Class::NoBoot, "nothing was started");
    }
    for (name, launch) in &facts.launches {
        if launch.limit_hit {
            judged.fail(
                Class::ScenarioTimedOut,
                format!("`{name}` was not over within its limit and was ended"),
            );
            continue;
        }
        match launch.end {
            None => judged.fail(Class::NotStopped, format!("`{name}` never ended")),
            Some(End::Signal(signal)) => {
                judged.fail(
                    Class::Killed,
                    format!("`{name}` was ended by signal {signal}"),
                );
            }
            // The agent answers TERM with exit 0: the signal is remembered, the status not trusted.
            Some(End::Code(code)) => {
                if code != launch.expected_exit {
                    let said = last_line(reading, name);
                    judged.fail(
                        Class::Exit,
                        format!(
                            "`{name}` exited {code}, {} expected{said}",
                            launch.expected_exit
                        ),
                    );
                } else if let Some(signal) = &launch.signalled {
                    judged.fail(
                        Class::Killed,
                        format!("`{name}` was sent {signal} by the harness"),
                    );
                }
            }
        }
    }
    judged
}

fn last_line(reading: &Reading<'_>, launch: &str) -> String {
    reading
        .evidence
        .stderr
        .get(launch)
        .and_then(|text| text.lines().rev().find(|line| !line.trim().is_empty()))
        .map(|line| format!("; its last words: {}", super::model::shorten(line)))
        .unwrap_or_default()
}

/// Each launch that a session runs in asked the model.
fn boot(reading: &Reading<'_>) -> Judged {
    let mut judged = Judged::reading(["model.jsonl".to_owned()]);
    for name in reading.evidence.facts.launches.keys() {
        let scripted = reading.run.steps.iter().any(|step| match step {
            Step::Model(model) => {
                plan::launch_of(reading.run, model.session.as_deref().unwrap_or("main")) == name
            }
            _ => false,
        });
        let asked = reading
            .evidence
            .model
            .iter()
            .filter_map(crate::evidence::model::ModelEvent::request)
            .any(|request| request.launch == *name);
        if scripted && !asked {
            let said = last_line(reading, name);
            judged.fail(
                Class::NoBoot,
                format!("`{name}` never asked the model{said}"),
            );
        }
    }
    judged
}

/// Every row that a launch was given is there.
fn mounted(reading: &Reading<'_>) -> Judged {
    let mut judged = Judged::default();
    for name in reading.evidence.facts.launches.keys() {
        judged.read.push(format!("launch/{name}/stderr"));
        let stderr = reading.evidence.stderr.get(name).map_or("", String::as_str);
        for warning in &reading.build.boot_warnings {
            if let Some(line) = stderr.lines().find(|line| line.contains(warning.as_str())) {
                judged.fail(Class::NotMounted, format!("`{name}` said: {line}"));
            }
        }
        let given = reading.run.launches.get(name).and_then(|launch| launch.mcp);
        let first = reading
            .evidence
            .model
            .iter()
            .filter_map(crate::evidence::model::ModelEvent::request)
            .find(|request| request.launch == *name && request.kind == "main");
        if given.is_some_and(|mcp| mcp != Mcp::None)
            && let Some(request) = first
        {
            let offered = request.tools().iter().any(|tool| {
                tool.pointer("/function/name")
                    .and_then(serde_json::Value::as_str)
                    .is_some_and(|tool| tool.contains("plumb"))
            });
            if !offered {
                judged.fail(
                    Class::NotMounted,
                    format!("`{name}` offers the model no tool of plumb"),
                );
            }
        }
    }
    judged
}

/// The script was followed: nothing asked for that is not scripted, nothing left over, and no
/// request broke a rule of the protocol.
fn script(reading: &Reading<'_>) -> Judged {
    let mut judged = Judged::reading(["model.jsonl".to_owned()]);
    for event in &reading.evidence.model {
        match event.kind() {
            "unmatched" | "tool-drift" | "capture-miss" => {
                judged.fail(Class::UnscriptedRequest, event.detail());
            }
            "violation" => judged.fail(Class::Protocol, event.detail()),
            "unused" => judged.fail(Class::UnusedStep, event.detail()),
            _ => {}
        }
    }
    judged
}

/// No model request went elsewhere. The witness is a request that came to the right place.
fn route(reading: &Reading<'_>) -> Judged {
    let mut judged = Judged::reading(["model.jsonl".to_owned(), "facts.json".to_owned()]);
    for stray in &reading.evidence.facts.stray {
        judged.fail(Class::Misrouted, format!("a request went astray: {stray}"));
    }
    let came = reading
        .evidence
        .model
        .iter()
        .any(|event| event.kind() == "request");
    let scripted = reading
        .run
        .steps
        .iter()
        .any(|step| matches!(step, Step::Model(_)));
    if judged.symptoms.is_empty() && scripted && !came {
        return Judged::unobserved("no request came at all, so none is known to have gone right");
    }
    judged
}

/// Every gate saw its fact and every action was done.
fn timeline(reading: &Reading<'_>) -> Judged {
    let mut judged = Judged::reading(["facts.json".to_owned()]);
    let facts = &reading.evidence.facts;
    for action in facts.actions.iter().filter(|action| !action.done) {
        judged.fail(
            Class::StepTimedOut,
            format!("{}: {}", action.what, action.seen),
        );
    }
    let planned = reading
        .run
        .steps
        .iter()
        .filter(|step| !matches!(step, Step::Model(_)))
        .count();
    if judged.symptoms.is_empty() && facts.actions.len() != planned {
        judged.fail(
            Class::StepTimedOut,
            format!("{} of {planned} actions were reached", facts.actions.len()),
        );
    }
    judged
}

/// Nothing is left of the scenario.
fn empty(reading: &Reading<'_>) -> Judged {
    let facts = &reading.evidence.facts;
    let mut judged = Judged::reading(["facts.json".to_owned()]);
    for survivor in &facts.survivors {
        judged.fail(
            Class::NotStopped,
            format!("outlived its launch: {survivor}"),
        );
    }
    if !facts.empty {
        judged.fail(
            Class::NotStopped,
            "the supervisor could not show that nothing is left",
        );
    }
    judged
}

/// The three controls of a shared directory: an own record, none of ours outside, all released.
fn namespace(reading: &Reading<'_>) -> Judged {
    let facts = &reading.evidence.facts;
    let (what, is_over, detail) = match (&facts.namespace, &facts.private_daemon) {
        (Some(namespace), _) => (
            format!("the namespace {}", namespace.id),
            namespace.revoked,
            &namespace.detail,
        ),
        (None, Some(daemon)) => ("the private daemon".to_owned(), daemon.gone, &daemon.detail),
        (None, None) => return Judged::unobserved("no namespace was made"),
    };
    let mut judged = Judged::reading(["facts.json".to_owned(), "records/".to_owned()]);
    judged.assumes.clone_from(&facts.assumes);
    if reading.evidence.records.is_empty() {
        judged.fail(
            Class::Missing,
            "the namespace holds no record: nothing ever reached plumb, or the reader looks elsewhere",
        );
    }
    for outside in &reading.evidence.outside {
        judged.fail(
            Class::Leaked,
            format!(
                "record {} of `{}` lies outside the namespace",
                outside.id(),
                outside.client()
            ),
        );
    }
    for torn in &reading.evidence.torn_records {
        judged.fail(Class::Protocol, format!("a record is torn: {torn}"));
    }
    if !is_over {
        judged.fail(Class::NotStopped, format!("{what} is not over: {detail}"));
    }
    judged
}

/// Nothing that was planted in the ambient environment came through to a command.
fn canaries(reading: &Reading<'_>) -> Judged {
    let facts = &reading.evidence.facts;
    let mut judged = Judged::default();
    for name in planned_probes(reading) {
        let probe = match reading.probe(&name) {
            Ok(probe) => probe,
            Err(why) => return Judged::unobserved(why),
        };
        judged.read.push(probe.file.clone());
        if probe.get(&facts.witness).is_none() {
            return Judged::unobserved(format!(
                "`{name}` did not see the witness {}: it proves no absence",
                facts.witness
            ));
        }
        for (variable, value) in probe
            .entries
            .iter()
            .filter(|(variable, _)| is_managed(variable))
        {
            let planted = facts.planted.get(variable);
            if planted.is_some_and(|planted| planted == value) || value.contains("canary") {
                judged.fail(
                    Class::Leaked,
                    format!("`{name}` saw the planted {variable} = `{value}`"),
                );
            }
        }
    }
    judged
}

/// The probes that the run's bash calls would write.
fn planned_probes(reading: &Reading<'_>) -> Vec<String> {
    reading
        .run
        .commands()
        .filter_map(|command| match command {
            Command::Probe(name) | Command::Grandchild(name) => Some(name.clone()),
            _ => None,
        })
        .collect()
}
