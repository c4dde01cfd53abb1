//! What plumb prints for people, as one reads it: without colour, gutters and the breaks of a wrapped block.
//!
//! Called by whatever has to recognise a human answer. It must never be used on JSON.

/// The lines of a human answer: without escapes, gutters and outer blanks of the frame.
pub(crate) fn lines(bytes: &[u8]) -> Vec<String> {
    without_escapes(&String::from_utf8_lossy(bytes))
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// The whole answer on one line, in lower case, for a look at its words. An error is wrapped at about 80 columns with
/// `┊` before each line (measured), so a phrase may be broken anywhere.
pub(crate) fn words(bytes: &[u8]) -> String {
    without_escapes(&String::from_utf8_lossy(bytes))
        .replace('┊', " ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
}

/// Drops the escape sequences that colour a terminal: ESC, `[`, parameters, one letter.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            plain.push(letter);
            continue;
        }
        for inner in letters.by_ref() {
            if inner.is_ascii_alphabetic() {
                break;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::{lines, words};

    #[test]
    fn a_wrapped_error_is_one_line_of_words() {
        let said = "\u{1b}[36m  |\u{1b}[0m\n\n  \u{1b}[31m✗ error\u{1b}[0m\n  ┊ unknown command\n  ┊ \"namespace\" for \"plumb\"\n";
        assert_eq!(
            words(said.as_bytes()),
            "| ✗ error unknown command \"namespace\" for \"plumb\""
        );
        assert_eq!(lines(b"\x1b[36m  v\x1b[0m\nPID  X  \n"), ["  v", "PID  X"]);
    }
}
