//! The tools that the fake has, with plumb's schemas, and the names of those it has not.
//!
//! Pure data, written after the transcript; descriptions are our own words.

use serde_json::{Map, Value, json};

use crate::generation::Generation;

/// A tool as it is listed.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) schema: Value,
    description: &'static str,
    is_always_loaded: bool,
}

/// Tools of the real plumb that answer "not in the fake".
const ABSENT: [&str; 45] = [
    "workspace_symbols",
    "get_definition",
    "explain_symbol",
    "file_outline",
    "find_references",
    "call_hierarchy",
    "type_hierarchy",
    "diagnostics",
    "read_symbol",
    "read_multiple_files",
    "edit_file",
    "delete_file",
    "rename_file",
    "copy_file",
    "transaction_apply",
    "undo_edit",
    "search_in_files",
    "git_init",
    "run_task",
    "mutation_test",
    "run_command",
    "execute_shell_command",
    "agent_config",
    "file_diff",
    "find_replace",
    "share_intent",
    "share_findings",
    "rename_symbol",
    "insert_before_symbol",
    "insert_after_symbol",
    "replace_symbol_body",
    "safe_delete_symbol",
    "move_symbol",
    "delete_memory",
    "search_memories",
    "relevant_memories",
    "topology_status",
    "topology_search",
    "topology_explore",
    "topology_impact",
    "topology_affected",
    "topology_routes",
    "structural_query",
    "workspace_search",
    "minimal_diff_review",
];

/// Tools that change something: refused on a shared connection when nobody can be named (facts, section 3).
const WRITES: [&str; 14] = [
    "write_file",
    "edit_file",
    "delete_file",
    "rename_file",
    "copy_file",
    "transaction_apply",
    "find_replace",
    "rename_symbol",
    "replace_symbol_body",
    "insert_before_symbol",
    "insert_after_symbol",
    "safe_delete_symbol",
    "move_symbol",
    "git",
];

/// Whether the real plumb has this tool and the fake has not.
pub(crate) fn is_absent(name: &str) -> bool {
    ABSENT.contains(&name)
}

pub(crate) fn is_write(name: &str) -> bool {
    WRITES.contains(&name)
}

/// Tools whose answer depends on a path: refused to a gated agent (assumed, A12).
pub(crate) fn is_path_bearing(name: &str) -> bool {
    is_write(name) || matches!(name, "read_file" | "file_status" | "find_files")
}

impl Tool {
    /// Takes a parameter out, as if this plumb had never heard of it.
    pub(crate) fn forget(&mut self, parameter: &str) {
        if let Some(properties) = self.schema["properties"].as_object_mut() {
            properties.remove(parameter);
        }
    }
}

/// The tool of that name.
pub(crate) fn find<'a>(tools: &'a [Tool], name: &str) -> Option<&'a Tool> {
    tools.iter().find(|tool| tool.name == name)
}

/// The result of `tools/list`.
pub(crate) fn list(tools: &[Tool]) -> Value {
    let tools: Vec<_> = tools
        .iter()
        .map(|tool| {
            let mut entry = json!({
                "name": tool.name, "description": tool.description, "inputSchema": tool.schema,
            });
            if tool.is_always_loaded {
                entry["_meta"] = json!({ "anthropic/alwaysLoad": true });
            }
            entry
        })
        .collect();
    json!({ "tools": tools })
}

/// Every tool of the fake, in plumb's order.
pub(crate) fn all(generation: Generation) -> Vec<Tool> {
    let mut tools = file_tools();
    tools.extend(session_tools(generation));
    tools.extend(memory_tools());
    tools
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn texts() -> Value {
    json!({ "type": "array", "items": { "type": "string" } })
}

fn flag() -> Value {
    json!({ "type": "boolean" })
}

fn from(least: u64) -> Value {
    json!({ "type": "integer", "minimum": least })
}

fn within(least: u64, most: u64) -> Value {
    json!({ "type": "integer", "minimum": least, "maximum": most })
}

fn choice(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

/// A tool that clients load at once.
fn loaded(name: &'static str, description: &'static str, properties: Value) -> Tool {
    Tool {
        is_always_loaded: true,
        ..plain(name, description, properties)
    }
}

fn plain(name: &'static str, description: &'static str, properties: Value) -> Tool {
    let schema = Map::from_iter([
        ("additionalProperties".to_owned(), json!(true)),
        ("properties".to_owned(), properties),
        ("type".to_owned(), json!("object")),
    ]);
    Tool {
        name,
        schema: Value::Object(schema),
        description,
        is_always_loaded: false,
    }
}

fn file_tools() -> Vec<Tool> {
    let read = json!({
        "file_path": text(), "start_line": from(1), "end_line": from(1), "offset": from(1), "limit": from(1),
        "pattern": text(), "use_regex": { "type": "boolean", "default": false }, "case_sensitive": flag(),
        "context_lines": within(0, 50), "max_matches": within(1, 2000),
    });
    let status = json!({
        "paths": { "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": 50 },
    });
    let write = json!({
        "file_path": text(), "content": text(), "create_dirs": flag(), "dirty_ok": flag(),
        "overwrite_changed": flag(), "expected_mtime": text(), "expected_sha": text(),
        "await_diagnostics": flag(), "fail_on_new_errors": flag(),
    });
    let find = json!({
        "pattern": text(), "path": text(), "type": choice(&["file", "dir", "any"]), "extension": text(),
        "max_depth": from(1), "max_results": within(1, 5000), "include_hidden": flag(),
        "include_details": flag(), "sort_by": choice(&["name", "size", "modified"]), "use_regex": flag(),
    });
    let git = json!({
        "subcommand": text(), "args": texts(), "files": texts(), "message": text(), "repo": text(),
        "confirm": flag(), "expected_head": text(),
    });
    vec![
        loaded("read_file", "Read a text file of the workspace.", read),
        plain(
            "file_status",
            "Say whether files exist and how large they are.",
            status,
        ),
        loaded("write_file", "Write a text file of the workspace.", write),
        plain("find_files", "List files of the workspace by name.", find),
        loaded(
            "git",
            "Run a git subcommand under the project's policy.",
            git,
        ),
    ]
}

fn session_tools(generation: Generation) -> Vec<Tool> {
    let name = json!({
        "type": "string", "minLength": 1, "maxLength": 25, "pattern": "^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$",
    });
    let note = json!({ "body": text(), "to": text(), "conversation_id": text() });
    let mut start = json!({
        "workspace": text(), "session_id": text(), "language": text(), "force": flag(), "purpose": text(),
        "detail": choice(&["brief", "full"]),
    });
    if generation.has_mail_argument() {
        start["mail"] = choice(&["claim", "preview"]);
    }
    let mut leave_note = loaded(
        "leave_note",
        "Leave a note for another session of this workspace, or for the next one to attach.",
        note,
    );
    leave_note.schema["required"] = json!(["body"]);
    vec![
        plain("daemon_info", "Describe the daemon.", json!({})),
        plain(
            "rename_session",
            "Give this session another name.",
            json!({ "name": name }),
        ),
        plain(
            "workspace_sessions",
            "List the sessions of this workspace.",
            json!({ "recent_limit": within(1, 50) }),
        ),
        leave_note,
        loaded(
            "check_messages",
            "Collect the notes that wait for this session.",
            json!({ "wait_seconds": from(0) }),
        ),
        loaded(
            "session_start",
            "Declare who you are and where you work, and get an orientation.",
            start,
        ),
    ]
}

fn memory_tools() -> Vec<Tool> {
    let write = json!({
        "name": text(), "content": text(), "description": text(), "paths": texts(), "workspace": text(),
    });
    let read = json!({ "name": text(), "workspace": text() });
    vec![
        plain(
            "list_memories",
            "List the notes the project keeps.",
            json!({ "workspace": text() }),
        ),
        plain("read_memory", "Read one of the project's notes.", read),
        plain("write_memory", "Keep a note in the project.", write),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_of_plumb_is_either_here_or_known_to_be_absent() {
        let here = all(Generation::V0_17);
        assert_eq!(here.len() + ABSENT.len(), 59);
        assert!(here.iter().all(|tool| !is_absent(tool.name)));
    }
}
