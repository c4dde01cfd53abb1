//! `matrix`: the acceptance matrix of the plugin's readme, one row after another, each in an enclosure of its own.
//!
//! A row is this program again, with the row's words and variables and nothing of the caller's own; its evidence is
//! complete on the disk before the next one starts. It decides nothing about a scenario: a row's end does.

mod row;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use harness::exit::Exit;
use serde_json::json;

use crate::cli::{E2E, Enclosure, MatrixOptions, environment};
use crate::refusal::Refusal;
use crate::run::select;
use crate::sandbox::outlast;
use row::{Row, Standing, Which, plan, rows};

/// The scenario that only a row has.
const SCENARIO: (&str, &str) = (
    "matrix/stands-still.toml",
    include_str!("matrix/scenarios/matrix/stands-still.toml"),
);

/// What makes the container.
const CONTAINER: [(&str, &str); 2] = [
    ("e2e", include_str!("../../container/e2e")),
    (
        "Containerfile",
        include_str!("../../container/Containerfile"),
    ),
];

/// What every row needs.
struct Ground<'a> {
    options: &'a MatrixOptions,
    enclosure: Enclosure,
    /// Folder of the scenarios and the container's files.
    files: &'a Path,
    results: &'a Path,
}

/// Runs the rows, or prints what would be.
pub(crate) fn main(options: &MatrixOptions) -> Result<Exit, Refusal> {
    let rows = chosen(options)?;
    if options.plan {
        std::io::stdout()
            .write_all(plan(&rows).as_bytes())
            .map_err(Refusal::broken)?;
        return Ok(Exit::AsExpected);
    }
    if environment().contains_key(std::ffi::OsStr::new("DSH_E2E_HOST_DAEMON")) {
        return Err(Refusal::new(
            "DSH_E2E_HOST_DAEMON is set: the matrix never runs at the owner's own daemon",
            "unset it",
        ));
    }
    let files = tempfile::tempdir().map_err(Refusal::broken)?;
    lay_out(files.path()).map_err(Refusal::broken)?;
    let results = select::results(&options.out)?;
    let ground = Ground {
        options,
        enclosure: options.within.unwrap_or_else(enclosure),
        files: files.path(),
        results: &results,
    };
    let mut standings = Vec::new();
    let mut signalled = None;
    for row in &rows {
        if signalled.is_some() {
            tell(
                row,
                &Standing::NotRun("the matrix was stopped".to_owned()),
                0,
            );
            continue;
        }
        let (standing, signal) = run(row, &ground)?;
        signalled = signal;
        standings.push(standing);
    }
    let passed = standings
        .iter()
        .filter(|one| **one == Standing::Passed)
        .count();
    let text = format!(
        "\n{passed} of {} rows passed\nevidence: {}\n",
        rows.len(),
        results.display()
    );
    std::io::stdout().write_all(text.as_bytes()).ok();
    Ok(match signalled {
        Some(signal) => Exit::Signalled(signal),
        None if rows.is_empty() => Exit::NothingChecked,
        None if passed == rows.len() => Exit::AsExpected,
        None => Exit::Unexpected,
    })
}

/// The rows that are asked for; what needs a plumb that was not named is left out, and that is said.
fn chosen(options: &MatrixOptions) -> Result<Vec<Row>, Refusal> {
    let all = rows()?;
    let names: Vec<&str> = all.iter().map(|row| row.name.as_str()).collect();
    if let Some(stranger) = options
        .row
        .iter()
        .find(|name| !names.contains(&name.as_str()))
    {
        let what = format!("the matrix has no row `{stranger}`");
        return Err(Refusal::new(
            what,
            format!("there are: {}", names.join(", ")),
        ));
    }
    let mut rows = Vec::new();
    for row in all {
        let is_named = options.row.contains(&row.name);
        if !options.row.is_empty() && !is_named {
            continue;
        }
        if row.plumb == Which::Old && options.plumb_old.is_none() {
            if is_named {
                let what = format!("the row {} needs a plumb without namespaces", row.name);
                return Err(Refusal::new(what, "name one with `--plumb-old BIN`"));
            }
            writeln!(
                std::io::stderr(),
                "{} is left out: it needs `--plumb-old BIN`",
                row.name
            )
            .ok();
            continue;
        }
        rows.push(row);
    }
    Ok(rows)
}

/// A container where an engine answers, else a sandbox.
fn enclosure() -> Enclosure {
    let asked = Command::new("docker")
        .arg("info")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if asked.is_ok_and(|status| status.success()) {
        Enclosure::Container
    } else {
        Enclosure::Sandbox
    }
}

fn lay_out(files: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let (name, text) = SCENARIO;
    let place = files.join("scenarios").join(name);
    fs::create_dir_all(place.parent().unwrap_or(files))?;
    fs::write(place, text)?;
    let container = files.join("container");
    fs::create_dir(&container)?;
    for (name, text) in CONTAINER {
        fs::write(container.join(name), text)?;
        fs::set_permissions(container.join(name), fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// Runs one row and writes down what came of it; the number of the signal that stopped the matrix, if one did.
fn run(row: &Row, ground: &Ground<'_>) -> Result<(Standing, Option<u8>), Refusal> {
    let folder = ground.results.join(&row.name);
    fs::create_dir(&folder).map_err(Refusal::broken)?;
    let begun = Instant::now();
    let file = |name: &str| fs::File::create(folder.join(name)).map_err(Refusal::broken);
    let mut command = command(row, ground, &folder)?;
    command.stdout(file("stdout")?).stderr(file("stderr")?);
    let mut signal = None;
    let exit = match command.spawn() {
        Ok(child) => {
            let run = harness::supervise::process::ProcessId::of(child.id());
            let ended = outlast(child, &mut |number| {
                signal = u8::try_from(number).ok();
                if let Some(run) = run {
                    run.signal_raw(number);
                }
            });
            Ok(ended.map_err(Refusal::broken)?)
        }
        Err(error) => Err(format!("{}: {error}", command.get_program().display())),
    };
    let said = |name: &str| fs::read(folder.join(name)).unwrap_or_default();
    let (stdout, stderr) = (said("stdout"), said("stderr"));
    let standing = match &exit {
        Ok(exit) => row.standing(
            *exit,
            &String::from_utf8_lossy(&stdout),
            &String::from_utf8_lossy(&stderr),
        ),
        Err(why) => Standing::NotRun(why.clone()),
    };
    let seconds = begun.elapsed().as_secs();
    let told = json!({
        "row": row, "standing": standing, "seconds": seconds, "exit": exit.ok().map(Exit::number),
        "within": format!("{:?}", ground.enclosure).to_lowercase(),
    });
    complete(&folder, &format!("{told:#}\n")).map_err(Refusal::broken)?;
    tell(row, &standing, seconds);
    Ok((standing, signal))
}

/// Writes the row's own account, last, and waits until the disk has it.
fn complete(folder: &Path, text: &str) -> std::io::Result<()> {
    let mut file = fs::File::create(folder.join("row.json"))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn tell(row: &Row, standing: &Standing, seconds: u64) {
    std::io::stdout()
        .write_all(standing.line(&row.name, seconds).as_bytes())
        .ok();
}

/// The row as a command.
fn command(row: &Row, ground: &Ground<'_>, folder: &Path) -> Result<Command, Refusal> {
    use std::os::unix::process::CommandExt as _;
    let absolute = |path: &PathBuf| std::path::absolute(path).map_err(Refusal::broken);
    let plumb = match (row.plumb, &ground.options.plumb_old) {
        (Which::Old, Some(old)) => absolute(old)?,
        _ => absolute(&ground.options.plumb)?,
    };
    let program = std::env::current_exe().map_err(Refusal::broken)?;
    let mut command = match ground.enclosure {
        Enclosure::Container => {
            let mut command = Command::new(ground.files.join("container/e2e"));
            command.arg("--plumb").arg(plumb).env("DSH_E2E", program);
            command
        }
        Enclosure::Sandbox => {
            let mut command = Command::new(program);
            command
                .args(["run", "--sandbox", "--plumb"])
                .arg(plumb)
                .arg("--out")
                .arg(folder.join("results"));
            if let Some(cache) = &ground.options.cache {
                command.arg("--cache").arg(absolute(cache)?);
            }
            if row
                .words
                .iter()
                .any(|word| SCENARIO.0.contains(&format!("/{word}.")))
            {
                command
                    .arg("--scenarios")
                    .arg(ground.files.join("scenarios"));
            }
            command
        }
    };
    for name in E2E {
        command.env_remove(name);
    }
    command.env_remove("PLUMB_BIN");
    command
        .args(ground.options.dsh.iter().flat_map(|dsh| ["--dsh", dsh]))
        .args(&row.words)
        .envs(&row.env)
        .current_dir(folder)
        .stdin(Stdio::null())
        .process_group(0);
    Ok(command)
}
