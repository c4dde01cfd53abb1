//! `run --dry-run`: every plumb command and every path of the run that would be, without starting or making anything.
//!
//! Called once the guard has decided. It asks no plumb, fetches no build and makes no folder: what is only known later
//! stands in angle brackets.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use harness::agent::dsh::{Build, Cache, Surroundings, find};
use harness::exit::Exit;
use harness::guard::{Admitted, Evidence, Isolation};
use harness::library::Entry;
use harness::plumb::debug_daemons;
use harness::plumb::dialect::{Dialect, TokenBy};

use super::{Task, guarded, names, peers, tasks};
use crate::cli::{RunOptions, environment};
use crate::refusal::Refusal;

/// Prints.
pub(crate) fn main(
    options: &RunOptions,
    entries: &[Entry],
    reports: &[PathBuf],
    admitted: &Admitted,
) -> Result<Exit, Refusal> {
    let unknown = |error: String| Refusal::new(error, "name a pinned build with `--dsh BUILD`");
    let builds: Vec<Build> = names(options)
        .iter()
        .map(|name| find(name).map_err(|error| unknown(error.to_string())))
        .collect::<Result<_, _>>()?;
    let out = std::path::absolute(&options.out).map_err(Refusal::broken)?;
    let root = options
        .root
        .clone()
        .unwrap_or_else(std::env::temp_dir)
        .join("dse-<random>");
    let planned = builds.iter().collect::<Vec<_>>();
    let mut tasks = tasks(options, entries, &planned, &out.join("<time>-<pid>"), &root);
    if matches!(admitted, Admitted::Real(_)) {
        guarded::leave_out(&mut tasks);
    }
    let mut text = String::from("dry run: nothing is started, asked, fetched or created\n\n");
    commands(&mut text, admitted, &tasks, &root);
    paths(&mut text, options, &out, reports)?;
    folders(&mut text, admitted, &tasks, &root);
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(Refusal::broken)?;
    Ok(Exit::AsExpected)
}

/// The plumb commands, in order.
fn commands(text: &mut String, admitted: &Admitted, tasks: &[Task], root: &Path) {
    let dialect = Dialect::default();
    let say = |text: &mut String, title: &str, lines: &[String]| {
        let _ = writeln!(text, "{title}");
        for line in lines {
            let _ = writeln!(text, "  {line}");
        }
    };
    let (plumb, host) = match admitted {
        Admitted::Fake => {
            let _ = writeln!(text, "plumb: the built-in one");
            (
                root.join("p<n>")
                    .join(crate::FAKE_PLUMB)
                    .display()
                    .to_string(),
                false,
            )
        }
        Admitted::Real(real) => {
            let program = real.program.display();
            let _ = writeln!(
                text,
                "plumb: {program}, named by {}; {}; isolation {}",
                real.source, real.evidence, real.isolation
            );
            (
                program.to_string(),
                matches!(real.evidence, Evidence::Owner(_)),
            )
        }
    };
    let line = |words: &[String]| format!("{plumb} {}", words.join(" "));
    let plain = |words: &str| format!("{plumb} {words}");
    let look = host.then(|| plain(&debug_daemons::COMMAND.join(" ")));
    let mut before = match admitted {
        Admitted::Fake => vec![
            plain("service install"),
            line(&dialect.service),
            plain("daemon"),
        ],
        Admitted::Real(_) => vec![
            plain("version"),
            plain("namespace --help"),
            line(&dialect.list),
        ],
    };
    match admitted {
        Admitted::Fake => before.extend([line(&dialect.list), plain("version")]),
        Admitted::Real(_) => {
            before.extend(look.clone());
            before.push(line(&dialect.service));
            before.extend(host.then(|| line(&dialect.list)));
        }
    }
    let title = match admitted {
        Admitted::Fake => format!(
            "commands before the run, for each of {} ways to behave:",
            peers(tasks).len()
        ),
        Admitted::Real(_) => "commands before the run:".to_owned(),
    };
    say(text, &title, &before);
    let with = tasks.iter().filter(|task| task.run.needs_plumb()).count();
    let token = match &dialect.release_token {
        TokenBy::Env(name) => format!("the token in {name}"),
        TokenBy::Stdin => "the token on standard input".to_owned(),
    };
    let create = dialect
        .create
        .join(" ")
        .replace(harness::plumb::dialect::OWNER, "<pid>");
    let mut each: Vec<String> = look.into_iter().collect();
    each.extend([
        plain(&create),
        format!(
            "{} (the agent's row, its own connections, the notes; the token in PLUMB_NAMESPACE)",
            plain("serve")
        ),
        format!("{} (the plugin's resume proof)", plain("hooks run-claude")),
        format!("{} ({token})", line(&dialect.release)),
        line(&dialect.list),
    ]);
    say(
        text,
        &format!("commands for each of {with} runs with plumb:"),
        &each,
    );
    if host {
        say(text, "commands after the run:", &[line(&dialect.list)]);
    }
}

/// What is written beside the runs' own folders.
fn paths(
    text: &mut String,
    options: &RunOptions,
    out: &Path,
    reports: &[PathBuf],
) -> Result<(), Refusal> {
    let cache = match &options.cache {
        Some(at) => std::path::absolute(at)
            .map_err(Refusal::broken)?
            .display()
            .to_string(),
        None => Cache::of_the_account(&Surroundings::of_this_machine(environment())).map_or_else(
            |error| error.to_string(),
            |cache| cache.root().display().to_string(),
        ),
    };
    let _ = writeln!(text, "\npaths written:");
    let _ = writeln!(text, "  {cache}/ (a build that is not there yet)");
    let _ = writeln!(text, "  {}/latest", out.display());
    for report in reports {
        let _ = writeln!(text, "  {}", report.display());
    }
    Ok(())
}

/// The folders of the run and of each of its scenarios.
fn folders(text: &mut String, admitted: &Admitted, tasks: &[Task], root: &Path) {
    let _ = writeln!(text, "  {}/js/ (the plugins)", root.display());
    match admitted {
        Admitted::Fake => {
            let _ = writeln!(
                text,
                "  {}/p<n>/ (the built-in plumb's home)",
                root.display()
            );
        }
        Admitted::Real(real) if real.isolation == Isolation::Namespace => {
            let _ = writeln!(
                text,
                "  by plumb's own daemon, within the run's namespaces: its session folder, state and log, where \
                 `{} {}` says they are",
                real.program.display(),
                Dialect::default().service.join(" ")
            );
        }
        Admitted::Real(_) => {}
    }
    for task in tasks {
        let _ = writeln!(
            text,
            "  {}/ and {}/ ({})",
            task.root.display(),
            task.evidence.display(),
            task.run.id
        );
    }
}
