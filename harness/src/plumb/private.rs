//! The private home of daemon isolation: the environment that keeps a plumb in it, and looks at what is left there.
//!
//! Called by a run that was given `E2E_ISOLATION=daemon`. It looks below the one home alone, never through the
//! processes of the machine; it signals nobody.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::gone::{Look, Names, Pidfile, Ps};
use crate::gate::{self, Gate, Waiting};
use crate::supervise::Extra;
use crate::supervise::call;
use crate::supervise::notice::Status;
use crate::supervise::order::{Call, Signal};
use crate::supervise::process::ProcessId;

/// How long `ps` may take to speak of one process.
const PS_MS: u64 = 5_000;

/// The environment of every plumb process of a private home, whole: nothing of the caller's is in it, so no
/// `TSM_ORIG_*` can lead plumb back to the account's folders (facts, section 1). plumb 0.25 asks the OS account where
/// its folders are unless it is told not to.
pub fn environment(home: &Path) -> BTreeMap<String, String> {
    let below = |name: &str| home.join(name).display().to_string();
    [
        ("HOME", home.display().to_string()),
        ("XDG_CONFIG_HOME", below(".config")),
        ("XDG_DATA_HOME", below(".local/share")),
        ("XDG_STATE_HOME", below(".local/state")),
        ("XDG_CACHE_HOME", below(".cache")),
        ("XDG_RUNTIME_DIR", below("run")),
        ("PLUMB_ACCOUNT_AUTHORITY", "false".to_owned()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into()
}

/// How long a daemon may take to end after a TERM: the measured one answers within 0.1 s, and a serve that waits for
/// one gives up after 10 s (facts, section 1).
const STOPS_WITHIN: Duration = Duration::from_secs(10);

/// Stops the daemons below `home` that its pidfiles name; `ps` vetoes where it says that a process is something else.
///
/// A pidfile has no start time, so a pid may be somebody else's by now: only a process whose HOME is `home` is signalled.
pub async fn stop(home: &Path, program: &Path) -> Result<(), String> {
    for pidfile in look(home, program).pidfiles {
        let Names::Live(pid, Ps::Daemon | Ps::Silent(_)) = pidfile.names else {
            continue;
        };
        let Some(daemon) = ProcessId::of(pid).filter(|_| lives_in(home, pid)) else {
            continue;
        };
        daemon.signal(Signal::Term);
        let gate = Gate {
            what: "the private daemon ends",
            within: STOPS_WITHIN,
            every: Duration::from_millis(10),
        };
        let gone = gate::wait(gate, || {
            if daemon.is_alive() {
                Waiting::NotYet(format!("PID {pid} lives"))
            } else {
                Waiting::Ready(())
            }
        });
        if let Err(error) = gone.await {
            daemon.signal(Signal::Kill);
            return Err(format!("{error}; it was killed"));
        }
    }
    Ok(())
}

/// Whether a process was started with this HOME. One whose environment cannot be read is not ours.
fn lives_in(home: &Path, pid: u32) -> bool {
    let process = i32::try_from(pid).map(procfs::process::Process::new);
    let Ok(Ok(environment)) = process.map(|process| process.and_then(|it| it.environ())) else {
        return false;
    };
    environment.get(OsStr::new("HOME")).map(Path::new) == Some(home)
}

/// Looks at sockets and pidfiles below `home`, of a plumb that is called `program`.
pub fn look(home: &Path, program: &Path) -> Look {
    let mut look = Look::default();
    let walked = walk(home, &mut |path, kind| {
        let ending = path.extension().and_then(OsStr::to_str);
        if kind.is_socket() && ending == Some("sock") {
            match listens(path) {
                Ok(Listens::Yes) => look.listening.push(path.to_owned()),
                Ok(Listens::No) => {}
                Err(error) => look.unseen.push(format!("{}: {error}", path.display())),
            }
        } else if kind.is_file() && ending == Some("pid") {
            look.pidfiles.push(Pidfile {
                path: path.to_owned(),
                names: names(path, program),
            });
        }
    });
    if let Err((path, error)) = walked {
        look.unseen.push(format!("{}: {error}", path.display()));
    }
    look
}

/// Whether somebody listens on a socket.
enum Listens {
    Yes,
    No,
}

fn listens(socket: &Path) -> std::io::Result<Listens> {
    use std::io::ErrorKind::{ConnectionRefused, NotFound};
    match UnixStream::connect(socket) {
        Ok(_) => Ok(Listens::Yes),
        Err(error) if matches!(error.kind(), ConnectionRefused | NotFound) => Ok(Listens::No),
        Err(error) => Err(error),
    }
}

/// Every file below a folder; a folder or file that went meanwhile is gone.
fn walk(
    folder: &Path,
    seen: &mut dyn FnMut(&Path, fs::FileType),
) -> Result<(), (PathBuf, std::io::Error)> {
    let gone = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if gone(&error) => return Ok(()),
        Err(error) => return Err((folder.to_owned(), error)),
    };
    for entry in entries {
        let entry = entry.map_err(|error| (folder.to_owned(), error))?;
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&entry.path(), seen)?,
            Ok(kind) => seen(&entry.path(), kind),
            Err(error) if gone(&error) => {}
            Err(error) => return Err((entry.path(), error)),
        }
    }
    Ok(())
}

fn names(pidfile: &Path, program: &Path) -> Names {
    let text = match fs::read_to_string(pidfile) {
        Ok(text) => text,
        Err(error) => return Names::Unreadable(error.to_string()),
    };
    let Ok(pid) = text.trim().parse::<u32>() else {
        return Names::Unreadable(format!("`{}` is no PID", text.trim()));
    };
    match ProcessId::of(pid).filter(|process| process.is_alive()) {
        Some(_) => Names::Live(pid, ps(pid, program)),
        None => Names::Dead(pid),
    }
}

/// Asks `ps` what a process is.
fn ps(pid: u32, program: &Path) -> Ps {
    let argv = ["ps", "-o", "args=", "-p", &pid.to_string()]
        .map(str::to_owned)
        .to_vec();
    let env = [("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())].into();
    let asked = Call {
        argv,
        env,
        cwd: PathBuf::from("/"),
        within_ms: PS_MS,
    };
    match call(&asked, &Extra::default()) {
        Ok(answer) if answer.status == Status::Code(0) => {
            read_ps(&String::from_utf8_lossy(&answer.stdout), program)
        }
        Ok(answer) => Ps::Silent(format!(
            "{:?} {}",
            answer.status,
            String::from_utf8_lossy(&answer.stderr).trim()
        )),
        Err(error) => Ps::Silent(error.to_string()),
    }
}

/// Reads its answer: a daemon is a program of plumb's own name whose first argument is `daemon` (facts, section 2).
fn read_ps(answer: &str, program: &Path) -> Ps {
    let mut words = answer.split_whitespace();
    let Some(first) = words.next() else {
        return Ps::Silent("an empty answer".to_owned());
    };
    if Path::new(first).file_name() == program.file_name() && words.next() == Some("daemon") {
        return Ps::Daemon;
    }
    Ps::Else(answer.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::path::Path;

    use super::{environment, look, read_ps, stop};
    use crate::plumb::gone::{Names, Ps};

    #[test]
    fn the_environment_keeps_everything_below_the_private_home() {
        let environment = environment(Path::new("/t/home"));
        for (key, value) in &environment {
            assert!(
                value.starts_with("/t/home") || key == "PLUMB_ACCOUNT_AUTHORITY",
                "{key}={value}"
            );
        }
        assert_eq!(environment["PLUMB_ACCOUNT_AUTHORITY"], "false");
        assert_eq!(environment.len(), 7);
    }

    #[test]
    fn ps_tells_a_daemon_of_this_plumb_from_everything_else() {
        let program = Path::new("/opt/plumb");
        assert_eq!(read_ps("/usr/bin/plumb daemon\n", program), Ps::Daemon);
        assert_eq!(
            read_ps("plumb serve\n", program),
            Ps::Else("plumb serve".into())
        );
        assert_eq!(
            read_ps("vi daemon\n", program),
            Ps::Else("vi daemon".into())
        );
        assert_eq!(read_ps("\n", program), Ps::Silent("an empty answer".into()));
    }

    #[tokio::test]
    async fn a_daemon_with_another_home_is_never_signalled_and_one_of_this_home_is() {
        let room = tempfile::tempdir().unwrap();
        let home = room.path().join("home");
        std::fs::create_dir(&home).unwrap();
        // A shell called as a daemon is called, which waits for a line that never comes.
        let program = room.path().join("plumb");
        std::fs::copy("/bin/sh", &program).unwrap();
        std::fs::write(room.path().join("daemon"), "read line").unwrap();
        for (of, stopped) in [(room.path(), false), (&home, true)] {
            let mut daemon = std::process::Command::new(&program)
                .arg("daemon")
                .current_dir(room.path())
                .env("HOME", of)
                .stdin(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            std::fs::write(home.join("plumb.pid"), daemon.id().to_string()).unwrap();
            let ours = crate::supervise::process::ProcessId::of(daemon.id()).unwrap();
            stop(&home, &program).await.unwrap();
            assert_eq!(ours.is_alive(), !stopped, "HOME={}", of.display());
            daemon.kill().unwrap();
            daemon.wait().unwrap();
        }
    }

    #[test]
    fn a_look_sees_listeners_and_pidfiles_at_any_depth_and_a_dead_socket_is_quiet() {
        let home = tempfile::tempdir().unwrap();
        let run = home.path().join("a/run");
        std::fs::create_dir_all(&run).unwrap();
        let listener = UnixListener::bind(run.join("plumb.sock")).unwrap();
        std::fs::write(run.join("plumb.pid"), "many").unwrap();
        let seen = look(home.path(), Path::new("plumb"));
        assert_eq!(seen.listening, [run.join("plumb.sock")]);
        assert_eq!(
            seen.pidfiles[0].names,
            Names::Unreadable("`many` is no PID".into())
        );

        drop(listener);
        std::fs::write(run.join("plumb.pid"), std::process::id().to_string()).unwrap();
        let seen = look(home.path(), Path::new("plumb"));
        assert!(seen.listening.is_empty());
        assert!(
            matches!(&seen.pidfiles[0].names, Names::Live(pid, Ps::Else(_) | Ps::Silent(_)) if *pid == std::process::id())
        );
    }
}
