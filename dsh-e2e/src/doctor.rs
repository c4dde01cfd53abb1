//! `doctor`: what the identity plugin reads of a build of dsh, looked at on the build itself.
//!
//! Drives one small run without a model and prints the map of fields. It judges no scenario.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use harness::agent::dsh::Check;
use harness::clock::Moment;
use harness::drive::{Setting, drive};
use harness::exit::Exit;
use harness::library;
use harness::plan::{self, Controls, Vocabulary};
use harness::plumb::dialect::Dialect;
use harness::scenario;
use harness::stage::Tapping;
use harness::supervise::{Warden, WardenProgram};
use serde::{Deserialize, Serialize};

use crate::cli::{DoctorAgent, DoctorOptions, Format};
use crate::model_host::Scripted;
use crate::plumb_host::{FakePlumbs, Ground};
use crate::provision::{Subject, Terms, have, named_or_all, network};
use crate::refusal::Refusal;
use crate::run::select;

/// What is driven.
const SCENARIO: &str = include_str!("doctor.toml");

/// Who makes a tool call in it.
const CALLERS: [&str; 3] = ["conversation", "subagent", "nobody"];

/// What one call showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    caller: String,
    fields: Vec<Field>,
}

/// One place that the plugin reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Field {
    path: String,
    holds: String,
    loss: String,
    is: String,
    moved: bool,
}

/// The map of one build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Map {
    build: String,
    version: String,
    calls: Vec<Seen>,
}

impl Map {
    /// The places that are not where the plugin reads them. That nobody calls is itself such a place to the plugin,
    /// and no fault of the build.
    fn moved(&self) -> Vec<&Field> {
        self.calls
            .iter()
            .filter(|seen| seen.caller != "nobody")
            .flat_map(|seen| &seen.fields)
            .filter(|field| field.moved)
            .collect()
    }
}

/// Looks at each build and tells.
pub(crate) fn main(options: &DoctorOptions) -> Result<Exit, Refusal> {
    match options.agent {
        DoctorAgent::Dsh => fields(options),
    }
}

fn fields(options: &DoctorOptions) -> Result<Exit, Refusal> {
    let names = named_or_all(&options.dsh)?;
    let terms = Terms {
        cache: options.cache.as_deref(),
        network: network(options.offline),
        check: Check::Quick,
        contract: options.contract,
    };
    let runtime = tokio::runtime::Runtime::new().map_err(Refusal::broken)?;
    let mut maps = Vec::new();
    for name in &names {
        let subject = have(name, terms)?;
        maps.push(runtime.block_on(look(&subject))?);
    }
    let text = match options.format {
        Format::Json => {
            let text = serde_json::to_string_pretty(&maps).map_err(Refusal::broken)?;
            format!("{text}\n")
        }
        Format::Plain => maps.iter().map(page).collect(),
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(Refusal::broken)?;
    Ok(if maps.iter().all(|map| map.moved().is_empty()) {
        Exit::AsExpected
    } else {
        Exit::Unexpected
    })
}

/// Drives the run on one build and reads what the probe wrote.
async fn look(subject: &Subject) -> Result<Map, Refusal> {
    let build = subject.build.name();
    let read = scenario::read("doctor/fields", SCENARIO).map_err(Refusal::broken)?;
    let planned = plan::Subject {
        build: build.to_owned(),
        revision: subject.build.facts.revision.to_string(),
    };
    let runs = plan::expand(&[read], &planned, Controls::None);
    let run = runs
        .first()
        .ok_or_else(|| Refusal::broken("the doctor's own run is gone"))?;
    let origin = Moment::now();
    let root = select::root(None)?;
    let program = std::env::current_exe().map_err(Refusal::broken)?;
    let plugins = library::lay_out_plugins(&root.path().join("js")).map_err(Refusal::broken)?;
    let words = subject.build.file("tools.toml");
    let words = words.map(String::from_utf8_lossy).unwrap_or_default();
    let words = Vocabulary::read(build, &words).map_err(Refusal::broken)?;
    let dialect = Dialect::default();
    let warden = Warden::start(
        WardenProgram {
            program: &program,
            verb: "warden",
        },
        origin,
    )
    .map_err(Refusal::broken)?;
    let model = Scripted::start(origin).await.map_err(Refusal::broken)?;
    let ground = Ground {
        program: &program,
        root: root.path(),
        warden: &warden,
        dialect: &dialect,
    };
    let plumb = FakePlumbs::start(&[], &ground)
        .await
        .map_err(Refusal::broken)?;
    let evidence = root.path().join("evidence");
    let setting = Setting {
        program: &program,
        build: &subject.build,
        words: &words,
        installed: &subject.installed,
        plugins: &plugins,
        identity: &plugins.join("identity"),
        warden: &warden,
        model: &model,
        plumb: &plumb,
        dialect: &dialect,
        callers_keys: &[],
        tap: Tapping::Off,
        root: root.path().join("s0"),
        evidence: evidence.clone(),
        text: SCENARIO,
        again: "dsh-e2e doctor",
    };
    let driven = drive(run, &setting).await;
    model.shutdown().await;
    drop(plumb);
    warden.close().await.map_err(Refusal::broken)?;
    driven.map_err(Refusal::broken)?;
    let calls = calls(&evidence)?;
    Ok(Map {
        build: build.to_owned(),
        version: subject.installed.version.clone(),
        calls,
    })
}

/// What the probe wrote, one call for each caller.
fn calls(evidence: &Path) -> Result<Vec<Seen>, Refusal> {
    let text = std::fs::read_to_string(evidence.join("sabotage.jsonl")).unwrap_or_default();
    let seen: Vec<Seen> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    if let Some(missing) = CALLERS
        .iter()
        .find(|caller| !seen.iter().any(|seen| seen.caller == **caller))
    {
        let said = std::fs::read_to_string(evidence.join("launch/main/stderr")).unwrap_or_default();
        return Err(Refusal::broken(format!(
            "no tool call of {missing} was seen, so nothing is known of the build; it said: {}",
            said.trim()
        )));
    }
    Ok(seen)
}

/// One build for a person.
fn page(map: &Map) -> String {
    let mut text = format!("dsh {} ({})\n", map.build, map.version);
    let first = map.calls.first().map_or(&[][..], |seen| &seen.fields);
    for field in first {
        let is = |caller: &str| {
            let seen = map.calls.iter().find(|seen| seen.caller == caller);
            seen.and_then(|seen| seen.fields.iter().find(|other| other.path == field.path))
        };
        let kinds: Vec<&str> = CALLERS
            .iter()
            .map(|caller| is(caller).map_or("-", |field| field.is.as_str()))
            .collect();
        let moved = map.moved().iter().any(|other| other.path == field.path);
        let verdict = if moved {
            format!("moved: {}", field.loss)
        } else {
            "as it is read".to_owned()
        };
        // Writing to a string cannot fail.
        writeln!(
            text,
            "  {:<38} conversation {:<8} subagent {:<8} nobody {:<8} {verdict}",
            field.path, kinds[0], kinds[1], kinds[2]
        )
        .ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Field, Map, Seen, page};

    fn seen(caller: &str, is: &str, moved: bool) -> Seen {
        Seen {
            caller: caller.to_owned(),
            fields: vec![Field {
                path: "agent.id".into(),
                holds: "the session id".into(),
                loss: "the call is not attributed".into(),
                is: is.to_owned(),
                moved,
            }],
        }
    }

    fn map(subagent_moved: bool) -> Map {
        Map {
            build: "b".into(),
            version: "1".into(),
            calls: vec![
                seen("conversation", "string", false),
                seen("subagent", "string", subagent_moved),
                seen("nobody", "nothing", true),
            ],
        }
    }

    #[test]
    fn a_field_that_moved_for_one_caller_is_named_with_what_is_lost() {
        insta::assert_snapshot!(page(&map(true)).trim_end(), @r"
        dsh b (1)
          agent.id                               conversation string   subagent string   nobody nothing  moved: the call is not attributed
        ");
    }

    #[test]
    fn that_nobody_calls_is_no_fault_of_the_build() {
        assert!(map(false).moved().is_empty());
        assert_eq!(map(true).moved().len(), 1);
    }
}
