//! Whether a gate's fact is there: one look at the world, no waiting.

use std::path::Path;

use crate::judge::is_minted_for;
use crate::plan::Run;
use crate::plumb::records;
use crate::scenario::{Fact, Gate};
use crate::stage::Stage;

/// What one look came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Look {
    /// The fact is there; what was seen.
    Seen(String),
    /// It is not; what was seen instead.
    NotYet(String),
}

/// What a look needs beside the stage.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) run: &'a Run,
    pub(super) stage: &'a Stage,
    pub(super) records: Option<&'a Path>,
    pub(super) namespace: Option<&'a str>,
    pub(super) field: &'a str,
    pub(super) ended: &'a [String],
}

/// Looks for the fact of a gate.
pub(super) fn look(gate: &Gate, scene: &Scene<'_>) -> Look {
    let of = gate.of.as_deref().unwrap_or("main");
    match gate.until {
        Fact::Probed => there(&scene.stage.probe(of), "the probe has not written"),
        Fact::Holding => there(&scene.stage.hold(of).0, "the hold does not stand"),
        Fact::Exited => {
            if scene.ended.iter().any(|name| name == of) {
                Look::Seen(format!("`{of}` has ended"))
            } else {
                Look::NotYet(format!("`{of}` runs"))
            }
        }
        Fact::Declared => match own(of, scene) {
            Ok(own) if own.iter().any(|record| !record.ended()) => Look::Seen(names(&own)),
            Ok(own) => Look::NotYet(format!(
                "{} records, none live that declared `{of}`",
                own.len()
            )),
            Err(why) => Look::NotYet(why),
        },
        Fact::ConnectionEnded => match own(of, scene) {
            Ok(own) if own.is_empty() => Look::NotYet(format!("no record declared `{of}`")),
            Ok(own) if own.iter().all(records::Record::ended) => Look::Seen(names(&own)),
            Ok(own) => {
                let live: Vec<&str> = own
                    .iter()
                    .filter(|record| !record.ended())
                    .map(records::Record::id)
                    .collect();
                Look::NotYet(format!("still live: {}", live.join(", ")))
            }
            Err(why) => Look::NotYet(why),
        },
    }
}

fn there(path: &Path, otherwise: &str) -> Look {
    if path.exists() {
        Look::Seen(path.display().to_string())
    } else {
        Look::NotYet(otherwise.to_owned())
    }
}

fn names(own: &[records::Record]) -> String {
    own.iter()
        .map(|record| format!("{} ({})", record.name(), record.id()))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The records of this scenario that declared the session.
pub(super) fn own(session: &str, scene: &Scene<'_>) -> Result<Vec<records::Record>, String> {
    let Some(folder) = scene.records else {
        return Err("there is no plumb".to_owned());
    };
    let all = records::read(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    // A single conversation leaves no doubt, whatever id its records carry by now.
    let id = (scene.run.sessions.len() > 1)
        .then(|| session_id(session, scene))
        .flatten();
    Ok(all
        .read
        .into_values()
        .filter(|record| {
            scene
                .namespace
                .is_none_or(|id| record.namespace(scene.field) == id)
        })
        .filter(|record| !record.external_id().is_empty())
        .filter(|record| match &id {
            Some(id) => is_minted_for(record.external_id(), id),
            None => scene.run.sessions.len() == 1,
        })
        .collect())
}

/// The id of a session as its log has it by now.
fn session_id(session: &str, scene: &Scene<'_>) -> Option<String> {
    let openings: Vec<(String, String)> = scene
        .run
        .sessions
        .keys()
        .map(|name| (name.clone(), crate::plan::opening(name)))
        .collect();
    scene.stage.launches.iter().find_map(|(launch, place)| {
        crate::evidence::session::find(launch, &place.sessions)
            .ok()?
            .into_iter()
            .find(|(log, _)| log.name(&openings) == Some(session))
            .and_then(|(log, _)| log.id().map(str::to_owned))
    })
}
