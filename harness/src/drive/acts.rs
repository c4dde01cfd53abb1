//! What the timeline asks for: starting a launch, sending a signal, letting a hold go, leaving a note.
//!
//! Called by the loop of `drive`. It gives orders and never waits for what comes of them.

use std::path::Path;

use super::progress::{self, Progress};
use super::{DriveError, Live, fact};
use crate::evidence::facts::LaunchFacts;
use crate::plan::Run;
use crate::stage;
use crate::supervise::order::{Key, Launch as Process, Order, Reach, Stdin};

/// Starts one launch.
pub(super) fn start(live: &mut Live<'_>, name: &str) -> Result<(), DriveError> {
    let (Some(start), Some(place)) = (live.starts.get(name), live.stage.launches.get(name)) else {
        return Ok(());
    };
    live.supervisor.order(Order::Start {
        key: Key(name.to_owned()),
        launch: Process {
            argv: start.argv.clone(),
            env: start.env.clone(),
            cwd: start.cwd.clone(),
            stdin: Stdin::Null,
            stdout: place.out.join("stdout"),
            stderr: place.out.join("stderr"),
            limit: crate::supervise::order::OUTPUT_LIMIT,
        },
    })?;
    let facts = launch_facts(live.run, name, start, place);
    live.facts.launches.insert(name.to_owned(), facts);
    Ok(())
}

pub(super) fn launch_facts(
    run: &Run,
    name: &str,
    start: &stage::Start,
    place: &stage::Place,
) -> LaunchFacts {
    let text = |path: &Path| path.display().to_string();
    LaunchFacts {
        argv: start.argv.clone(),
        env: start.env.clone(),
        workspace: text(&place.workspace),
        elsewhere: text(&place.elsewhere),
        home: text(place.explicit_home.as_deref().unwrap_or(&place.home)),
        explicit_home: place.explicit_home.as_deref().map(text),
        sessions_root: text(&place.sessions),
        expected_exit: run
            .launches
            .get(name)
            .and_then(|launch| launch.exit)
            .unwrap_or(0),
        ..LaunchFacts::default()
    }
}

/// Does one action; gives whether it is done already, or nothing where a notice will say.
pub(super) fn perform(
    live: &mut Live<'_>,
    progress: &mut Progress,
    step: &crate::scenario::Step,
    key: &str,
) -> Result<(Option<bool>, String), DriveError> {
    use crate::scenario::{Addressee, Step};
    match step {
        Step::Start(named) => {
            start(live, &named.launch)?;
            progress.started(&named.launch);
            Ok((Some(true), format!("started `{}`", named.launch)))
        }
        Step::Open(open) => {
            let (_, file) = live.stage.hold(&open.hold);
            match std::fs::write(&file, "") {
                Ok(()) => Ok((Some(true), format!("opened `{}`", open.hold))),
                Err(error) => Ok((Some(false), format!("{}: {error}", file.display()))),
            }
        }
        Step::Signal(signal) => {
            let Some(number) = progress::signal_of(&signal.name) else {
                return Ok((
                    Some(false),
                    format!("no signal is called `{}`", signal.name),
                ));
            };
            live.supervisor.order(Order::Signal {
                key: Key(signal.launch.clone()),
                signal: number,
                reach: Reach::Leader,
            })?;
            if let Some(facts) = live.facts.launches.get_mut(&signal.launch) {
                facts.signalled = Some(signal.name.clone());
            }
            Ok((
                Some(true),
                format!("sent {} to `{}`", signal.name, signal.launch),
            ))
        }
        Step::Note(note) => {
            let to = match &note.to {
                Addressee::Next(_) => None,
                Addressee::SessionOf(session) => match addressee(live, session) {
                    Ok(name) => Some(name),
                    Err(why) => return Ok((Some(false), why)),
                },
            };
            let order = note_order(live, note, to.as_deref(), key);
            live.supervisor.order(order)?;
            Ok((None, String::new()))
        }
        Step::Model(_) | Step::Gate(_) => Ok((Some(true), String::new())),
    }
}

/// The name of the live plumb session that a conversation has declared.
pub(super) fn addressee(live: &Live<'_>, session: &str) -> Result<String, String> {
    let scene = fact::Scene {
        run: live.run,
        stage: &live.stage,
        records: live.plumb.as_ref().map(|plumb| plumb.sessions.as_path()),
        namespace: live.namespace.as_ref().map(|(id, _)| id.as_str()),
        field: &live.setting.dialect.record_namespace,
        ended: &[],
    };
    let own = fact::own(session, &scene)?;
    let found = own.iter().find(|record| !record.ended());
    found.map(|record| record.name().to_owned()).ok_or_else(|| {
        format!(
            "no live session declared `{session}`; {} records did",
            own.len()
        )
    })
}

pub(super) fn note_order(
    live: &Live<'_>,
    note: &crate::scenario::Note,
    to: Option<&str>,
    key: &str,
) -> Order {
    let out = &live.stage.caught;
    let workspace = live
        .stage
        .launches
        .get("main")
        .map(|place| place.workspace.clone())
        .unwrap_or_default();
    let mut argv = vec![
        live.setting.program.display().to_string(),
        "note".to_owned(),
        "--plumb".to_owned(),
        live.stage.wrapper().display().to_string(),
        "--workspace".to_owned(),
        workspace.display().to_string(),
        "--text".to_owned(),
        note.text.clone(),
        "--receipt".to_owned(),
        out.join(format!("{key}.json")).display().to_string(),
    ];
    if let Some(to) = to {
        argv.extend(["--to".to_owned(), to.to_owned()]);
    }
    Order::Start {
        key: Key(key.to_owned()),
        launch: Process {
            argv,
            env: [("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())].into(),
            cwd: workspace,
            stdin: Stdin::Null,
            stdout: out.join(format!("{key}.stdout")),
            stderr: out.join(format!("{key}.stderr")),
            limit: 1 << 20,
        },
    }
}
