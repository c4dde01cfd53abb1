//! What plumb prints for people: the logo before human output, and the wrapped error block.
//!
//! Called by the commands only; the daemon, serve, mail and hooks print no logo.

use std::fmt::Display;
use std::io::{self, Write};

/// Four coloured lines; plumb prints them into pipes and under `NO_COLOR` too.
const LOGO: &str = "\x1b[36m  |\x1b[0m\n\x1b[36m  |\x1b[0m   fake-plumb\n\x1b[36m  |\x1b[0m   a stand-in, not plumb\n\x1b[36m  v\x1b[0m\n\n";

/// Text columns of an error block, so that a line with its gutter stays under 80.
const ERROR_WIDTH: usize = 74;

/// Writes human output: the logo, then `text`.
pub(crate) fn human(text: &str) -> io::Result<()> {
    plain(&format!("{LOGO}{text}"))
}

/// Writes machine output as it is.
pub(crate) fn plain(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes one line to stderr, as serve and the daemon do.
pub(crate) fn notice(text: &str) -> io::Result<()> {
    let now = jiff::Zoned::now().strftime("%Y/%m/%d %H:%M:%S").to_string();
    io::stderr()
        .lock()
        .write_all(format!("{now} {text}\n").as_bytes())
}

/// Writes a line to stderr as it is.
pub(crate) fn say(text: &str) -> io::Result<()> {
    io::stderr().lock().write_all(text.as_bytes())
}

/// Writes the error block to stderr; stdout stays empty.
pub(crate) fn error(error: &dyn Display) -> io::Result<()> {
    let mut block = format!("{LOGO}  \x1b[31m✗ error\x1b[0m\n");
    for line in error.to_string().lines().flat_map(wrap) {
        block.push_str("  ┊ ");
        block.push_str(&line);
        block.push('\n');
    }
    io::stderr().lock().write_all(block.as_bytes())
}

/// Breaks a line between words; a word longer than the width is broken inside, as a path is.
fn wrap(line: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        let last = lines.last_mut().expect("a line is there from the start");
        let length = last.chars().count();
        if length > 0 && length + 1 + word.chars().count() > ERROR_WIDTH {
            lines.push(String::new());
        } else if length > 0 {
            last.push(' ');
        }
        for letter in word.chars() {
            if lines
                .last()
                .is_some_and(|last| last.chars().count() == ERROR_WIDTH)
            {
                lines.push(String::new());
            }
            lines
                .last_mut()
                .expect("a line is there from the start")
                .push(letter);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn a_wrapped_message_is_whole_once_the_line_ends_are_taken_out() {
        let long = format!("socket path {} is too long", "x".repeat(150));
        let lines = wrap(&long);
        assert!(
            lines
                .iter()
                .all(|line| line.chars().count() <= super::ERROR_WIDTH)
        );
        assert_eq!(lines.concat().replace(' ', ""), long.replace(' ', ""));
    }
}
