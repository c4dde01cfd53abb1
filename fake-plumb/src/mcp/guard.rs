//! The argument guard: aliases, unknown parameters, missing ones, wrong types, in plumb's own words.
//!
//! Pure; the daemon calls it before every tool. The schemas say additional properties are fine, the guard does not.

use serde_json::{Map, Value};

use super::failure::{Envelope, Failure};

/// Spellings that plumb forgives, beside the camel case of every parameter.
const ALIASES: [(&str, &str, &str); 4] = [
    ("read_file", "path", "file_path"),
    ("write_file", "path", "file_path"),
    ("leave_note", "message", "body"),
    ("check_messages", "timeout", "wait_seconds"),
];

/// Arguments that passed, and what was put right.
#[derive(Debug, PartialEq)]
pub(crate) struct Checked {
    pub(crate) arguments: Map<String, Value>,
    /// The first lines of the answer, if an alias was used.
    pub(crate) note: String,
}

/// Checks the arguments of `tool` against its input schema.
pub(crate) fn check(
    tool: &str,
    schema: &Value,
    arguments: &Map<String, Value>,
) -> Result<Checked, Failure> {
    let refuse = |text: String| Failure {
        text,
        envelope: Some(Envelope::invalid_arguments(tool)),
    };
    let none = Map::new();
    let known = schema["properties"].as_object().unwrap_or(&none);
    let Checked { arguments, note } = resolve_aliases(tool, known, arguments);
    if let Some(unknown) = arguments
        .keys()
        .filter(|key| !known.contains_key(*key))
        .min()
    {
        let valid: Vec<_> = known.keys().map(String::as_str).collect();
        let unknown = crate::log::go_quote(unknown);
        let valid = valid.join(", ");
        return Err(refuse(format!(
            "{tool}: unknown parameter {unknown}. Valid parameters: {valid}"
        )));
    }
    let required: Vec<_> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if let Some(missing) = required.iter().find(|name| !arguments.contains_key(**name)) {
        let required = required.join(", ");
        return Err(refuse(format!(
            "missing required parameter \"{missing}\" (required: {required})"
        )));
    }
    for (name, value) in &arguments {
        let wanted = known[name]["type"].as_str().unwrap_or("any");
        if !fits(wanted, value) {
            return Err(refuse(format!(
                "{tool}: parameter \"{name}\" must be of type {wanted}"
            )));
        }
    }
    Ok(Checked { arguments, note })
}

fn resolve_aliases(
    tool: &str,
    known: &Map<String, Value>,
    arguments: &Map<String, Value>,
) -> Checked {
    let mut note = String::new();
    let mut resolved = Map::new();
    for (key, value) in arguments {
        let target = alias_of(tool, key, known).filter(|target| !arguments.contains_key(*target));
        if let Some(target) = target {
            note = format!(
                "{note}note: interpreted \"{key}\" as \"{target}\" — prefer the tool's documented parameter names.\n"
            );
        }
        resolved.insert(target.unwrap_or(key).to_owned(), value.clone());
    }
    if !note.is_empty() {
        note.push('\n');
    }
    Checked {
        arguments: resolved,
        note,
    }
}

fn alias_of<'a>(tool: &str, key: &str, known: &'a Map<String, Value>) -> Option<&'a str> {
    if known.contains_key(key) {
        return None;
    }
    let curated = ALIASES
        .iter()
        .find(|(of, alias, _)| *of == tool && *alias == key)
        .map(|(_, _, target)| *target);
    known
        .keys()
        .map(String::as_str)
        .find(|name| curated == Some(*name) || camel_case(name) == key)
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut camel, word| {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
        camel
    })
}

fn fits(wanted: &str, value: &Value) -> bool {
    match wanted {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "array" => value.is_array(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::generation::Generation;
    use crate::mcp::schema;

    #[track_caller]
    fn refusal(generation: Generation, tool: &str, arguments: Value) -> String {
        let tools = schema::all(generation);
        let tool = schema::find(&tools, tool).unwrap();
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        check(tool.name, &tool.schema, &arguments).unwrap_err().text
    }

    #[test]
    fn the_first_unknown_key_by_the_alphabet_is_named() {
        let all = json!({ "plumb_hook_proof": "p", "plumb_agent": "a", "mail": "preview" });
        insta::assert_snapshot!(refusal(Generation::V0_17, "session_start", all), @r#"session_start: unknown parameter "mail". Valid parameters: workspace, session_id, language, force, purpose, detail"#);
        let two = json!({ "plumb_hook_proof": "p", "plumb_agent": "a" });
        assert!(
            refusal(Generation::V0_17, "session_start", two)
                .contains("unknown parameter \"plumb_agent\"")
        );
    }

    #[test]
    fn what_is_missing_or_of_another_type_is_named() {
        insta::assert_snapshot!(refusal(Generation::V0_25, "leave_note", json!({})), @r#"missing required parameter "body" (required: body)"#);
        insta::assert_snapshot!(refusal(Generation::V0_25, "check_messages", json!({ "wait_seconds": "2" })), @r#"check_messages: parameter "wait_seconds" must be of type integer"#);
    }

    #[test]
    fn an_alias_is_taken_and_said() {
        let tools = schema::all(Generation::V0_25);
        let tool = schema::find(&tools, "session_start").unwrap();
        let Value::Object(arguments) = json!({ "sessionId": "x" }) else {
            unreachable!()
        };
        let checked = check(tool.name, &tool.schema, &arguments).unwrap();
        assert_eq!(checked.arguments["session_id"], "x");
        insta::assert_snapshot!(checked.note.trim_end(), @r#"note: interpreted "sessionId" as "session_id" — prefer the tool's documented parameter names."#);
    }
}
