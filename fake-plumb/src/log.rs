//! daemon.log: one logfmt line an event, as Go's slog writes it.
//!
//! Called by the daemon only. Lines about a connection carry `session_id`; process-level lines do not.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use jiff::Timestamp;

use crate::fault::{Fault, Faults};
use crate::record::SessionId;

/// How grave a line is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Level {
    Info,
    Warn,
    Error,
}

impl Level {
    fn as_str(self) -> &'static str {
        match self {
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Error => "ERROR",
        }
    }
}

/// The open log of one daemon.
#[derive(Debug)]
pub(crate) struct Log {
    file: File,
    is_untagged: bool,
}

impl Log {
    pub(crate) fn open(path: &Path, faults: &Faults) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self {
            file,
            is_untagged: faults.has(Fault::LogUntagged),
        })
    }

    /// Writes a process-level line.
    pub(crate) fn line(&self, level: Level, msg: &str, fields: &[(&str, &str)]) {
        let line = format_line(Timestamp::now(), level, msg, fields);
        // A full disk must not end the daemon, and there is no better place to report it.
        drop((&self.file).write_all(line.as_bytes()));
    }

    /// Writes a line about one connection.
    pub(crate) fn of(&self, session: &SessionId, level: Level, msg: &str, fields: &[(&str, &str)]) {
        if self.is_untagged {
            return self.line(level, msg, fields);
        }
        let mut tagged = vec![("session_id", session.as_str())];
        tagged.extend_from_slice(fields);
        self.line(level, msg, &tagged);
    }
}

fn format_line(at: Timestamp, level: Level, msg: &str, fields: &[(&str, &str)]) -> String {
    let mut line = format!(
        "time={} level={} msg={}",
        at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ"),
        level.as_str(),
        value(msg)
    );
    for (key, text) in fields {
        write!(line, " {key}={}", value(text)).expect("writing to a string cannot fail");
    }
    line.push('\n');
    line
}

/// Quotes as slog's text handler does: when empty, or with blanks, quotes, `=` or unprintable characters.
fn value(text: &str) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, '"' | '=');
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    go_quote(text)
}

/// Go's `%q`, near enough for text without exotic characters.
pub(crate) fn go_quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => {
                write!(quoted, "\\x{:02x}", u32::from(c)).expect("writing to a string cannot fail");
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_written_as_the_real_daemon_writes_it() {
        let at: Timestamp = "2026-11-30T18:20:07.459046069Z".parse().unwrap();
        let fields = [
            ("session_id", "e59b7e377676-53f28c37"),
            ("root", "/ws a"),
            ("adapter", ""),
        ];
        insta::assert_snapshot!(
            format_line(at, Level::Info, "daemon: session attached", &fields),
            @r#"time=2026-11-30T18:20:07.459Z level=INFO msg="daemon: session attached" session_id=e59b7e377676-53f28c37 root="/ws a" adapter="""#
        );
    }
}
