//! A command that lasts until it is let go.
//!
//! Called for the verb `hold`: a scenario that must act in mid-command waits for the ready file, acts, and creates the
//! other. It waits for the file system's own notice; it must never look again on a timer.

use std::{
    os::fd::AsFd as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::inotify::{AddWatchFlags, InitFlags, Inotify},
};

use super::{ProbeError, appear};

/// What a hold is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// The file it creates once it waits; its pid is in it.
    pub ready: PathBuf,
    /// The file it waits for.
    pub until: PathBuf,
    /// When it gives up.
    pub limit: Duration,
}

/// How a hold ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// The file appeared: exit 0.
    LetGo,
    /// The limit came first: exit 3.
    Forgotten,
}

/// Waits until the file appears or the limit is reached.
pub fn hold(hold: &Hold) -> Result<Held, ProbeError> {
    let folder = match hold.until.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let watch = |source| ProbeError::Watch {
        path: folder.display().to_string(),
        source,
    };
    let deadline = Instant::now() + hold.limit;
    // Watching begins before the first look, so nothing can slip between the two.
    let notices = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).map_err(watch)?;
    notices
        .add_watch(
            folder,
            AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO,
        )
        .map_err(watch)?;
    appear(&hold.ready, format!("{}\n", std::process::id()).as_bytes())?;
    while !hold.until.exists() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Held::Forgotten);
        }
        let mut fds = [PollFd::new(notices.as_fd(), PollFlags::POLLIN)];
        // A millisecond more than is left, or the last fraction would be waited for in a circle.
        let timeout =
            PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
        match poll(&mut fds, timeout) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(source) => return Err(watch(source)),
        }
        // What the notices say does not matter, only that there was one; an empty queue is an error here.
        notices.read_events().ok();
    }
    Ok(Held::LetGo)
}
