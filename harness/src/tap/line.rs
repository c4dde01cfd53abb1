//! A line in the making, bounded.
//!
//! Called by the journal. Of a line over the bound it keeps the beginning, the length and the hash.

use sha2::{Digest as _, Sha256};

use super::record::{Cut, Direction, Frame};
use crate::clock::Moment;

/// Bytes of one line that the journal holds.
pub(super) const KEPT: usize = 1 << 20;

/// Bytes since the last line end.
#[derive(Default)]
pub(super) struct Line {
    kept: Vec<u8>,
    length: u64,
    /// Only of a line that is too long: of most lines nobody wants the hash.
    hash: Option<Sha256>,
}

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Adds bytes of this line.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.hash.is_none() && self.kept.len() + bytes.len() > KEPT {
            self.hash = Some(Sha256::new_with_prefix(&self.kept));
        }
        if let Some(hash) = &mut self.hash {
            hash.update(bytes);
        }
        let room = KEPT - self.kept.len();
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Makes the frame and begins the next line.
    pub(super) fn finish(&mut self, dir: Direction, t_us: Moment) -> Frame {
        let Self {
            mut kept,
            length,
            hash,
        } = std::mem::take(self);
        if hash.is_some() {
            kept.truncate(whole_characters(&kept));
        }
        let (text, lossy) = match String::from_utf8(kept) {
            Ok(text) => (text, false),
            Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
        };
        let hex = |hash: Sha256| format!("{:x}", hash.finalize());
        let cut = hash.map(|hash| Cut {
            length,
            sha256: hex(hash),
        });
        Frame {
            dir,
            t_us,
            text,
            lossy,
            masked: false,
            partial: false,
            cut,
        }
    }
}

/// The length without a character that the cut has split.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{KEPT, Line};
    use crate::{clock::Moment, tap::record::Direction};

    fn frame(pieces: &[&[u8]]) -> crate::tap::record::Frame {
        let mut line = Line::default();
        for piece in pieces {
            line.push(piece);
        }
        line.finish(Direction::S2c, Moment(0))
    }

    #[test]
    fn a_line_over_the_bound_keeps_its_beginning_length_and_hash() {
        let long = vec![b'a'; KEPT + 1];
        let frame = frame(&[&long[..7], &long[7..]]);
        let cut = frame.cut.unwrap();

        assert_eq!(
            (frame.text.len(), frame.lossy, cut.length),
            (KEPT, false, KEPT as u64 + 1)
        );
        // `head -c 1048577 /dev/zero | tr '\0' a | sha256sum`
        assert_eq!(
            cut.sha256,
            "4a3f0c0c213adea174f9a3d4c13177315b588bdb2e9c1012d3d0bf0453ca0f6a"
        );
    }

    #[test]
    fn a_line_of_exactly_the_bound_is_whole() {
        assert_eq!(frame(&[&vec![b'a'; KEPT]]).cut, None);
    }

    #[test]
    fn a_character_split_by_the_cut_is_no_loss() {
        let mut long = vec![b'a'; KEPT - 1];
        long.extend_from_slice("é!".as_bytes());
        let frame = frame(&[&long]);

        assert_eq!((frame.text.len(), frame.lossy), (KEPT - 1, false));
    }

    proptest! {
        #[test]
        fn any_split_of_a_line_gives_the_same_frame(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..200) {
            let at = at.min(bytes.len());
            prop_assert_eq!(frame(&[&bytes[..at], &bytes[at..]]), frame(&[&bytes]));
        }
    }
}
