//! `adequacy`: shows that each check can fail.
//!
//! Over a run's evidence, or over a run that it makes. What it finds out is `harness::adequacy`'s; it only reads folders,
//! shares the work out and prints.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use harness::adequacy::{Report, Survey, faults, page, reviewed, survey, weigh};
use harness::contract::contract;
use harness::exit::Exit;
use harness::judge::judge;
use harness::plan::Run;
use harness::verdict::{Standing, Verdict};

use crate::cli::{AdequacyOptions, ControlsOption, Format};
use crate::judge::{find_evidence, read};
use crate::refusal::Refusal;
use crate::run;

/// The name under which the binary is an agent that does nothing.
pub(crate) const DO_NOTHING: &str = "do-nothing";

/// Shows what can fail, and what cannot.
pub(crate) fn main(options: &AdequacyOptions) -> Result<Exit, Refusal> {
    let mut idle_passes = Vec::new();
    let folder = if let Some(folder) = &options.evidence {
        folder.clone()
    } else {
        idle_passes = idle(options)?;
        driven(options, ControlsOption::All, false)?
    };
    let report = over(&folder)?;
    let mut text = match options.format {
        Format::Plain => page(&report),
        Format::Json => {
            let told = serde_json::json!({ "report": report, "idle_passes": idle_passes });
            format!("{told:#}\n")
        }
    };
    if options.format == Format::Plain {
        for scenario in &idle_passes {
            writeln!(
                text,
                "survivor: {scenario} passes with an agent that does nothing"
            )
            .expect("a String takes everything");
        }
    }
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(Refusal::broken)?;
    Ok(if report.is_adequate() && idle_passes.is_empty() {
        Exit::AsExpected
    } else {
        Exit::Unexpected
    })
}

/// Scenarios that an agent passes which does nothing.
fn idle(options: &AdequacyOptions) -> Result<Vec<String>, Refusal> {
    let folder = driven(options, ControlsOption::None, true)?;
    let judged = folders(&folder)?
        .iter()
        .map(|folder| crate::judge::again(folder))
        .collect::<Result<Vec<Verdict>, Refusal>>()?;
    Ok(judged
        .into_iter()
        .filter(|verdict| verdict.standing == Standing::AsExpected)
        .map(|verdict| format!("{} {}", verdict.build, verdict.scenario))
        .collect())
}

/// Runs, and names the folder of the evidence.
fn driven(
    options: &AdequacyOptions,
    controls: ControlsOption,
    do_nothing: bool,
) -> Result<PathBuf, Refusal> {
    let mut run = options.run.clone();
    run.controls = Some(controls);
    run.do_nothing = do_nothing;
    match run::main(&run)? {
        Exit::AsExpected | Exit::Unexpected => {}
        exit => {
            return Err(Refusal {
                what: format!("the run that was to be looked at ended early: {exit:?}"),
                hint: None,
                exit,
            });
        }
    }
    std::fs::canonicalize(run.out.join("latest")).map_err(Refusal::broken)
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>, Refusal> {
    let mut folders = Vec::new();
    find_evidence(folder, &mut folders);
    folders.sort();
    if folders.is_empty() {
        return Err(Refusal {
            what: format!(
                "{}: there is no evidence (no facts.json below it)",
                folder.display()
            ),
            hint: Some("name a folder that `run` has written, such as e2e-results/latest".into()),
            exit: Exit::NothingChecked,
        });
    }
    Ok(folders)
}

/// The report on all evidence below a folder.
fn over(folder: &Path) -> Result<Report, Refusal> {
    let left = Mutex::new(folders(folder)?);
    let all = Mutex::new((0, Survey::default(), Vec::new()));
    let work = || -> Result<(), Refusal> {
        while let Some(folder) = locked(&left)?.pop() {
            let (run, evidence, build) = read(&folder)?;
            let is_clean = run.id.control.is_none();
            let found = is_clean.then(|| survey(&run, &evidence, &build));
            let mut verdict = judge(&run, &evidence, &build);
            if !is_witnessed(&run, &folder) {
                verdict.standing = Standing::Unexpected;
                let what = "its saboteur left no witness (sabotage.jsonl) that it acted";
                verdict.surprises.push(what.to_owned());
            }
            let mut all = locked(&all)?;
            if let Some(found) = found {
                all.0 += 1;
                all.1.join(found);
            }
            all.2.push((run, verdict));
        }
        Ok(())
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        started
            .into_iter()
            .map(|worker| {
                worker
                    .join()
                    .map_err(|_| Refusal::broken("a worker panicked"))?
            })
            .collect::<Result<Vec<()>, Refusal>>()
    })?;
    let (surveyed, survey, mut judged) = all.into_inner().map_err(Refusal::broken)?;
    judged.sort_by_key(|(run, _)| (run.build.clone(), run.id.to_string()));
    let contract = contract().map_err(Refusal::broken)?;
    let list = reviewed().map_err(Refusal::broken)?;
    Ok(weigh(surveyed, &survey, faults(&judged, &contract), &list))
}

/// Whether the saboteurs of a control, where it has any, have written down that they acted. One that has to fail to mount
/// cannot: that its row is named as not mounted is its witness.
fn is_witnessed(run: &Run, folder: &Path) -> bool {
    let rows = run
        .launches
        .values()
        .filter_map(|launch| launch.rows.as_ref());
    let mut names = rows.flat_map(|rows| rows.keys());
    run.id.control.is_none()
        || !names.any(|row| row.starts_with("saboteur:"))
        || run.flips.iter().any(|flip| flip.check == "mounted")
        || std::fs::metadata(folder.join("sabotage.jsonl")).is_ok_and(|file| file.len() > 0)
}

fn locked<T>(mutex: &Mutex<T>) -> Result<std::sync::MutexGuard<'_, T>, Refusal> {
    mutex
        .lock()
        .map_err(|_| Refusal::broken("a worker panicked"))
}
