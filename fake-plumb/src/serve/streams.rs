//! Everything that can happen to serve, on one channel: lines of the client, lines of the daemon, ends, signals.
//!
//! One thread a source; only the receiver of the channel acts.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::Sender;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::mcp::LONGEST_LINE;

/// One thing that happened.
#[derive(Debug)]
pub(super) enum Event {
    Client(Vec<u8>),
    /// A line over the limit; it was skipped.
    ClientTooLong,
    ClientEnd,
    Daemon {
        link: u64,
        line: Vec<u8>,
    },
    DaemonEnd {
        link: u64,
    },
    Terminate,
}

/// Reads stdin to its end.
pub(super) fn read_client(events: Sender<Event>) {
    std::thread::spawn(move || {
        let mut stdin = BufReader::with_capacity(64 * 1024, io::stdin().lock());
        while let Ok(Some(line)) = read_line(&mut stdin) {
            let event = if line.len() > LONGEST_LINE {
                Event::ClientTooLong
            } else {
                Event::Client(line)
            };
            if events.send(event).is_err() {
                return;
            }
        }
        drop(events.send(Event::ClientEnd));
    });
}

/// Reads what is left of one connection to the daemon.
pub(super) fn read_daemon(link: u64, mut lines: BufReader<UnixStream>, events: Sender<Event>) {
    std::thread::spawn(move || {
        while let Ok(Some(line)) = read_line(&mut lines) {
            if events.send(Event::Daemon { link, line }).is_err() {
                return;
            }
        }
        drop(events.send(Event::DaemonEnd { link }));
    });
}

/// Turns SIGTERM and SIGINT into an event: serve then exits 0.
pub(super) fn watch_signals(events: Sender<Event>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            drop(events.send(Event::Terminate));
        }
    });
    Ok(())
}

/// One line without its end; of a line over the limit only so much that it can be told.
pub(super) fn read_line(from: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let limit = u64::try_from(LONGEST_LINE).unwrap_or(u64::MAX) + 1;
    let mut line = Vec::new();
    let length = from.by_ref().take(limit).read_until(b'\n', &mut line)?;
    if length == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Some(line));
    }
    // Over the limit, or the last line before the end: what is left of it is skipped.
    let mut rest = Vec::new();
    while from.by_ref().take(limit).read_until(b'\n', &mut rest)? > 0 && rest.last() != Some(&b'\n')
    {
        rest.clear();
    }
    Ok(Some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_over_the_limit_is_told_and_skipped() {
        let mut bytes = vec![b'x'; LONGEST_LINE * 2 + 17];
        bytes.extend_from_slice(b"\nafter\nlast");
        let mut from = BufReader::new(&bytes[..]);
        assert!(read_line(&mut from).unwrap().unwrap().len() > LONGEST_LINE);
        assert_eq!(read_line(&mut from).unwrap().unwrap(), b"after");
        assert_eq!(read_line(&mut from).unwrap().unwrap(), b"last");
        assert!(read_line(&mut from).unwrap().is_none());
    }
}
