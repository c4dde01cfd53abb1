//! Everything that a promise can be seen by, as named observations of one agent with some faults.
//!
//! Two observations of equal agents are equal: ids, roots and times are replaced by what they stand for. The groups are
//! small hosts of their own, so that what one of them breaks is not seen in another.

mod homes;
mod registry;
mod surroundings;
mod told;

use std::collections::BTreeMap;

use reference::fault::Fault;
use reference::revision::Revision;
use serde_json::Value;

use super::room::Room;

/// An agent that is looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// The revision that it claims.
    pub(crate) revision: Revision,
    /// Its faults.
    pub(crate) faults: &'a [Fault],
}

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    observations: BTreeMap<String, String>,
    names: Vec<(String, String)>,
}

/// Looks at everything.
pub(crate) fn observe(subject: Subject<'_>) -> BTreeMap<String, String> {
    let mut seen = Seen::default();
    homes::look(subject, &mut seen);
    surroundings::look(subject, &mut seen);
    surroundings::look_elsewhere(subject, &mut seen);
    registry::look(subject, &mut seen);
    told::look(subject, &mut seen);
    seen.observations
}

impl Seen {
    /// Calls a text by a name wherever it is seen from now on.
    pub(crate) fn call(&mut self, text: &str, name: &str) {
        self.names.push((text.to_owned(), format!("[{name}]")));
        self.names
            .sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    }

    /// The root of a room.
    pub(crate) fn root(&mut self, room: &Room) {
        let folder = room.path("").display().to_string();
        self.call(folder.trim_end_matches('/'), "root");
        self.call(
            &format!("-{}-", folder.trim_matches('/').replace('/', "-")),
            "bucket",
        );
    }

    /// One observation.
    pub(crate) fn put(&mut self, name: &str, value: &str) {
        let mut value = value.to_owned();
        for (text, name) in &self.names {
            value = value.replace(text, name);
        }
        let known = self.observations.insert(name.to_owned(), value);
        assert_eq!(known, None, "{name} is observed twice");
    }

    /// One observation of data.
    pub(crate) fn json(&mut self, name: &str, value: &Value) {
        self.put(name, &value.to_string());
    }

    /// The variables that matter among those that a command printed, each on its own.
    pub(crate) fn variables(&mut self, name: &str, text: &str) {
        for line in text.lines() {
            let Some((key, value)) = line.trim_start_matches("declare -x ").split_once('=') else {
                continue;
            };
            let upper = key.to_ascii_uppercase();
            if upper.starts_with("DSH_")
                || ["MY_TOKEN", "PLAIN", "PAGER", "TYPED", "STDIN"].contains(&upper.as_str())
            {
                self.put(&format!("{name}/{key}"), value.trim_matches('"'));
            }
        }
    }
}

/// What differs between two looks, by name.
pub(crate) fn differences(
    one: &BTreeMap<String, String>,
    other: &BTreeMap<String, String>,
) -> Vec<String> {
    let names: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    names
        .into_iter()
        .filter(|name| one.get(*name) != other.get(*name))
        .cloned()
        .collect()
}
