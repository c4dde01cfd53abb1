//! How plumb's namespace commands are spoken: argument lists, JSON keys, and how a token is handed over.
//!
//! Called by the supervisor, which creates and releases namespaces; the stage reads it from `--plumb-dialect FILE`.
//! All of it is assumed, not measured (no public plumb has namespaces yet), so it is data. It must never run anything.

use serde::{Deserialize, Serialize};

use super::secret::Secret;

/// Stands in an argument list where the owner's pid goes.
pub const OWNER: &str = "{owner}";

/// The words of one plumb for namespaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Dialect {
    /// Arguments that create a namespace; `{owner}` becomes the owner's pid.
    pub create: Vec<String>,
    /// Where the id stands in the answer, as a JSON pointer.
    pub created_id: String,
    /// Where the token stands in the answer, as a JSON pointer.
    pub created_token: String,
    /// Arguments that release a namespace; the token never stands among them.
    pub release: Vec<String>,
    /// How the release takes the token.
    pub release_token: TokenBy,
    /// Arguments that list namespaces.
    pub list: Vec<String>,
    /// Where the array stands in the list's answer, as a JSON pointer (empty: the answer is the array).
    pub list_rows: String,
    /// Where the id stands in a row, as a JSON pointer.
    pub row_id: String,
    /// Where the state stands in a row, as a JSON pointer.
    pub row_state: String,
    /// The states that mean the token is dead.
    pub revoked: Vec<String>,
    /// The field of a session record that carries the namespace's id.
    pub record_namespace: String,
    /// Arguments that show the service.
    pub service: Vec<String>,
    /// Where the folder of the session records stands in that answer, as a JSON pointer.
    pub service_sessions: String,
    /// Where the state folder stands.
    pub service_state: String,
    /// Where the log stands.
    pub service_log: String,
    /// Where the socket stands.
    pub service_socket: String,
}

/// How a command takes the token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum TokenBy {
    /// In this environment variable.
    Env(String),
    /// As one line on standard input.
    Stdin,
}

impl Default for Dialect {
    /// The seed's words where it has them; keys, the release's environment and the states are assumed.
    fn default() -> Self {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect();
        Self {
            create: words("namespace create --ttl 30m --owner-pid {owner} --json"),
            created_id: "/id".into(),
            created_token: "/token".into(),
            release: words("namespace release --json"),
            release_token: TokenBy::Env("PLUMB_NAMESPACE".into()),
            list: words("namespace list --json"),
            list_rows: String::new(),
            row_id: "/id".into(),
            row_state: "/state".into(),
            revoked: vec!["revoked".into(), "expired".into()],
            record_namespace: "namespace".into(),
            service: words("service show --json"),
            service_sessions: "/session_dir".into(),
            service_state: "/state_dir".into(),
            service_log: "/log".into(),
            service_socket: "/socket".into(),
        }
    }
}

/// A namespace as `create` gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// The public id, which records carry.
    pub id: String,
    /// The token.
    pub token: Secret,
}

/// Where plumb keeps its things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// The folder of the session records.
    pub sessions: std::path::PathBuf,
    /// The state folder.
    pub state: std::path::PathBuf,
    /// The daemon's log.
    pub log: std::path::PathBuf,
    /// The daemon's socket.
    pub socket: std::path::PathBuf,
}

/// What the list said of one namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Its state is one of the dialect's `revoked`.
    Revoked(String),
    /// It is listed with another state.
    Other(String),
    /// It is not listed, which proves nothing: a reader that saw no row may be blind.
    Unlisted,
}

/// Why an answer could not be read; never quotes the answer, which may hold a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is not JSON.
    #[error("the answer is not JSON ({bytes} bytes, line {line}, column {column})")]
    NotJson {
        /// Length of the answer.
        bytes: usize,
        /// Line of the mistake.
        line: usize,
        /// Column of the mistake.
        column: usize,
    },
    /// A value is missing or of another type.
    #[error("the answer has no {want} at `{pointer}`; it is {shape}")]
    Missing {
        /// What was looked for.
        want: &'static str,
        /// Where.
        pointer: String,
        /// Type and keys of what came instead.
        shape: String,
    },
}

impl Dialect {
    /// Gives the arguments of `create` for an owner.
    pub fn create_args(&self, owner: u32) -> Vec<String> {
        self.create
            .iter()
            .map(|word| word.replace(OWNER, &owner.to_string()))
            .collect()
    }

    /// Reads the answer of `create`.
    pub fn read_created(&self, answer: &[u8]) -> Result<Created, Unreadable> {
        let answer = parse(answer)?;
        let id = text_at(&answer, "id", &self.created_id)?;
        let token = text_at(&answer, "token", &self.created_token)?;
        Ok(Created {
            id,
            token: Secret::new(token),
        })
    }

    /// Reads where plumb keeps its things, as it says itself.
    pub fn read_service(&self, answer: &[u8]) -> Result<Service, Unreadable> {
        let answer = parse(answer)?;
        let path =
            |want, pointer: &str| text_at(&answer, want, pointer).map(std::path::PathBuf::from);
        Ok(Service {
            sessions: path("session folder", &self.service_sessions)?,
            state: path("state folder", &self.service_state)?,
            log: path("log", &self.service_log)?,
            socket: path("socket", &self.service_socket)?,
        })
    }

    /// Reads what the list says of namespace `id`.
    pub fn read_standing(&self, answer: &[u8], id: &str) -> Result<Standing, Unreadable> {
        let answer = parse(answer)?;
        for row in self.rows(&answer)? {
            if text_at(row, "id", &self.row_id)? != id {
                continue;
            }
            let state = text_at(row, "state", &self.row_state)?;
            return Ok(if self.revoked.contains(&state) {
                Standing::Revoked(state)
            } else {
                Standing::Other(state)
            });
        }
        Ok(Standing::Unlisted)
    }

    /// Reads the ids of the namespaces that are not over.
    pub fn read_active(&self, answer: &[u8]) -> Result<Vec<String>, Unreadable> {
        let answer = parse(answer)?;
        let mut active = Vec::new();
        for row in self.rows(&answer)? {
            if !self
                .revoked
                .contains(&text_at(row, "state", &self.row_state)?)
            {
                active.push(text_at(row, "id", &self.row_id)?);
            }
        }
        Ok(active)
    }

    fn rows<'a>(
        &self,
        answer: &'a serde_json::Value,
    ) -> Result<&'a Vec<serde_json::Value>, Unreadable> {
        answer
            .pointer(&self.list_rows)
            .and_then(serde_json::Value::as_array)
            .ok_or_else(|| Unreadable::Missing {
                want: "array",
                pointer: self.list_rows.clone(),
                shape: shape(answer),
            })
    }
}

fn parse(answer: &[u8]) -> Result<serde_json::Value, Unreadable> {
    serde_json::from_slice(answer).map_err(|error| Unreadable::NotJson {
        bytes: answer.len(),
        line: error.line(),
        column: error.column(),
    })
}

fn text_at(
    value: &serde_json::Value,
    want: &'static str,
    pointer: &str,
) -> Result<String, Unreadable> {
    match value.pointer(pointer).and_then(serde_json::Value::as_str) {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(Unreadable::Missing {
            want,
            pointer: pointer.to_owned(),
            shape: shape(value),
        }),
    }
}

/// Type and keys, never a value.
fn shape(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Object(map) => {
            let keys: Vec<_> = map.keys().map(|key| format!("`{key}`")).collect();
            format!(
                "an object with {}",
                if keys.is_empty() {
                    "no keys".into()
                } else {
                    keys.join(", ")
                }
            )
        }
        serde_json::Value::Array(rows) => format!("an array of {}", rows.len()),
        serde_json::Value::String(_) => "a string".into(),
        serde_json::Value::Number(_) => "a number".into(),
        serde_json::Value::Bool(_) => "a boolean".into(),
        serde_json::Value::Null => "null".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Dialect, Standing};

    #[track_caller]
    fn standing(list: &str, expected: &str) {
        let said = match Dialect::default().read_standing(list.as_bytes(), "ns-1") {
            Ok(Standing::Revoked(state)) => format!("revoked: {state}"),
            Ok(Standing::Other(state)) => format!("other: {state}"),
            Ok(Standing::Unlisted) => "unlisted".into(),
            Err(error) => error.to_string(),
        };
        assert_eq!(said, expected);
    }

    #[test]
    fn create_names_the_owner_and_no_token() {
        assert_eq!(
            Dialect::default().create_args(41).join(" "),
            "namespace create --ttl 30m --owner-pid 41 --json"
        );
    }

    #[test]
    fn an_answer_with_other_keys_is_described_without_its_values() {
        let error = Dialect::default()
            .read_created(br#"{"id":"ns-1","secret":"tok-1"}"#)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the answer has no token at `/token`; it is an object with `id`, `secret`"
        );
    }

    #[test]
    fn an_answer_that_is_not_json_is_not_quoted() {
        let error = Dialect::default()
            .read_created(b"token: tok-1")
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the answer is not JSON (12 bytes, line 1, column 2)"
        );
    }

    #[test]
    fn only_a_listed_dead_state_counts_as_revoked() {
        standing(
            r#"[{"id":"ns-0","state":"active"},{"id":"ns-1","state":"revoked"}]"#,
            "revoked: revoked",
        );
        standing(r#"[{"id":"ns-1","state":"active"}]"#, "other: active");
        standing(r#"[{"id":"ns-0","state":"revoked"}]"#, "unlisted");
        standing("[]", "unlisted");
        standing(
            r#"{"rows":[]}"#,
            "the answer has no array at ``; it is an object with `rows`",
        );
    }
}
