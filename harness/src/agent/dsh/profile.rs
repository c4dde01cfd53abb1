//! The profile a run of dsh boots: bundles, and rows with blanks for what differs from run to run.
//!
//! Read from a build's `profile.toml`, filled by staging. It must never put a value into the middle
//! of a string: a blank is a whole JSON value.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

/// The whole of `profile.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Profile {
    /// The variable in which the provider's key is expected.
    pub key_var: String,
    /// The bundles below the rows.
    pub bundles: BTreeMap<Drive, Vec<String>>,
    /// The rows, by what they are for.
    pub rows: BTreeMap<RowSet, Rows>,
}

/// What moves the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Drive {
    /// A task on the command line.
    Headless,
    /// A plugin that executes operations.
    Driver,
}

/// What a set of rows is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowSet {
    /// The scripted model, as the only provider.
    Provider,
    /// No request for a title.
    NoTitle,
    /// A session log in plain text.
    PlainLog,
    /// No session log.
    NoLog,
}

/// Rows, and where in them something must be filled in.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Rows {
    /// The rows in their order.
    pub list: Vec<Value>,
    /// The blanks, as JSON pointers (RFC 6901) into `list`.
    #[serde(default)]
    pub blanks: BTreeMap<Blank, String>,
}

/// What must be filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blank {
    /// The address of the scripted model, a string.
    BaseUrl,
    /// How long the model may be silent, in milliseconds, a number.
    StreamIdleMs,
    /// The folder of the session logs, an absolute path.
    LogRoot,
}

/// Why rows could not be filled.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ProfileError {
    /// The build has no such rows, or no such bundles.
    #[error("the profile has no {0}")]
    Absent(String),
    /// A blank was left empty.
    #[error("the rows {rows:?} leave {blank:?} blank, and no value was given for it")]
    LeftBlank {
        /// The rows.
        rows: RowSet,
        /// The blank.
        blank: Blank,
    },
    /// A blank is nowhere in its rows.
    #[error("the rows {rows:?} have no place {pointer} for {blank:?}")]
    NoPlace {
        /// The rows.
        rows: RowSet,
        /// The blank.
        blank: Blank,
        /// Where it should be.
        pointer: String,
    },
}

impl Profile {
    /// Gives the `package.json` of a profile folder.
    pub fn package_json(&self, name: &str, drive: Drive) -> Result<Value, ProfileError> {
        let bundles = self
            .bundles
            .get(&drive)
            .ok_or_else(|| ProfileError::Absent(format!("bundles for {drive:?}")))?;
        Ok(json!({
            "name": format!("dsh-profile-{name}"),
            "private": true,
            "dependencies": {},
            "dsh": { "profile": { "bundles": bundles } },
        }))
    }

    /// Gives the rows of several sets, one after the other, every blank filled.
    pub fn rows(
        &self,
        sets: &[RowSet],
        values: &BTreeMap<Blank, Value>,
    ) -> Result<Vec<Value>, ProfileError> {
        let mut all = Vec::new();
        for set in sets {
            let rows = self
                .rows
                .get(set)
                .ok_or_else(|| ProfileError::Absent(format!("rows {set:?}")))?;
            let mut list = Value::from(rows.list.clone());
            for (blank, pointer) in &rows.blanks {
                let value = values.get(blank).ok_or(ProfileError::LeftBlank {
                    rows: *set,
                    blank: *blank,
                })?;
                let place = list
                    .pointer_mut(pointer)
                    .ok_or_else(|| ProfileError::NoPlace {
                        rows: *set,
                        blank: *blank,
                        pointer: pointer.clone(),
                    })?;
                *place = value.clone();
            }
            if let Value::Array(list) = list {
                all.extend(list);
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::dsh::builds;

    fn every_blank() -> BTreeMap<Blank, Value> {
        [
            (Blank::BaseUrl, json!("http://127.0.0.1:9/v1")),
            (Blank::StreamIdleMs, json!(15000)),
            (Blank::LogRoot, json!("/root/of/logs")),
        ]
        .into()
    }

    #[test]
    fn the_rows_of_every_build_can_be_filled_and_keep_no_empty_value() {
        for build in builds().unwrap() {
            let sets = [
                RowSet::Provider,
                RowSet::NoTitle,
                RowSet::PlainLog,
                RowSet::NoLog,
            ];
            let rows = build.profile.rows(&sets, &every_blank()).unwrap();
            let text = serde_json::to_string(&rows).unwrap();
            assert!(
                !text.contains("\"\"") && !text.contains("Ms\":0"),
                "{}: {text}",
                build.name()
            );
            assert_eq!(
                rows[1]["config"]["providers"]["scripted"]["baseURL"],
                "http://127.0.0.1:9/v1"
            );
            assert_eq!(
                rows[1]["config"]["providers"]["scripted"]["streamIdleTimeoutMs"],
                15000
            );
            assert_eq!(rows[3]["config"]["root"], "/root/of/logs");
        }
    }

    #[test]
    fn the_provider_reads_its_key_where_the_profile_says() {
        for build in builds().unwrap() {
            let rows = build
                .profile
                .rows(&[RowSet::Provider], &every_blank())
                .unwrap();
            assert_eq!(
                rows[1]["config"]["providers"]["scripted"]["apiKeyEnv"],
                *build.profile.key_var
            );
        }
    }

    #[test]
    fn a_blank_without_a_value_is_named() {
        let build = &builds().unwrap()[0];
        let error = build
            .profile
            .rows(&[RowSet::PlainLog], &BTreeMap::new())
            .unwrap_err();
        assert_eq!(
            error,
            ProfileError::LeftBlank {
                rows: RowSet::PlainLog,
                blank: Blank::LogRoot
            }
        );
    }

    #[test]
    fn a_driver_profile_has_nothing_that_prompts_by_itself() {
        let build = &builds().unwrap()[0];
        let package = build.profile.package_json("e2e", Drive::Driver).unwrap();
        insta::assert_json_snapshot!(package, @r#"
        {
          "name": "dsh-profile-e2e",
          "private": true,
          "dependencies": {},
          "dsh": {
            "profile": {
              "bundles": [
                "@deepseek-ai/dsh-base"
              ]
            }
          }
        }
        "#);
    }
}
