//! How a text is cut into stream fragments: small, uneven, the same every time.
//! Called by the frame writer for contents, reasoning and arguments. It cuts between code points only, and anywhere between them:
//! inside a key, a number, an escape.

/// Lengths in code points, taken in turn: short and odd, so that keys and escapes are split.
const LENGTHS: [usize; 6] = [2, 1, 7, 3, 5, 11];

/// A long text is cut into about this many fragments, so that frames stay proportionate to their content.
const MOST: usize = 96;

/// Cuts a text; the fragments in order are the text, none is empty, and two or more code points give two or more.
pub(crate) fn fragments(text: &str) -> impl Iterator<Item = &str> {
    let stretch = 1 + text.len() / (MOST * 5);
    let mut rest = text;
    let mut lengths = LENGTHS.iter().cycle();
    // The first fragment must not swallow a text of two code points.
    let mut next = 1;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .char_indices()
            .nth(next)
            .map_or(rest.len(), |(at, _)| at);
        let (fragment, tail) = rest.split_at(end);
        rest = tail;
        next = stretch * lengths.next().copied().unwrap_or(1);
        Some(fragment)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn fragments_in_order_are_the_text(text in "\\PC{0,400}") {
            let cut: Vec<&str> = fragments(&text).collect();
            prop_assert_eq!(cut.concat(), text.clone());
            prop_assert!(cut.iter().all(|fragment| !fragment.is_empty()));
            prop_assert!(text.chars().count() < 2 || cut.len() >= 2);
        }
    }

    #[test]
    fn a_long_text_gives_a_bounded_number_of_fragments() {
        assert!(fragments(&"x".repeat(1_000_000)).count() <= 2 * MOST);
    }

    #[test]
    fn keys_and_escapes_are_split() {
        let cut: Vec<&str> = fragments(r#"{"command":"a\u00e9\n"}"#).collect();
        assert_eq!(
            cut,
            ["{", "\"c", "o", "mmand\":", "\"a\\", "u00e9", "\\n\"}"]
        );
    }
}
