//! The fault `two-daemons`: a second process that looks like a daemon and is none.
//!
//! Started by the first one and tied to it by a pipe, so that it never outlives it.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tokio::io::AsyncReadExt;
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};

use super::listen::write_private;
use crate::dirs::Dirs;
use crate::setting::Setting;

const VARIABLE: &str = "FAKE_PLUMB_SECOND";

/// Where the second one writes its pid.
pub(crate) fn pidfile(dirs: &Dirs) -> PathBuf {
    dirs.runtime.join("plumb.2.pid")
}

pub(super) fn is_wanted(setting: &Setting) -> bool {
    setting.var(VARIABLE).is_some()
}

pub(super) fn spawn(setting: &Setting) -> io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .arg0(&setting.argv0)
        .arg("daemon")
        .env(VARIABLE, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

pub(super) fn run(dirs: &Dirs) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let socket = dirs.runtime.join("plumb.2.sock");
        drop(fs::remove_file(&socket));
        let _listener = UnixListener::bind(&socket)?;
        write_private(&pidfile(dirs), &std::process::id().to_string())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut byte = [0];
        let mut stdin = tokio::io::stdin();
        tokio::select! {
            _ = stdin.read(&mut byte) => {}
            _ = terminate.recv() => {}
        }
        drop(fs::remove_file(socket));
        drop(fs::remove_file(pidfile(dirs)));
        Ok(())
    })
}
