//! `run --sandbox`: makes everything ready outside, and starts the same run again as the only thing in namespaces of
//! its own.
//!
//! It stays outside, hands signals in through a pipe, and ends as the run does. When it is killed the pipe ends, and
//! with it everything inside.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use harness::agent::dsh::{Cache, Surroundings};
use harness::enclosure::floor::{Access, Floor, Kept};
use harness::exit::Exit;
use harness::guard::{Admitted, Evidence};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

use crate::cli::{RunOptions, environment, words};
use crate::installed;
use crate::provision::Subject;
use crate::refusal::Refusal;
use crate::run::subjects::{names, subjects};
use crate::run::{guarded, reports};

/// util-linux's program, and the namespaces: user, with this user as root; mount; process; network; interprocess;
/// host name is left alone.
const UNSHARE: [&str; 4] = ["unshare", "-Urpfmni", "--mount-proc", "--kill-child"];

/// Variables that name folders of the account, which the sandbox replaces.
const ACCOUNT: [&str; 6] = [
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
];

/// Runs in a sandbox.
pub(crate) fn main(options: &RunOptions) -> Result<Exit, Refusal> {
    let admitted = guarded::admit(options)?;
    if let Admitted::Real(real) = &admitted
        && matches!(real.evidence, Evidence::Owner(_))
    {
        return Err(Refusal::new(
            "--sandbox: the owner's daemon is out of reach of a sandbox",
            "leave `--sandbox` out, or unset DSH_E2E_HOST_DAEMON",
        ));
    }
    probe()?;
    let base = tempfile::Builder::new()
        .prefix("dse-box-")
        .tempdir()
        .map_err(Refusal::broken)?;
    let subjects = subjects(options)?;
    let floor = floor(options, &admitted, &subjects, base.path())?;
    let found = found(options, &subjects)?;
    let program = std::env::current_exe().map_err(Refusal::broken)?;
    let floor = serde_json::to_string(&floor).map_err(Refusal::broken)?;
    let mut command = Command::new(UNSHARE[0]);
    command
        .args(&UNSHARE[1..])
        .arg("--")
        .arg(&program)
        .args(["enclosed", "--floor", &floor, "--"])
        .args(inner_words(options, &found))
        .stdin(Stdio::piped())
        // A terminal's signals come here alone, and from here through the pipe.
        .process_group(0);
    for name in ACCOUNT {
        command.env_remove(name);
    }
    if let (Some(_), [(_, executable), ..]) =
        (environment().get(OsStr::new("DSH_BIN")), found.as_slice())
    {
        command.env("DSH_BIN", executable);
    }
    let mut child = command.spawn().map_err(Refusal::broken)?;
    let mut told = child.stdin.take();
    let exit = outlast(child, &mut |number| {
        if let (Some(told), Ok(number)) = (&mut told, u8::try_from(number)) {
            // Who is not listening any more is ending already.
            told.write_all(&[number]).ok();
        }
    });
    let exit = exit.map_err(Refusal::broken)?;
    base.close().map_err(Refusal::broken)?;
    Ok(exit)
}

/// Asks the kernel whether it makes such namespaces, and says why not.
fn probe() -> Result<(), Refusal> {
    let asked = Command::new(UNSHARE[0])
        .args(&UNSHARE[1..])
        .arg("true")
        .output();
    let answer = asked.map_err(|error| {
        Refusal::new(
            format!("--sandbox: `{}` cannot be started: {error}", UNSHARE[0]),
            "install util-linux, or run in a container: container/e2e",
        )
    })?;
    if answer.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&answer.stderr).trim().to_owned();
    Err(Refusal::new(
        format!("--sandbox: this kernel makes no namespaces for this user: {said}"),
        format!("{}; or run in a container: container/e2e", hindrances()),
    ))
}

/// What is known to keep a user from making namespaces, as far as it can be seen here.
fn hindrances() -> String {
    let is = |file: &str, value: &str| {
        std::fs::read_to_string(file).is_ok_and(|text| text.trim() == value)
    };
    let mut found = Vec::new();
    for (file, value) in [
        ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
        (
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1",
        ),
        ("/proc/sys/user/max_user_namespaces", "0"),
    ] {
        if is(file, value) {
            found.push(format!("{file} is {value}"));
        }
    }
    if found.is_empty() {
        "a seccomp filter or a container without the right may forbid it".to_owned()
    } else {
        found.join("; ")
    }
}

/// What was asked for and is no pinned build, and where it really lies: links to it are not there inside.
fn found(options: &RunOptions, subjects: &[Subject]) -> Result<Vec<(String, PathBuf)>, Refusal> {
    let mut found = Vec::new();
    for (name, subject) in names(options)?.into_iter().zip(subjects) {
        if installed::is_meant(&name) {
            let real = std::fs::canonicalize(&subject.installed.executable);
            found.push((name, real.map_err(Refusal::broken)?));
        }
    }
    Ok(found)
}

/// The words of the same run, inside: what needs a network was done outside, and what was found there has its path.
fn inner_words(options: &RunOptions, found: &[(String, PathBuf)]) -> Vec<OsString> {
    let inner = |word: OsString| {
        let named = |(name, _): &&(String, PathBuf)| {
            word == OsStr::new(name) || word == *format!("--dsh={name}")
        };
        match found.iter().find(named) {
            Some((name, path)) if word == OsStr::new(name) => path.clone().into_os_string(),
            Some((_, path)) => format!("--dsh={}", path.display()).into(),
            None => word,
        }
    };
    let mut words: Vec<OsString> = words()
        .into_iter()
        .filter(|word| word != OsStr::new("--sandbox"))
        .map(inner)
        .collect();
    if !options.offline {
        words.push("--offline".into());
    }
    words
}

/// What the run needs of the files outside. It makes the results folder, and nothing else.
fn floor(
    options: &RunOptions,
    admitted: &Admitted,
    subjects: &[Subject],
    base: &Path,
) -> Result<Floor, Refusal> {
    let env = environment();
    let named = |name: &str| {
        let value = env.get(OsStr::new(name)).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    let home = named("HOME").ok_or_else(|| {
        Refusal::new(
            "--sandbox: HOME is not set",
            "set HOME: the sandbox puts an empty folder over it",
        )
    })?;
    let mut covered: BTreeSet<PathBuf> = ["/tmp", "/var/tmp"].map(PathBuf::from).into();
    covered.extend(named("TMPDIR").into_iter().chain(named("XDG_RUNTIME_DIR")));
    covered.insert(home.clone());
    covered.retain(|path| path.is_dir());
    let mut kept = Vec::new();
    let mut keep = |path: &Path, access: Access| -> Result<(), Refusal> {
        let path = std::fs::canonicalize(path).map_err(|error| {
            Refusal::new(
                format!("{}: {error}", path.display()),
                "name one that is there",
            )
        })?;
        kept.push(Kept { path, access });
        Ok(())
    };
    keep(
        &std::env::current_exe().map_err(Refusal::broken)?,
        Access::Read,
    )?;
    for subject in subjects {
        keep(&subject.installed.folder, Access::Read)?;
        for dir in &subject.installed.path_dirs {
            keep(dir, Access::Read)?;
        }
    }
    let cache = match &options.cache {
        Some(at) => Cache::at(at),
        None => Cache::of_the_account(&Surroundings::of_this_machine(env.clone())),
    };
    let cache = cache.map_err(|error| Refusal::new(error.to_string(), error.hint()))?;
    keep(cache.root(), Access::Read)?;
    for folder in options.plugin.iter().chain(&options.scenarios) {
        keep(folder, Access::Read)?;
    }
    if let Admitted::Real(real) = admitted {
        keep(&real.program, Access::Read)?;
        // It may be a script that needs what lies beside it.
        if let Some(beside) = real.program.parent() {
            keep(beside, Access::Read)?;
        }
    }
    std::fs::create_dir_all(&options.out).map_err(|error| {
        let what = format!("{}: {error}", options.out.display());
        Refusal::new(what, "name a folder that can be written with `--out DIR`")
    })?;
    keep(&options.out, Access::Write)?;
    for report in reports::read(&options.reports)? {
        if let Some(file) = report.file() {
            // A file has to be there to be kept; it is written anew at the end.
            std::fs::write(file, "").map_err(|error| {
                Refusal::new(
                    format!("{}: {error}", file.display()),
                    "name a file that can be written",
                )
            })?;
            keep(file, Access::Write)?;
        }
    }
    let made = options.root.as_ref().map(std::path::absolute);
    let made = made.transpose().map_err(Refusal::broken)?;
    let floor = Floor {
        base: base.to_owned(),
        home,
        covered,
        kept,
        made: made.into_iter().collect(),
        cwd: std::env::current_dir().map_err(Refusal::broken)?,
    };
    Ok(floor.arranged())
}

/// Waits for a program's end, and hands every signal on.
pub(crate) fn outlast(mut child: Child, hand_on: &mut dyn FnMut(i32)) -> std::io::Result<Exit> {
    let mut pipes = Vec::new();
    for number in [SIGHUP, SIGINT, SIGTERM, SIGCHLD] {
        let (pipe, write) = UnixStream::pair()?;
        pipe.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(number, write)?;
        pipes.push((number, pipe));
    }
    loop {
        if let Some(status) = child.try_wait()? {
            let signal = status.signal().and_then(|signal| u8::try_from(signal).ok());
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            return Ok(match (code, signal) {
                (Some(code), _) => Exit::of_number(code),
                (None, Some(signal)) => Exit::Signalled(signal),
                (None, None) => Exit::Broken,
            });
        }
        harness::enclosure::keeper::wait_for_any(pipes.iter().map(|(_, pipe)| pipe.as_fd()))?;
        for (number, pipe) in &mut pipes {
            let mut bytes = [0; 16];
            let length = pipe.read(&mut bytes).unwrap_or(0);
            for _ in 0..length {
                if *number != SIGCHLD {
                    hand_on(*number);
                }
            }
        }
    }
}
