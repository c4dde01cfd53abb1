//! Arguments with holes: `{"$capture": {"pattern": "…(…)…"}}` stands for what the conversation said last.
//! Built by the script reader, filled by the reply writer. It reads texts and never asks where they came from.

use regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The key that makes an object a capture.
const KEY: &str = "$capture";

/// JSON in which some values are captures.
#[derive(Debug)]
pub(crate) enum Template {
    Literal(Value),
    Capture(Regex),
    Array(Vec<Template>),
    Object(Vec<(String, Template)>),
}

/// Why a capture in a script cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The object under `$capture` has another shape.
    #[error("a capture is {{\"$capture\": {{\"pattern\": \"…\"}}}}, alone in its object: {reason}")]
    Shape {
        /// What is off.
        reason: String,
    },
    /// The pattern is no regular expression.
    #[error("pattern `{pattern}`: {source}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What the parser says.
        source: regex::Error,
    },
    /// The pattern has no group, or several.
    #[error("pattern `{pattern}` has {groups} groups; it needs exactly one")]
    Groups {
        /// The pattern.
        pattern: String,
        /// How many groups it has.
        groups: usize,
    },
}

/// The pattern that matched nothing in the conversation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Missed {
    pub(crate) pattern: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaptureRow {
    pattern: String,
}

impl Template {
    /// Finds and compiles the captures of a value.
    pub(crate) fn new(value: &Value) -> Result<Self, CaptureError> {
        match value {
            Value::Array(items) => Ok(Self::Array(
                items.iter().map(Self::new).collect::<Result<_, _>>()?,
            )),
            Value::Object(fields) => match fields.get(KEY) {
                Some(capture) if fields.len() == 1 => compile(capture).map(Self::Capture),
                Some(_) => Err(CaptureError::Shape {
                    reason: "it has other keys beside it".to_owned(),
                }),
                None => fields
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), Self::new(value)?)))
                    .collect::<Result<_, _>>()
                    .map(Self::Object),
            },
            other => Ok(Self::Literal(other.clone())),
        }
    }

    /// Fills the captures from the texts of a conversation, oldest first; the last match counts.
    pub(crate) fn fill(&self, texts: &[impl AsRef<str>]) -> Result<Value, Missed> {
        match self {
            Self::Literal(value) => Ok(value.clone()),
            Self::Capture(pattern) => last_match(pattern, texts)
                .map(|text| Value::String(text.to_owned()))
                .ok_or_else(|| Missed {
                    pattern: pattern.as_str().to_owned(),
                }),
            Self::Array(items) => items
                .iter()
                .map(|item| item.fill(texts))
                .collect::<Result<_, _>>()
                .map(Value::Array),
            Self::Object(fields) => fields
                .iter()
                .map(|(key, value)| Ok((key.clone(), value.fill(texts)?)))
                .collect::<Result<Map<_, _>, _>>()
                .map(Value::Object),
        }
    }

    /// Whether there is anything to fill.
    pub(crate) fn has_captures(&self) -> bool {
        match self {
            Self::Literal(_) => false,
            Self::Capture(_) => true,
            Self::Array(items) => items.iter().any(Self::has_captures),
            Self::Object(fields) => fields.iter().any(|(_, value)| value.has_captures()),
        }
    }
}

fn compile(capture: &Value) -> Result<Regex, CaptureError> {
    let row = CaptureRow::deserialize(capture).map_err(|error| CaptureError::Shape {
        reason: error.to_string(),
    })?;
    let regex = Regex::new(&row.pattern).map_err(|source| CaptureError::Pattern {
        pattern: row.pattern.clone(),
        source,
    })?;
    // `captures_len` counts the whole match as group 0.
    match regex.captures_len() - 1 {
        1 => Ok(regex),
        groups => Err(CaptureError::Groups {
            pattern: row.pattern,
            groups,
        }),
    }
}

fn last_match<'t>(pattern: &Regex, texts: &'t [impl AsRef<str>]) -> Option<&'t str> {
    texts.iter().rev().find_map(|text| {
        pattern
            .captures_iter(text.as_ref())
            .filter_map(|found| found.get(1))
            .last()
            .map(|group| group.as_str())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_match_of_the_last_text_that_has_one_counts() {
        let template =
            Template::new(&json!({"n": [1, {"$capture": {"pattern": "id=(\\w+)"}}], "b": true}))
                .unwrap();
        let filled = template.fill(&["id=a", "id=b id=c", "nothing"]).unwrap();
        assert_eq!(filled, json!({"n": [1, "c"], "b": true}));
        assert!(template.has_captures());
    }

    #[test]
    fn a_pattern_that_matches_nothing_is_named() {
        let template = Template::new(&json!({"$capture": {"pattern": "id=(\\w+)"}})).unwrap();
        assert_eq!(
            template.fill(&["no"]),
            Err(Missed {
                pattern: "id=(\\w+)".to_owned()
            })
        );
    }
}
