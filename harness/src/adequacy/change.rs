//! Every way in which one JSON value is changed: removed, doubled, swapped, another id, another path, emptied, reordered.
//!
//! Pure; called by the survey. A change is data, so that it can be named in a report and made again.

use serde_json::Value;

/// What is done to a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// It is not there.
    Removed,
    /// It is there twice.
    Doubled,
    /// It and its neighbour have changed places.
    Reordered,
    /// It is there and empty.
    Emptied,
    /// Another value of its own form: another id, another path, another number.
    Another,
    /// It holds what belongs to another one.
    Swapped,
    /// It is there, and was not.
    Appeared,
}

/// One fact that can be changed, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Site {
    /// The place, as a JSON pointer.
    pub(super) at: String,
    /// The fact: the place, with its positions and given names replaced by `*`.
    pub(super) fact: String,
    /// What is done.
    pub(super) change: Change,
}

/// Objects whose keys are names that a scenario gives, and not facts of their own.
const NAMED: [&str; 6] = [
    "launches",
    "env",
    "planted",
    "hidden_in",
    "properties",
    "ambient",
];

/// Subtrees that are one fact, the definition of a tool: pinned, and compared as a whole.
const WHOLE: [&str; 3] = ["parameters", "inputSchema", "outputSchema"];

/// Every change of every fact below a value.
pub(super) fn sites(value: &Value) -> Vec<Site> {
    let mut found = Vec::new();
    within(value, "", "", &mut found);
    found
}

fn within(value: &Value, at: &str, fact: &str, found: &mut Vec<Site>) {
    let mut add = |changes: &[Change]| {
        found.extend(changes.iter().map(|change| Site {
            at: at.to_owned(),
            fact: fact.to_owned(),
            change: *change,
        }));
    };
    let last = fact.rsplit('/').next().unwrap_or_default();
    if WHOLE.contains(&last) {
        return add(&[Change::Emptied]);
    }
    match value {
        Value::Null => add(&[Change::Appeared]),
        Value::Bool(_) | Value::Number(_) => add(&[Change::Another]),
        Value::String(text) if text.is_empty() => add(&[Change::Another]),
        Value::String(_) => add(&[Change::Another, Change::Emptied]),
        Value::Array(items) if items.is_empty() => add(&[Change::Appeared]),
        Value::Array(items) => {
            add(&[Change::Emptied]);
            for (place, item) in items.iter().enumerate() {
                let (at, fact) = (format!("{at}/{place}"), format!("{fact}/*"));
                let mut changes = vec![Change::Removed, Change::Doubled];
                if items.get(place + 1).is_some_and(|next| next != item) {
                    changes.push(Change::Reordered);
                }
                found.extend(changes.into_iter().map(|change| Site {
                    at: at.clone(),
                    fact: fact.clone(),
                    change,
                }));
                within(item, &at, &fact, found);
            }
        }
        Value::Object(fields) => {
            let named = NAMED.contains(&last);
            for (key, field) in fields {
                let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                let fact = format!("{fact}/{}", if named { "*" } else { key });
                found.push(Site {
                    at: at.clone(),
                    fact: fact.clone(),
                    change: Change::Removed,
                });
                within(field, &at, &fact, found);
            }
        }
    }
}

/// The value with one fact changed; nothing where the place is not there.
pub(super) fn changed(value: &Value, site: &Site) -> Option<Value> {
    let mut value = value.clone();
    match site.change {
        Change::Removed | Change::Doubled | Change::Reordered => {
            let (parent, key) = site.at.rsplit_once('/')?;
            let key = key.replace("~1", "/").replace("~0", "~");
            match value.pointer_mut(parent)? {
                Value::Object(fields) => {
                    fields.remove(&key)?;
                }
                Value::Array(items) => moved(items, key.parse().ok()?, site.change)?,
                _ => return None,
            }
        }
        Change::Emptied => {
            let place = value.pointer_mut(&site.at)?;
            *place = match place {
                Value::Array(_) => Value::Array(Vec::new()),
                Value::Object(_) => Value::Object(serde_json::Map::new()),
                _ => Value::String(String::new()),
            };
        }
        Change::Another => another(value.pointer_mut(&site.at)?),
        Change::Swapped => return None,
        Change::Appeared => {
            let place = value.pointer_mut(&site.at)?;
            *place = match place {
                Value::Array(_) => Value::Array(vec!["appeared".into()]),
                _ => "appeared".into(),
            };
        }
    }
    Some(value)
}

fn moved(items: &mut Vec<Value>, place: usize, change: Change) -> Option<()> {
    match change {
        Change::Doubled => items.insert(place, items.get(place)?.clone()),
        Change::Reordered if place + 1 < items.len() => items.swap(place, place + 1),
        Change::Removed if place < items.len() => {
            items.remove(place);
        }
        _ => return None,
    }
    Some(())
}

/// Another value of the same form.
fn another(value: &mut Value) {
    let changed = match value {
        Value::Bool(yes) => Value::Bool(!*yes),
        Value::Number(number) => match number.as_u64() {
            Some(number) => number.wrapping_add(1).into(),
            None => 1.into(),
        },
        // An id: its last digit is another one, so that its form stays.
        Value::String(text) if text.ends_with(|last: char| last.is_ascii_hexdigit()) => {
            let last = if text.ends_with('0') { '1' } else { '0' };
            text.pop();
            format!("{text}{last}").into()
        }
        Value::String(text) if text.starts_with('/') => format!("/another{text}").into(),
        Value::String(text) => format!("{text}x").into(),
        _ => return,
    };
    *value = changed;
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Change, changed, sites};

    fn all(value: &Value) -> Vec<(String, Change, Value)> {
        sites(value)
            .into_iter()
            .filter_map(|site| Some((site.fact.clone(), site.change, changed(value, &site)?)))
            .collect()
    }

    #[test]
    fn every_change_makes_another_value() {
        let value = json!({
            "id": "0a", "path": "/x", "none": null, "is": true, "n": 1,
            "list": ["a", "b"], "empty": [], "env": { "HOME/x": "y" },
        });
        let made = all(&value);
        assert!(made.iter().all(|(_, _, other)| *other != value));
        let of = |fact: &str| made.iter().filter(|(one, _, _)| one == fact).count();
        assert_eq!(of("/id"), 3, "removed, another, emptied");
        assert_eq!(
            of("/list/*"),
            2 * 4 + 1,
            "each item four ways, and one order"
        );
        assert_eq!(of("/env/*"), 3, "a given name is no fact of its own");
    }

    #[test]
    fn an_id_stays_an_id_and_a_path_a_path() {
        let another = |text: &str| {
            let value = json!({ "it": text });
            let found = all(&value);
            let one = found
                .iter()
                .find(|(_, change, _)| *change == Change::Another);
            one.unwrap().2["it"].clone()
        };
        assert_eq!(another("f0"), "f1");
        assert_eq!(another("/x/y"), "/another/x/y");
        assert_eq!(another("text"), "textx");
    }
}
