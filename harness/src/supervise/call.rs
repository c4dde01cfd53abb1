//! One short command, run to its end within a deadline, its output kept in memory.
//!
//! Called for the namespace commands by the supervisor, which waits meanwhile: nothing of the scenario runs before a
//! namespace exists nor after it is released. Must never be used for anything that may last.

use std::{
    io::{Read, Write as _},
    os::{
        fd::{AsFd, AsRawFd as _},
        unix::process::CommandExt as _,
    },
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::{notice::Status, order::Call, output::is_readable, reap::status_of_exit};

/// Bytes taken of each stream; an answer is a line or a short list.
const KEPT: usize = 1 << 20;

/// What a command did.
#[derive(Debug)]
pub struct Answer {
    /// How it ended.
    pub status: Status,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it printed on standard error.
    pub stderr: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// It could not be started.
    #[error("start `{program}`: {source}")]
    Start {
        /// Its name.
        program: String,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
    /// It did not end in time and was killed.
    #[error("`{program}` did not end within {within_ms} ms and was killed")]
    Late {
        /// Its name.
        program: String,
        /// The deadline.
        within_ms: u64,
    },
    /// It could not be waited for.
    #[error("wait for `{program}`: {source}")]
    Wait {
        /// Its name.
        program: String,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
}

/// What a call is given beside itself.
#[derive(Debug, Default)]
pub struct Extra<'a> {
    /// Further arguments.
    pub args: &'a [String],
    /// One more variable.
    pub env: Option<(&'a str, &'a str)>,
    /// Standard input; without it `/dev/null`.
    pub input: Option<&'a str>,
}

/// Runs `call` to its end.
pub fn run(call: &Call, extra: &Extra<'_>) -> Result<Answer, CallError> {
    let words: Vec<&String> = call.argv.iter().chain(extra.args).collect();
    let program = words.first().map_or(String::new(), |word| (*word).clone());
    let start = |source| CallError::Start {
        program: program.clone(),
        source,
    };
    let wait = |source| CallError::Wait {
        program: program.clone(),
        source,
    };

    let mut child = Command::new(&program)
        .args(words.iter().skip(1))
        .env_clear()
        .envs(&call.env)
        .envs(extra.env)
        .current_dir(&call.cwd)
        .process_group(0)
        .stdin(if extra.input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(start)?;
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), extra.input) {
        // A token is far shorter than a pipe, so this cannot block; a command that does not read it answers for that.
        drop(writeln!(stdin, "{input}"));
    }
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let ended = pid
        .ok_or(rustix::io::Errno::SRCH)
        .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()));
    let ended = ended.map_err(|error| wait(error.into()))?;

    let deadline = Instant::now() + Duration::from_millis(call.within_ms);
    let mut stdout = Gathered::new(child.stdout.take());
    let mut stderr = Gathered::new(child.stderr.take());
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            drop(child.kill());
            child.wait().map_err(wait)?;
            return Err(CallError::Late {
                program,
                within_ms: call.within_ms,
            });
        }
        let mut fds = vec![PollFd::new(ended.as_fd(), PollFlags::POLLIN)];
        fds.extend(stdout.poll_fd());
        fds.extend(stderr.poll_fd());
        match poll(
            &mut fds,
            PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX),
        ) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(error) => return Err(wait(error.into())),
        }
        let is_over = fds.iter().any(|fd| {
            fd.as_fd().as_raw_fd() == ended.as_raw_fd()
                && fd.revents().is_some_and(|events| !events.is_empty())
        });
        stdout.gather();
        stderr.gather();
        if is_over {
            let status = child.wait().map_err(wait)?;
            return Ok(Answer {
                status: status_of_exit(status),
                stdout: stdout.kept,
                stderr: stderr.kept,
            });
        }
    }
}

/// A stream and what came of it.
struct Gathered<R> {
    from: Option<R>,
    kept: Vec<u8>,
}

impl<R: Read + AsFd> Gathered<R> {
    fn new(from: Option<R>) -> Self {
        Self {
            from,
            kept: Vec::new(),
        }
    }

    fn poll_fd(&self) -> Option<PollFd<'_>> {
        self.from
            .as_ref()
            .map(|from| PollFd::new(from.as_fd(), PollFlags::POLLIN))
    }

    /// Reads what is there without waiting.
    fn gather(&mut self) {
        let mut chunk = [0; 4096];
        while let Some(from) = &mut self.from {
            if !is_readable(from.as_fd()) {
                return;
            }
            match from.read(&mut chunk) {
                // A command that says more than this is cut off, or its noise would keep the deadline waiting.
                Ok(read) if read > 0 && self.kept.len() < KEPT => {
                    self.kept.extend_from_slice(&chunk[..read]);
                }
                _ => self.from = None,
            }
        }
    }
}
