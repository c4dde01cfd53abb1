//! Drives the tasks of a run side by side, judges each as it ends, and stops all at a signal.

use std::path::Path;

use futures::{StreamExt as _, stream};
use harness::clock::Moment;
use harness::drive::{Cost, DriveError, ModelHost, PlumbHost, Setting, drive};
use harness::event::Event;
use harness::plan::Vocabulary;
use harness::plumb::dialect::Dialect;
use harness::stage::Tapping;
use harness::supervise::Warden;
use harness::verdict::Verdict;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Task;
use crate::cli::Keep;
use crate::provision::Subject;

/// What every task shares.
pub(crate) struct Scene<'a> {
    pub(crate) program: &'a Path,
    pub(crate) subjects: &'a [Subject],
    pub(crate) plugins: &'a Path,
    pub(crate) identity: Option<&'a Path>,
    pub(crate) warden: &'a Warden,
    pub(crate) model: &'a dyn ModelHost,
    pub(crate) plumb: &'a dyn PlumbHost,
    pub(crate) dialect: &'a Dialect,
    pub(crate) callers_keys: &'a [String],
    pub(crate) no_tap: bool,
    pub(crate) jobs: usize,
    pub(crate) keep: Keep,
}

/// What came of all tasks.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) broken: usize,
    pub(crate) cpu_us: u64,
    pub(crate) assumes: Vec<String>,
    pub(crate) signalled: Option<u8>,
    /// Whether the plumb in use was withdrawn.
    pub(crate) stopped: bool,
    /// Whether a private daemon may still live below the run's root.
    pub(crate) daemon_left: bool,
}

/// What one task came to.
struct Done {
    task: Task,
    cost: Cost,
    verdict: Result<Verdict, String>,
}

/// Drives all tasks.
pub(crate) async fn drive_all(
    tasks: Vec<Task>,
    scene: &Scene<'_>,
    tell: &mut dyn FnMut(&Event),
) -> Outcome {
    let mut outcome = Outcome::default();
    let mut left: Vec<usize> = (0..scene.subjects.len())
        .map(|subject| tasks.iter().filter(|task| task.subject == subject).count())
        .collect();
    let mut waiting: Vec<Vec<Event>> = vec![Vec::new(); left.len()];
    let mut signals = Signals::listen();
    let mut running = stream::iter(tasks)
        .map(|task| one(task, scene))
        .buffer_unordered(scene.jobs);
    loop {
        let done = tokio::select! {
            done = running.next() => done,
            number = signals.next() => {
                outcome.signalled = Some(number);
                tell(&Event::Stopped { why: format!("signal {number}") });
                break;
            }
        };
        let Some(done) = done else { break };
        outcome.cpu_us += done.cost.cpu_us;
        outcome.daemon_left |= done.cost.daemon_left;
        match done.verdict {
            Ok(verdict) => {
                for finding in &verdict.findings {
                    for number in &finding.assumes {
                        if !outcome.assumes.contains(number) {
                            outcome.assumes.push(number.clone());
                        }
                    }
                }
                waiting[done.task.subject].push(Event::Judged {
                    verdict: verdict.clone(),
                    wall_us: done.cost.wall_us,
                    cpu_us: done.cost.cpu_us,
                    folder: done.task.evidence.clone(),
                    again: done.task.again.clone(),
                });
                outcome.verdicts.push(verdict);
            }
            Err(_) if scene.plumb.stopped().is_some() => {}
            Err(what) => {
                outcome.broken += 1;
                waiting[done.task.subject].push(Event::Broken {
                    id: done.task.run.id.to_string(),
                    build: done.task.run.build.clone(),
                    what,
                    folder: done.task.evidence.clone(),
                });
            }
        }
        left[done.task.subject] -= 1;
        // Every build stands under one heading: what a later one has to say waits until all before it are done.
        for (subject, events) in waiting.iter_mut().enumerate() {
            events.drain(..).for_each(|event| tell(&event));
            if left[subject] > 0 {
                break;
            }
        }
        if let Some(why) = scene.plumb.stopped() {
            outcome.stopped = true;
            tell(&Event::Stopped { why });
            break;
        }
    }
    for event in waiting.into_iter().flatten() {
        tell(&event);
    }
    outcome
}

async fn one(task: Task, scene: &Scene<'_>) -> Done {
    let begun = Moment::now();
    let (mut cost, verdict) = match carry(&task, scene).await {
        Ok((cost, verdict)) => (cost, Ok(verdict)),
        Err(what) => (Cost::default(), Err(what)),
    };
    cost.wall_us = Moment::now().since(begun).0;
    if scene.keep == Keep::Never && !cost.daemon_left {
        // What cannot be removed here goes with the run's whole root.
        std::fs::remove_dir_all(&task.root).ok();
    }
    Done {
        task,
        cost,
        verdict,
    }
}

async fn carry(task: &Task, scene: &Scene<'_>) -> Result<(Cost, Verdict), String> {
    let subject = scene
        .subjects
        .get(task.subject)
        .ok_or("the build is gone")?;
    let words = subject
        .build
        .file("tools.toml")
        .map(String::from_utf8_lossy)
        .unwrap_or_default();
    let words =
        Vocabulary::read(subject.build.name(), &words).map_err(|error| error.to_string())?;
    let own = scene.plugins.join("identity");
    let setting = Setting {
        program: scene.program,
        build: &subject.build,
        words: &words,
        installed: &subject.installed,
        plugins: scene.plugins,
        identity: scene.identity.unwrap_or(&own),
        warden: scene.warden,
        model: scene.model,
        plumb: scene.plumb,
        dialect: scene.dialect,
        callers_keys: scene.callers_keys,
        tap: if scene.no_tap {
            Tapping::Off
        } else {
            Tapping::On
        },
        root: task.root.clone(),
        evidence: task.evidence.clone(),
        text: &task.text,
        again: &task.again,
    };
    let cost = drive(&task.run, &setting)
        .await
        .map_err(|error: DriveError| error.to_string())?;
    let verdict = crate::judge::again(&task.evidence).map_err(|refusal| refusal.what)?;
    let text = crate::judge::written(&verdict).map_err(|refusal| refusal.what)?;
    std::fs::write(task.evidence.join("verdict.json"), text).map_err(|error| error.to_string())?;
    Ok((cost, verdict))
}

/// The signals that stop a run.
struct Signals {
    all: Vec<(u8, Signal)>,
}

impl Signals {
    fn listen() -> Self {
        let kinds = [
            (1, SignalKind::hangup()),
            (2, SignalKind::interrupt()),
            (15, SignalKind::terminate()),
        ];
        // A signal that cannot be listened for ends the program at once, and the warden tears down.
        let all = kinds
            .into_iter()
            .filter_map(|(number, kind)| Some((number, signal(kind).ok()?)))
            .collect();
        Self { all }
    }

    /// The next signal's number; never without one.
    async fn next(&mut self) -> u8 {
        let waiting = self.all.iter_mut().map(|(number, signal)| {
            Box::pin(async move {
                signal.recv().await;
                *number
            })
        });
        futures::future::select_all(waiting).await.0
    }
}
