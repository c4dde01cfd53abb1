//! `run --dry-run`: every plumb command and every path of the run that would be, without starting or making anything.
//!
//! Called once the guard has decided. It asks no plumb, fetches no build and makes no folder: what is only known later
//! stands in angle brackets.

use std::io::Write as _;
use std::path::Path;

use harness::agent::dsh::{Build, Cache, Surroundings, find};
use harness::exit::Exit;
use harness::guard::{Admitted, Evidence};
use harness::library::Entry;
use harness::plumb::debug_daemons;
use harness::plumb::dialect::{Dialect, OWNER, TokenBy};

use super::reports::Report;
use super::subjects::names;
use super::{Task, guarded, peers, tasks};
use crate::cli::{RunOptions, environment};
use crate::installed;
use crate::refusal::Refusal;

/// The plumb commands of a run, in order.
struct Commands {
    before: Vec<String>,
    each: Vec<String>,
    after: Vec<String>,
}

/// Prints.
pub(crate) fn main(
    options: &RunOptions,
    asked: &super::expect::Asked,
    entries: &[Entry],
    reports: &[Report],
    admitted: &Admitted,
) -> Result<Exit, Refusal> {
    let unknown = |error: String| Refusal::new(error, "name a pinned build with `--dsh BUILD`");
    let names = names(options)?;
    if let Some(name) = names.iter().find(|name| installed::is_meant(name)) {
        return Err(Refusal::new(
            format!(
                "--dsh {name}: a dry run starts nothing, not even a dsh to ask it for its version"
            ),
            "name the pinned build that it is like",
        ));
    }
    let builds: Vec<Build> = names
        .iter()
        .map(|name| find(name).map_err(|error| unknown(error.to_string())))
        .collect::<Result<_, _>>()?;
    let out = std::path::absolute(&options.out).map_err(Refusal::broken)?;
    let temporary = options.root.clone().unwrap_or_else(std::env::temp_dir);
    let root = temporary.join("dse-<random>");
    let planned: Vec<&Build> = builds.iter().collect();
    let mut tasks = tasks(
        options,
        asked,
        entries,
        &planned,
        &out.join("<time>-<pid>"),
        &root,
    );
    if matches!(admitted, Admitted::Real(_)) {
        guarded::leave_out(&mut tasks);
    }
    let commands = commands(admitted, &root);
    let with = tasks.iter().filter(|task| task.run.needs_plumb()).count();
    let before = match admitted {
        Admitted::Fake => format!(
            "before the run, for each of {} ways to behave",
            peers(&tasks).len()
        ),
        Admitted::Real(_) => "before the run".to_owned(),
    };
    let mut page = vec!["dry run: nothing is started, asked, fetched or created".to_owned()];
    page.push(plumb(admitted));
    section(&mut page, &format!("commands {before}"), commands.before);
    section(
        &mut page,
        &format!("commands for each of {with} runs with plumb"),
        commands.each,
    );
    section(&mut page, "commands after the run", commands.after);
    section(
        &mut page,
        "paths written by the run",
        own(options, &out, reports, &root)?,
    );
    section(&mut page, "paths written by plumb", plumbs(admitted, &root));
    section(
        &mut page,
        "paths written for each scenario",
        tasks.iter().map(scenario).collect(),
    );
    let text = page.join("\n") + "\n";
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(Refusal::broken)?;
    Ok(Exit::AsExpected)
}

/// A title and what stands under it; nothing where there is nothing.
fn section(page: &mut Vec<String>, title: &str, lines: Vec<String>) {
    if !lines.is_empty() {
        page.push(format!("\n{title}:"));
        page.extend(lines.into_iter().map(|line| format!("  {line}")));
    }
}

fn plumb(admitted: &Admitted) -> String {
    match admitted {
        Admitted::Fake => "plumb: the built-in one".to_owned(),
        Admitted::Real(real) => format!(
            "plumb: {}, named by {}; {}; isolation {}",
            real.program.display(),
            real.source,
            real.evidence,
            real.isolation
        ),
    }
}

fn commands(admitted: &Admitted, root: &Path) -> Commands {
    let dialect = Dialect::default();
    let program = match admitted {
        Admitted::Fake => root.join("p<n>").join(crate::FAKE_PLUMB),
        Admitted::Real(real) => real.program.clone(),
    };
    let call = |words: &str| format!("{} {words}", program.display());
    let list = call(&dialect.list.join(" "));
    let service = call(&dialect.service.join(" "));
    let look = match admitted {
        Admitted::Real(real) if matches!(real.evidence, Evidence::Owner(_)) => {
            Some(call(&debug_daemons::COMMAND.join(" ")))
        }
        _ => None,
    };
    let before = match (admitted, &look) {
        (Admitted::Fake, _) => {
            vec![
                call("service install"),
                service,
                call("daemon"),
                list.clone(),
                call("version"),
            ]
        }
        (Admitted::Real(_), None) => {
            vec![
                call("version"),
                call("namespace --help"),
                list.clone(),
                service,
            ]
        }
        (Admitted::Real(_), Some(look)) => vec![
            call("version"),
            call("namespace --help"),
            list.clone(),
            look.clone(),
            service,
            list.clone(),
        ],
    };
    let token = match &dialect.release_token {
        TokenBy::Env(name) => format!("the token in {name}"),
        TokenBy::Stdin => "the token on standard input".to_owned(),
    };
    let mut each: Vec<String> = look.iter().cloned().collect();
    each.extend([
        call(&dialect.create.join(" ").replace(OWNER, "<pid>")),
        call(
            "serve (the agent's row, its own connections, the notes; the token in PLUMB_NAMESPACE)",
        ),
        call("hooks run-claude (the plugin's resume proof)"),
        call(&format!("{} ({token})", dialect.release.join(" "))),
        list.clone(),
    ]);
    Commands {
        before,
        each,
        after: look.map(|_| list).into_iter().collect(),
    }
}

/// What is written beside the scenarios' own folders.
fn own(
    options: &RunOptions,
    out: &Path,
    reports: &[Report],
    root: &Path,
) -> Result<Vec<String>, Refusal> {
    let cache = match &options.cache {
        Some(at) => Cache::at(at),
        None => Cache::of_the_account(&Surroundings::of_this_machine(environment())),
    };
    let cache = cache.map_err(|error| Refusal::new(error.to_string(), error.hint()))?;
    let mut lines = vec![
        format!(
            "{}/ (a build that is not there yet)",
            cache.root().display()
        ),
        format!("{}/latest", out.display()),
        format!("{}/js/ (the plugins)", root.display()),
    ];
    let files = reports.iter().filter_map(Report::file);
    lines.extend(files.map(|file| file.display().to_string()));
    Ok(lines)
}

fn plumbs(admitted: &Admitted, root: &Path) -> Vec<String> {
    vec![match admitted {
        Admitted::Fake => format!("{}/p<n>/", root.display()),
        Admitted::Real(real) => format!(
            "within the run's namespaces: session folder, state and log, where `{} {}` says they are",
            real.program.display(),
            Dialect::default().service.join(" ")
        ),
    }]
}

fn scenario(task: &Task) -> String {
    format!(
        "{}/ and {}/ ({})",
        task.root.display(),
        task.evidence.display(),
        task.run.id
    )
}
