//! The service profile: where the daemon of this account keeps what, as `service show` tells it (assumed, A17).

use std::path::PathBuf;

use serde::Serialize;

use crate::dirs::Dirs;
use crate::generation::Generation;

/// The profile as it is written and shown.
#[derive(Debug, Serialize)]
pub(crate) struct Profile {
    session_dir: PathBuf,
    state_dir: PathBuf,
    data_dir: PathBuf,
    cache_dir: PathBuf,
    runtime_dir: PathBuf,
    log: PathBuf,
    socket: PathBuf,
    control: PathBuf,
    pidfile: PathBuf,
    /// The ledger of executed tool calls; the real plumb has none.
    effects: PathBuf,
    version: &'static str,
}

impl Profile {
    pub(crate) fn of(dirs: &Dirs, generation: Generation) -> Self {
        Self {
            session_dir: dirs.sessions(),
            state_dir: dirs.state.clone(),
            data_dir: dirs.data.clone(),
            cache_dir: dirs.cache.clone(),
            runtime_dir: dirs.runtime.clone(),
            log: dirs.log(),
            socket: dirs.socket(),
            control: dirs.control(),
            pidfile: dirs.pidfile(),
            effects: dirs.effects(),
            version: generation.version(),
        }
    }
}
