//! The copying of one stream, in a thread of its own.
//!
//! Called by the tap. Each chunk is noted, then delivered; when either side closes, the other is closed too,
//! as it would be without a tap between them. Must never keep a byte back.

use std::{
    fs::File,
    io::{ErrorKind, PipeReader, Read as _, Write as _},
    os::fd::AsFd as _,
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::{
    journal::{Note, Writer},
    record::{Direction, Why},
};
use crate::{clock::Moment, supervise::PIPE};

/// What is copied at once: the size of a pipe.
const CHUNK: usize = 64 << 10;

/// One stream to copy.
#[derive(Debug)]
pub(super) struct Copying {
    pub(super) direction: Direction,
    pub(super) from: File,
    pub(super) to: File,
    /// Closed when the command has ended.
    pub(super) until: Option<PipeReader>,
    pub(super) journal: Writer,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// There is something to read.
    Read,
    /// As `Read`, and the command has ended.
    Rest,
    End(Why),
}

impl Copying {
    /// Copies to the end and closes both sides.
    pub(super) fn run(mut self) -> Why {
        let mut chunk = vec![0; CHUNK];
        let mut bytes = 0;
        // How far it goes on once the command has ended: as far as a pipe holds, for what it left may write for ever.
        let mut enough = None;
        let why = loop {
            match self.wait() {
                Next::End(why) => break why,
                Next::Rest if bytes >= *enough.get_or_insert(bytes + PIPE) => {
                    break Why::CommandEnded;
                }
                Next::Read | Next::Rest => {}
            }
            match self.from.read(&mut chunk) {
                Ok(0) => break Why::Closed,
                Ok(read) => {
                    // Noted first, or the answer could be noted before its question; noting never waits.
                    self.journal
                        .chunk(self.direction, Moment::now(), &chunk[..read]);
                    bytes += read as u64;
                    if deliver(&mut self.to, &chunk[..read]).is_err() {
                        break Why::ReceiverGone;
                    }
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                Err(_) => break Why::Closed,
            }
        };
        self.journal.note(Note::End {
            direction: self.direction,
            at: Moment::now(),
            why,
            bytes,
        });
        why
    }

    /// Waits for bytes, for the receiver to leave, or for the command to end with nothing more to read.
    fn wait(&self) -> Next {
        let events = |fd: &PollFd<'_>| fd.revents().is_some_and(|events| !events.is_empty());
        let gone = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
        loop {
            let mut fds = vec![
                PollFd::new(self.from.as_fd(), PollFlags::POLLIN),
                // A pipe without a reader shows an error even if nothing is asked.
                PollFd::new(self.to.as_fd(), PollFlags::empty()),
            ];
            fds.extend(
                self.until
                    .as_ref()
                    .map(|until| PollFd::new(until.as_fd(), PollFlags::POLLIN)),
            );
            match poll(&mut fds, PollTimeout::NONE) {
                Err(nix::Error::EINTR) => continue,
                Err(_) => return Next::End(Why::Closed),
                Ok(_) => {}
            }
            if fds[1]
                .revents()
                .is_some_and(|events| events.intersects(gone))
            {
                return Next::End(Why::ReceiverGone);
            }
            match (events(&fds[0]), fds.get(2).is_some_and(events)) {
                (true, false) => return Next::Read,
                (true, true) => return Next::Rest,
                (false, true) => return Next::End(Why::CommandEnded),
                (false, false) => {}
            }
        }
    }
}

/// Writes everything, also to a side that somebody made non-blocking.
fn deliver(to: &mut File, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        match to.write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let mut fds = [PollFd::new(to.as_fd(), PollFlags::POLLOUT)];
                match poll(&mut fds, PollTimeout::NONE) {
                    Ok(_) | Err(nix::Error::EINTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Taking over this process's own streams, so that closing the copy closes the stream.
pub(super) mod take {
    use std::{
        fs::File,
        io::{Result, stderr, stdin, stdout},
        os::fd::AsFd as _,
    };

    fn null() -> Result<File> {
        File::options().read(true).write(true).open("/dev/null")
    }

    /// Takes standard input and leaves `/dev/null`.
    pub(in crate::tap) fn stdin_file() -> Result<File> {
        let taken = stdin().as_fd().try_clone_to_owned()?;
        rustix::stdio::dup2_stdin(null()?)?;
        Ok(taken.into())
    }

    /// Takes standard output and leaves `/dev/null`.
    pub(in crate::tap) fn stdout_file() -> Result<File> {
        let taken = stdout().as_fd().try_clone_to_owned()?;
        rustix::stdio::dup2_stdout(null()?)?;
        Ok(taken.into())
    }

    /// Takes standard error and leaves `/dev/null`.
    pub(in crate::tap) fn stderr_file() -> Result<File> {
        let taken = stderr().as_fd().try_clone_to_owned()?;
        rustix::stdio::dup2_stderr(null()?)?;
        Ok(taken.into())
    }
}
