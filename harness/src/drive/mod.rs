//! Runs one scenario: sets its stage, starts its processes, follows its timeline, ends it, collects what happened.
//!
//! Called by the command line, once for each run. It holds the only `select!`; what is decided is decided in
//! `progress`, which is plain data. It judges nothing.

mod acts;
mod collect;
mod ending;
mod fact;
mod host;
mod note;
mod opening;
mod private;
mod progress;
mod searched;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;

pub use host::{Apart, HostError, ModelHost, PlumbHost, PlumbProgram, Tenant};
pub use note::{Leave, NOTE_CLIENT, NoteError, leave};

use crate::agent::dsh::{Build, Installed};
use crate::clock::Moment;
use crate::evidence::facts::Facts;
use crate::evidence::secrets::SecretKind;
use crate::evidence::{Folder, FolderError};
use crate::gate::pause;
use crate::plan::{self, Run, Vocabulary};
use crate::plumb::dialect::Dialect;
use crate::plumb::secret::Secret;
use crate::stage::{self, Stage, StageError, Tapping};
use crate::supervise::order::{Key, Order, Reach, Signal};
use crate::supervise::{Said, SuperviseError, Supervisor, Warden};
use acts::{perform, start};
use ending::{close_facts, end, heard};
use opening::{open, scripts};
use progress::{Do, Progress};

/// How often an open gate looks for its fact. A look reads a few small files.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How long what is ending by itself is given, and a TERM, before the next step: real dsh needs 3.1 s at the most
/// (measured: TERM with a grandchild that left the session).
const GRACE_MS: u64 = 4_000;

/// What one run needs of the world.
pub struct Setting<'a> {
    /// Our own program.
    pub program: &'a Path,
    /// The build's data.
    pub build: &'a Build,
    /// The build's words.
    pub words: &'a Vocabulary,
    /// The build as it lies in the cache.
    pub installed: &'a Installed,
    /// Folder of the plugins that rows name.
    pub plugins: &'a Path,
    /// Folder of the identity plugin.
    pub identity: &'a Path,
    /// The run's warden.
    pub warden: &'a Warden,
    /// The scripted model.
    pub model: &'a dyn ModelHost,
    /// Where plumbs come from.
    pub plumb: &'a dyn PlumbHost,
    /// How plumb's assumed parts are spoken.
    pub dialect: &'a Dialect,
    /// Keys in the caller's environment, which are to be found nowhere.
    pub callers_keys: &'a [String],
    /// Whether plumb's frames are written down.
    pub tap: Tapping,
    /// Root of this scenario's own folders.
    pub root: PathBuf,
    /// Its evidence, to be made.
    pub evidence: PathBuf,
    /// The scenario's text, kept with the evidence.
    pub text: &'a str,
    /// The command that runs just this again.
    pub again: &'a str,
}

/// A run that the harness itself could not carry through.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The stage could not be set.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// The evidence could not be written.
    #[error(transparent)]
    Evidence(#[from] FolderError),
    /// The supervisors are gone.
    #[error(transparent)]
    Supervise(#[from] SuperviseError),
    /// A peer could not be had.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The namespace could not be made.
    #[error("no namespace: {what}")]
    Namespace {
        /// What plumb said, and what will end a namespace that may exist.
        what: String,
    },
}

/// What the run of one scenario cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Wall time, in microseconds.
    pub wall_us: u64,
    /// Processor time of all its processes, in microseconds.
    pub cpu_us: u64,
    /// Whether a private daemon could not be shown gone: its home is then to be kept.
    pub daemon_left: bool,
}

/// The living parts of one run.
struct Live<'a> {
    run: &'a Run,
    setting: &'a Setting<'a>,
    stage: Stage,
    supervisor: Supervisor,
    plumb: Option<PlumbProgram>,
    namespace: Option<(String, Secret)>,
    tenants: BTreeMap<String, Box<dyn Tenant>>,
    starts: BTreeMap<String, stage::Start>,
    facts: Facts,
    journal: Vec<Value>,
    /// Processes that outlived their launch, as the supervisor named them.
    survivors: Vec<String>,
}

/// Runs one scenario and leaves its evidence.
pub async fn drive(run: &Run, setting: &Setting<'_>) -> Result<Cost, DriveError> {
    let begun = Moment::now();
    let mut folder = Folder::create(&setting.evidence)?;
    let name = format!("{}/{} in {}", run.build, run.id, setting.root.display());
    let supervisor = setting.warden.supervisor(&name)?;
    let mut live = open(run, setting, supervisor).await?;
    if let Some((_, token)) = &live.namespace {
        folder.hide(SecretKind::NamespaceToken, token.expose());
    }
    let outcome = follow(&mut live).await;
    if let Err(error) = &outcome {
        live.facts.broken = Some(error.to_string());
    }
    for (launch, tenant) in std::mem::take(&mut live.tenants) {
        for (session, step) in tenant.finish().await {
            live.journal.push(json!({
                "event": "unused", "launch": launch, "session": session, "step": step,
                "detail": format!("`{session}` was never asked for its reply {step}"),
            }));
        }
    }
    let stopped = private::stop(&live).await;
    let ended = end(&mut live).await;
    close_facts(&mut live, ended);
    live.facts.private_daemon = private::shown_gone(&live, stopped).await;
    live.facts.stray = setting.model.stray();
    live.facts.wall_us = Moment::now().since(begun).0;
    let cost = Cost {
        wall_us: live.facts.wall_us,
        cpu_us: live.facts.cpu_us,
        daemon_left: live
            .facts
            .private_daemon
            .as_ref()
            .is_some_and(|it| !it.gone),
    };
    let variable = &setting.build.profile.key_var;
    searched::learn_keys(&live.facts, variable, setting.callers_keys, &mut folder);
    folder.text("scenario.toml", setting.text)?;
    folder.text("again.txt", &format!("{}\n", setting.again))?;
    let sources = collect::Sources {
        scenario: setting.text,
        stage: &live.stage,
        plumb: live.plumb.as_ref(),
        namespace: live.namespace.as_ref().map(|(id, _)| id.as_str()),
        field: &setting.dialect.record_namespace,
        journal: &live.journal,
        origin: setting.warden.origin(),
    };
    collect::collect(&sources, &mut live.facts, &mut folder)?;
    outcome?;
    Ok(cost)
}

/// What the loop woke up for.
enum Woke {
    Said(Option<Said>),
    Model(Option<(String, Value)>),
    Look,
    Limit,
}

/// Follows the timeline until everything that was started has ended.
#[expect(
    clippy::too_many_lines,
    reason = "the one select loop, an arm for each source of facts"
)]
async fn follow(live: &mut Live<'_>) -> Result<(), DriveError> {
    let (sender, mut journal) = mpsc::unbounded_channel();
    for (launch, tenant) in &mut live.tenants {
        let (mut events, sender, launch) = (tenant.journal(), sender.clone(), launch.clone());
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                if sender.send((launch.clone(), event)).is_err() {
                    return;
                }
            }
        });
    }
    let scripts = scripts(live);
    let mut progress = Progress::new(live.run, scripts.actions, scripts.replies);
    for name in live
        .run
        .launches
        .iter()
        .filter(|(_, l)| plan::starts_at_once(l))
        .map(|(name, _)| name.clone())
    {
        start(live, &name)?;
        progress.started(&name);
    }
    let limit = tokio::time::Instant::now() + live.run.limit;
    loop {
        let ended = progress.ended().to_vec();
        let scene = fact::Scene {
            run: live.run,
            stage: &live.stage,
            records: live.plumb.as_ref().map(|plumb| plumb.sessions.as_path()),
            namespace: live.namespace.as_ref().map(|(id, _)| id.as_str()),
            field: &live.setting.dialect.record_namespace,
            ended: &ended,
        };
        let next = progress.next(&|gate| fact::look(gate, &scene));
        match next {
            Do::Open { gate } => {
                for tenant in live.tenants.values() {
                    tenant.open(&gate);
                }
                continue;
            }
            Do::Perform { step, key } => {
                let (done, seen) = perform(live, &mut progress, &step, &key)?;
                if let Some(done) = done {
                    progress.performed(done, seen);
                }
                continue;
            }
            Do::Kill { launch } => {
                let order = Order::Signal {
                    key: Key(launch.clone()),
                    signal: Signal::Kill,
                    reach: Reach::Tree,
                };
                live.supervisor.order(order)?;
                if let Some(facts) = live.facts.launches.get_mut(&launch) {
                    facts.limit_hit = true;
                }
                continue;
            }
            Do::Finish => break,
            Do::Wait => {}
        }
        let woke = tokio::select! {
            said = live.supervisor.next() => Woke::Said(said),
            event = journal.recv() => Woke::Model(event),
            () = pause(LOOK_EVERY), if progress.is_looking() => Woke::Look,
            () = tokio::time::sleep_until(progress.deadline().unwrap_or(limit).min(limit)) => Woke::Limit,
        };
        match woke {
            Woke::Said(None) => return Err(SuperviseError::Gone.into()),
            Woke::Said(Some(said)) => heard(live, &mut progress, said.notice),
            Woke::Model(Some((launch, event))) => {
                progress.model(&event);
                live.journal.push(tagged(&launch, event));
            }
            Woke::Model(None) | Woke::Look => {}
            Woke::Limit if tokio::time::Instant::now() >= limit => {
                live.facts.limit_hit = true;
                break;
            }
            Woke::Limit => progress.late(tokio::time::Instant::now()),
        }
    }
    for name in progress.running() {
        if let Some(facts) = live.facts.launches.get_mut(name) {
            facts
                .signalled
                .get_or_insert_with(|| "the end of the scenario".to_owned());
        }
    }
    live.facts.actions = progress.into_actions();
    while let Ok((launch, event)) = journal.try_recv() {
        live.journal.push(tagged(&launch, event));
    }
    Ok(())
}

fn tagged(launch: &str, mut event: Value) -> Value {
    event["launch"] = json!(launch);
    event
}
