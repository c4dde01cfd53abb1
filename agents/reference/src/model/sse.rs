//! Cuts a stream of bytes into server-sent events (HTML standard, section 9.2).
//!
//! Fed by the client with whatever pieces the network hands out. It must never depend on where those pieces end.

/// How long one line may become before the stream is given up.
const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// A line that never ends.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a line of the stream is longer than {LONGEST_LINE} bytes")]
pub struct TooLong;

/// What was not yet a whole event.
#[derive(Debug, Default)]
pub struct Decoder {
    line: Vec<u8>,
    data: Option<String>,
    after_return: bool,
}

impl Decoder {
    /// Takes the next bytes and gives the data of every event that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut events = Vec::new();
        for &byte in bytes {
            let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                byte => self.line.push(byte),
            }
        }
        if self.line.len() > LONGEST_LINE {
            return Err(TooLong);
        }
        Ok(events)
    }

    /// An empty line ends an event; a comment, and a field other than data, says nothing here.
    fn end_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return self.data.take();
        }
        let line = String::from_utf8_lossy(&line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(stream: &str, expected: &[&str]) {
        assert_eq!(
            Decoder::default().push(stream.as_bytes()).unwrap(),
            expected
        );
    }

    #[test]
    fn an_event_ends_at_an_empty_line_whatever_the_line_ends_are() {
        check("data: a\n\ndata:b\n\n", &["a", "b"]);
        check("data: a\r\n\r\ndata: b\r\r", &["a", "b"]);
        check("data: a\n", &[]);
    }

    #[test]
    fn comments_and_other_fields_say_nothing_and_data_lines_are_joined() {
        check(
            ": hello\nevent: x\nid: 1\nretry: 5\ndata: a\ndata: b\n\n\n\n",
            &["a\nb"],
        );
    }

    proptest! {
        #[test]
        fn any_split_of_the_bytes_decodes_the_same(
            lines in proptest::collection::vec("(data: ?[a-zé]{0,6}|: [a-z]{0,3}|event: x|)(\n|\r\n|\r)", 0..12),
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let stream = lines.concat().into_bytes();
            let whole = Decoder::default().push(&stream).unwrap();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            at.extend([0, stream.len()]);
            at.sort_unstable();
            let mut decoder = Decoder::default();
            let mut pieces = Vec::new();
            for pair in at.windows(2) {
                pieces.extend(decoder.push(&stream[pair[0]..pair[1]]).unwrap());
            }
            prop_assert_eq!(pieces, whole);
        }
    }
}
