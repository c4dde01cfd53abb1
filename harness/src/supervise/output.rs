//! The copying of a child's output into its file, up to a limit.
//!
//! Called by the supervisor's loop. The child writes to a pipe and not to the file itself, because a file cannot be
//! bounded from outside: `RLIMIT_FSIZE` would bind every file of the whole tree, and end it by SIGXFSZ. Past the limit
//! it goes on reading, so that the child is never blocked. Must never read where nothing is ready.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::notice::Stream;

/// What is read at once: what a pipe holds.
const CHUNK: usize = 64 << 10;

/// The most a pipe holds unless root raised it (`/proc/sys/fs/pipe-max-size`): what was written before a moment is
/// among that many bytes read after it.
pub(crate) const PIPE: u64 = 1 << 20;

/// One stream on its way into a file.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) stream: Stream,
    from: File,
    to: File,
    pub(crate) limit: u64,
    room: u64,
    /// Bytes read so far, kept or not.
    pub(crate) read: u64,
}

/// What one read brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copied {
    /// Bytes, all kept or all past a limit that was told before.
    More,
    /// The byte after the last one that is kept.
    Overflowed,
    /// End of file, or a stream that cannot be read.
    End,
}

/// Opens the file of a stream, for its owner alone.
pub(crate) fn create(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
}

impl Output {
    pub(crate) fn new(stream: Stream, from: OwnedFd, to: File, limit: u64) -> Self {
        // One byte of room more than is kept tells "full" from "over".
        Self {
            stream,
            from: from.into(),
            to,
            limit,
            room: limit.saturating_add(1),
            read: 0,
        }
    }

    /// Copies what one read gives; call it when the pipe is readable.
    pub(crate) fn copy(&mut self) -> Copied {
        let mut chunk = vec![0; CHUNK];
        let read = match self.from.read(&mut chunk) {
            Ok(0) => return Copied::End,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return Copied::More,
            Err(_) => return Copied::End,
        };
        self.read += read as u64;
        if self.room == 0 {
            return Copied::More;
        }
        let kept = usize::try_from(self.room - 1)
            .unwrap_or(usize::MAX)
            .min(read);
        // A file that takes no more is treated as full: the loss is told, the child is not blocked.
        let is_written = self.to.write_all(&chunk[..kept]).is_ok();
        if kept == read && is_written {
            self.room -= kept as u64;
            Copied::More
        } else {
            self.room = 0;
            Copied::Overflowed
        }
    }

    /// Whether [`Output::copy`] would not wait.
    pub(crate) fn is_ready(&self) -> bool {
        is_readable(self.from.as_fd())
    }
}

impl AsFd for Output {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }
}

/// Whether a read gives something, be it the end, without waiting.
pub(crate) fn is_readable(fd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::new(fd, PollFlags::POLLIN)];
    poll(&mut fds, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}
