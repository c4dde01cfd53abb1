//! `run`: selects, provisions, starts the peers, drives every run, judges and reports.

mod conform;
mod drive;
mod dry;
mod expect;
pub(crate) mod guarded;
pub(crate) mod reports;
pub(crate) mod select;
pub(crate) mod subjects;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use harness::agent::dsh::Build;
use harness::clock::Moment;
use harness::contract::{Extent, review};
use harness::event::Event;
use harness::exit::Exit;
use harness::guard::Isolation;
use harness::library::{self, Entry};
use harness::plan::{self, Controls, Subject as Planned};
use harness::plumb::cli::Plumb;
use harness::plumb::dialect::Dialect;
use harness::report::{Account, Plain};
use harness::scenario::Peer;
use harness::supervise::{Warden, WardenProgram};
use harness::verdict::Standing;

use crate::adequacy::DO_NOTHING;
use crate::check::shown;
use crate::cli::{ControlsOption, RunOptions};
use crate::model_host::Scripted;
use crate::plumb_host::{FakePlumbs, Ground, Plumbs};
use crate::provision::Subject;
use crate::refusal::Refusal;
use guarded::Given;

/// One run to be driven, and where its evidence goes.
pub(crate) struct Task {
    pub(crate) run: plan::Run,
    pub(crate) subject: usize,
    pub(crate) text: String,
    pub(crate) evidence: PathBuf,
    pub(crate) root: PathBuf,
    pub(crate) again: String,
}

/// Runs.
pub(crate) fn main(options: &RunOptions) -> Result<Exit, Refusal> {
    let entries =
        library::scenarios(options.scenarios.as_deref()).map_err(|error| shown(&error.into()))?;
    let entries = select::select(entries, options)?;
    let asked = expect::Asked::read(&crate::cli::environment())?;
    let reports = reports::read(&options.reports)?;
    let admitted = guarded::admit(options)?;
    if options.dry_run {
        return dry::main(options, &asked, &entries, &reports, &admitted);
    }
    let given = guarded::take(&admitted)?;
    if let Some(given) = &given {
        // The acceptance line comes before anything exists, whatever ends the run after it.
        let page = Plain::default().on(&guarded::admitted(given));
        std::io::stderr().write_all(page.err.as_bytes()).ok();
    }
    let mut subjects = subjects::subjects(options)?;
    let idle = tempfile::tempdir().map_err(Refusal::broken)?;
    if options.do_nothing {
        let executable = idle.path().join(DO_NOTHING);
        let program = std::env::current_exe().map_err(Refusal::broken)?;
        std::os::unix::fs::symlink(program, &executable).map_err(Refusal::broken)?;
        for subject in &mut subjects {
            subject.installed.executable.clone_from(&executable);
        }
    }
    let results = select::results(&options.out)?;
    let runtime = tokio::runtime::Runtime::new().map_err(Refusal::broken)?;
    let (exit, account) =
        runtime.block_on(all(options, &asked, &entries, &subjects, &results, given))?;
    reports::write(&reports, &account)?;
    Ok(exit)
}

/// Drives everything and ends everything.
#[expect(
    clippy::too_many_lines,
    reason = "the order of a run, from top to bottom"
)]
async fn all(
    options: &RunOptions,
    asked: &expect::Asked,
    entries: &[Entry],
    subjects: &[Subject],
    results: &Path,
    given: Option<Given>,
) -> Result<(Exit, Account), Refusal> {
    let set = conform::set(options, subjects)?;
    let origin = Moment::now();
    let mut plain = Plain::default();
    let mut account = Account::default();
    let mut tell = |event: &Event| {
        account.on(event);
        let page = plain.on(event);
        // A reader that has gone does not stop the run; its verdict is in the exit code.
        std::io::stderr().write_all(page.err.as_bytes()).ok();
        std::io::stdout().write_all(page.out.as_bytes()).ok();
    };
    let root = select::root(options.root.as_deref())?;
    let builds: Vec<&Build> = subjects.iter().map(|subject| &subject.build).collect();
    let mut tasks = tasks(options, asked, entries, &builds, results, root.path());
    if given.is_some() {
        guarded::leave_out(&mut tasks);
    }
    if tasks.is_empty() {
        return Err(nothing_shown());
    }
    for subject in subjects {
        tell(&ready(subject));
    }
    let program = std::env::current_exe().map_err(Refusal::broken)?;
    let plugins = library::lay_out_plugins(&root.path().join("js")).map_err(Refusal::broken)?;
    let dialect = Dialect::default();
    let verb = "warden";
    let warden = WardenProgram {
        program: &program,
        verb,
    };
    let warden = Warden::start(warden, origin).map_err(Refusal::broken)?;
    let model = Scripted::start(origin).await.map_err(Refusal::broken)?;
    let ground = Ground {
        program: &program,
        root: root.path(),
        warden: &warden,
        dialect: &dialect,
    };
    let plumbs = plumbs(given, &tasks, &ground).await?;
    if let Some(plumb) = plumbs.built_in() {
        tell(&built_in(plumb)?);
    }
    let jobs = jobs(options, &plumbs);
    tell(&Event::Started {
        runs: tasks.len(),
        jobs,
        results: results.to_owned(),
    });
    let scene = drive::Scene {
        program: &program,
        subjects,
        plugins: &plugins,
        identity: options.plugin.as_deref(),
        warden: &warden,
        model: &model,
        plumb: &plumbs,
        dialect: &dialect,
        callers_keys: &crate::cli::keys(),
        no_tap: options.no_tap,
        jobs,
        keep: options.keep,
    };
    let reviews = reviews(options, &tasks, subjects);
    let outcome = drive::drive_all(tasks, &scene, &mut tell).await;
    model.shutdown().await;
    // The daemons are given up after the warden has ended the scenarios: a serve that outlives its daemon starts another.
    let closing = warden.close().await.map_err(Refusal::broken)?;
    let real = plumbs.into_real();
    let is_clean = real.is_none_or(|real| guarded::certify(&real, &mut tell));
    for trouble in &closing.trouble {
        writeln!(std::io::stderr(), "warning: {trouble}").ok();
    }
    if outcome.daemon_left {
        root.keep();
    } else {
        root.finish(options.keep, &outcome.verdicts);
    }
    for review in &reviews {
        tell(review);
    }
    tell(&Event::Over {
        wall_us: Moment::now().since(origin).0,
        cpu_us: outcome.cpu_us,
        results: results.to_owned(),
        assumes: outcome.assumes.clone(),
    });
    let exit = match exit_of(&outcome) {
        Exit::AsExpected | Exit::NothingChecked if !is_clean => Exit::Unexpected,
        Exit::AsExpected if !reviews.is_empty() => Exit::Unexpected,
        exit => exit,
    };
    let exit = match &set {
        Some(set) => conform::told(set, exit, entries, subjects, &outcome.verdicts),
        None => exit,
    };
    let (exit, told) = asked.weigh(exit, &outcome.verdicts);
    if let Some(told) = told {
        std::io::stdout().write_all(told.as_bytes()).ok();
    }
    Ok((exit, account))
}

/// What is wrong with the reviewed deviations of the builds that are driven.
fn reviews(options: &RunOptions, tasks: &[Task], subjects: &[Subject]) -> Vec<Event> {
    let whole = options.only.is_empty()
        && options.mode.is_empty()
        && options.controls != Some(ControlsOption::Only);
    let extent = if whole { Extent::Whole } else { Extent::Part };
    let today = jiff::Zoned::now().date();
    subjects
        .iter()
        .enumerate()
        .flat_map(|(idx, subject)| {
            let runs = tasks
                .iter()
                .filter(move |task| task.subject == idx)
                .map(|task| &task.run);
            let build = subject.build.name().to_owned();
            review(&subject.build.deviations, runs, extent, today)
                .into_iter()
                .map(move |what| Event::Review {
                    build: build.clone(),
                    what,
                })
        })
        .collect()
}

fn nothing_shown() -> Refusal {
    Refusal {
        what: "no scenario is shown by the chosen builds".into(),
        hint: Some("`dsh-e2e list` shows which builds a scenario needs".into()),
        exit: Exit::NothingChecked,
    }
}

fn built_in(plumb: Plumb) -> Result<Event, Refusal> {
    let version = plumb.version().map_err(Refusal::broken)?;
    Ok(Event::Plumb {
        program: plumb.program,
        version,
        isolation: Isolation::Namespace.to_string(),
    })
}

/// The plumb that is there, or the built-in one started in every way that a task wants.
async fn plumbs(
    given: Option<Given>,
    tasks: &[Task],
    ground: &Ground<'_>,
) -> Result<Plumbs, Refusal> {
    match given {
        Some(Given::Shared(real)) => Ok(Plumbs::Real(real)),
        Some(Given::Private(private)) => Ok(Plumbs::Private(private)),
        None => FakePlumbs::start(&peers(tasks), ground)
            .await
            .map(Plumbs::Fake)
            .map_err(Refusal::broken),
    }
}

/// How many scenarios run at a time: one at the owner's own daemon, and one where each starts a daemon.
fn jobs(options: &RunOptions, plumbs: &Plumbs) -> usize {
    if plumbs.is_one_at_a_time() {
        return 1;
    }
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    options.jobs.unwrap_or_else(all).max(1)
}

fn exit_of(outcome: &drive::Outcome) -> Exit {
    if let Some(signal) = outcome.signalled {
        return Exit::Signalled(signal);
    }
    if outcome.stopped {
        return Exit::Unexpected;
    }
    if outcome.broken > 0 {
        return Exit::Broken;
    }
    if outcome.verdicts.is_empty() {
        return Exit::NothingChecked;
    }
    if outcome
        .verdicts
        .iter()
        .all(|verdict| verdict.standing == Standing::AsExpected)
    {
        Exit::AsExpected
    } else {
        Exit::Unexpected
    }
}

fn ready(subject: &Subject) -> Event {
    Event::Ready {
        build: subject.installed.build.clone(),
        version: subject.installed.version.clone(),
        hash: subject.installed.hash.clone(),
        executable: subject.installed.executable.clone(),
        revision: subject.build.facts.revision.to_string(),
    }
}

/// The ways in which scenarios want plumb to behave; the plain one first.
fn peers(tasks: &[Task]) -> Vec<Peer> {
    let mut peers = Vec::new();
    for task in tasks.iter().filter(|task| task.run.needs_plumb()) {
        if !peers.contains(&task.run.plumb) {
            peers.push(task.run.plumb.clone());
        }
    }
    peers.sort_by_key(|peer: &Peer| peer != &Peer::default());
    peers
}

fn tasks(
    options: &RunOptions,
    asked: &expect::Asked,
    entries: &[Entry],
    builds: &[&Build],
    results: &Path,
    root: &Path,
) -> Vec<Task> {
    let controls = match options.controls {
        Some(ControlsOption::None) => Controls::None,
        Some(ControlsOption::Only) => Controls::Only,
        None if asked.has_to_fail() || options.requirements.is_some() => Controls::None,
        Some(ControlsOption::All) | None => Controls::All,
    };
    let names = subjects::again(options);
    let mut tasks = Vec::new();
    for (idx, build) in builds.iter().enumerate() {
        let planned = Planned {
            build: build.name().to_owned(),
            revision: build.facts.revision.to_string(),
        };
        for entry in entries {
            for run in plan::expand(std::slice::from_ref(&entry.scenario), &planned, controls) {
                // A patch is made for the built-in plugin; somebody else's is not made worse.
                if run.plugin_patch.is_some() && options.plugin.is_some() {
                    continue;
                }
                let run = asked.lay(run);
                for time in 1..=options.repeat {
                    let mut name = run.id.to_string();
                    if options.repeat > 1 {
                        name = format!("{name}.{time}");
                    }
                    let plumb = options.plumb.as_ref();
                    let plumb = plumb.map_or(String::new(), |plumb| format!(" --plumb '{plumb}'"));
                    let again = format!(
                        "dsh-e2e run{}{plumb} --only '{}'",
                        names[idx], run.id.scenario
                    );
                    tasks.push(Task {
                        evidence: results.join(&run.build).join(&name),
                        root: root.join(format!("s{}", tasks.len())),
                        run: run.clone(),
                        subject: idx,
                        text: entry.text.clone(),
                        again,
                    });
                }
            }
        }
    }
    tasks
}
