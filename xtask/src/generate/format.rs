//! The scenario format, from its types: `docs/scenario-format.md` and `schema/scenario.json`.
//!
//! Called by `generate`. Every key and its meaning come from the types that read it, so none can be forgotten here.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use harness::scenario::File;
use schemars::schema_for;
use serde_json::{Map, Value};

const INTRODUCTION: &str = include_str!("format.md");

/// Where definitions stand in the schema.
const DEFINITIONS: &str = "#/$defs/";

/// The schema, for editors.
pub(super) fn schema_text() -> String {
    format!("{:#}\n", schema())
}

/// The whole page.
pub(super) fn page() -> String {
    let schema = schema();
    let mut text = INTRODUCTION.to_owned();
    write!(text, "\n## The file\n\n{}", table(&schema)).expect("a String takes everything");
    for name in in_reading_order(&schema) {
        let definition = &schema["$defs"][&name];
        let about = description(definition);
        write!(text, "\n## {name}\n\n{about}\n\n{}", table(definition))
            .expect("a String takes everything");
    }
    text
}

fn schema() -> Value {
    schema_for!(File).to_value()
}

/// The names of all definitions, each after the one that first speaks of it.
fn in_reading_order(schema: &Value) -> Vec<String> {
    let mut order = Vec::new();
    let mut waiting = names_in(&schema["properties"]);
    let mut seen = BTreeSet::new();
    while !waiting.is_empty() {
        let name = waiting.remove(0);
        if seen.insert(name.clone()) {
            waiting.extend(names_in(&schema["$defs"][&name]));
            order.push(name);
        }
    }
    order
}

/// The definitions that a part of the schema speaks of, in its order.
fn names_in(part: &Value) -> Vec<String> {
    match part {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| match (key.as_str(), value.as_str()) {
                ("$ref", Some(reference)) => vec![name_of(reference)],
                _ => names_in(value),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(names_in).collect(),
        _ => Vec::new(),
    }
}

fn name_of(reference: &str) -> String {
    reference
        .strip_prefix(DEFINITIONS)
        .unwrap_or(reference)
        .to_owned()
}

/// A definition as a table: keys of a struct, or choices of an enum.
fn table(definition: &Value) -> String {
    if let Some(choices) = definition.get("oneOf").and_then(Value::as_array) {
        return choices_table(choices);
    }
    let none = Map::new();
    let keys = definition["properties"].as_object().unwrap_or(&none);
    let needed: Vec<&str> = definition["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut text = String::from("| key | takes | meaning |\n|---|---|---|\n");
    for (key, value) in keys {
        let mark = if needed.contains(&key.as_str()) {
            " (needed)"
        } else {
            ""
        };
        writeln!(
            text,
            "| `{key}`{mark} | {} | {} |",
            takes(value),
            description(value)
        )
        .expect("a String takes everything");
    }
    text
}

fn choices_table(choices: &[Value]) -> String {
    let mut text = String::from("| choice | takes | meaning |\n|---|---|---|\n");
    for choice in choices {
        let about = description(choice);
        if let Some(word) = choice.get("const").and_then(Value::as_str) {
            writeln!(text, "| `\"{word}\"` | | {about} |").expect("a String takes everything");
        }
        for word in choice["enum"].as_array().into_iter().flatten() {
            writeln!(text, "| `{word}` | | {about} |").expect("a String takes everything");
        }
        for (key, value) in choice["properties"].as_object().into_iter().flatten() {
            writeln!(text, "| `{key}` | {} | {about} |", takes(value))
                .expect("a String takes everything");
        }
    }
    text
}

/// What a key takes, in words.
fn takes(part: &Value) -> String {
    if let Some(reference) = part.get("$ref").and_then(Value::as_str) {
        let name = name_of(reference);
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(choices) = part.get("anyOf").and_then(Value::as_array) {
        let some = choices
            .iter()
            .find(|choice| choice.get("type").and_then(Value::as_str) != Some("null"));
        return some.map_or_else(String::new, takes);
    }
    let types: Vec<&str> = match &part["type"] {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    match types.iter().find(|one| **one != "null").copied() {
        Some("array") => format!("list of {}", takes(&part["items"])),
        Some("object") => match part.get("additionalProperties") {
            Some(value) if value.is_object() => format!("table of {} by name", takes(value)),
            _ => "table".to_owned(),
        },
        Some("string") => "text".to_owned(),
        Some("integer") => "number".to_owned(),
        Some("boolean") => "true or false".to_owned(),
        _ => "any value".to_owned(),
    }
}

/// The description of a part, on one line.
fn description(part: &Value) -> String {
    part.get("description")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::{INTRODUCTION, page, schema};

    #[test]
    fn every_key_of_every_definition_has_a_meaning() {
        let schema = schema();
        for (name, definition) in schema["$defs"].as_object().unwrap() {
            for (key, value) in definition["properties"].as_object().into_iter().flatten() {
                assert!(
                    value.get("description").is_some(),
                    "{name}.{key} says nothing"
                );
            }
        }
    }

    #[test]
    fn the_example_is_a_scenario() {
        let example = INTRODUCTION.split("```").nth(1).unwrap();
        let text = example.strip_prefix("toml\n").unwrap();
        harness::scenario::read("family/record", text).unwrap();
    }

    #[test]
    fn every_definition_has_a_section() {
        let page = page();
        for name in schema()["$defs"].as_object().unwrap().keys() {
            assert!(
                page.contains(&format!("\n## {name}\n")),
                "{name} has no section"
            );
        }
    }
}
