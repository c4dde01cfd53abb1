//! A server of tools in a few lines of bash, which writes down every call; and what the agent makes of it.

use std::path::PathBuf;

use reference::revision::Revision;
use reference::settings::McpRow;
use serde_json::json;

use super::room::Room;

const SERVER: &str = r#"
while IFS= read -r line; do
  [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
  case $line in
    *'"method":"initialize"'*)
      echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}}' ;;
    *'"method":"tools/list"'*)
      echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"count","description":"Count.","inputSchema":{"type":"object"}}]}}' ;;
    *'"method":"tools/call"'*)
      echo "$line" >> "$0.calls"
      env | grep -i ^dsh_ >> "$0.env"
      echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"counted"}]}}' ;;
    *'"id":'*)
      echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"unknown"}}' ;;
  esac
done
"#;

/// The row of the server, and where its calls are written.
pub(crate) fn server(room: &Room) -> (McpRow, PathBuf) {
    let script = room.path("server.sh");
    std::fs::write(&script, SERVER).unwrap();
    let command = vec!["bash".to_owned(), script.display().to_string()];
    (
        McpRow {
            name: "box".to_owned(),
            command,
        },
        room.path("server.sh.calls"),
    )
}

#[test]
fn a_tool_of_a_server_is_called_once_and_the_server_sees_no_managed_value() {
    let room = Room::new();
    let (row, calls) = server(&room);
    let mut settings = room.settings(Revision::Note, &[]);
    settings.mcp = vec![row];
    let told = json!([["mcp__box__count", {"by": 2}]]).to_string();
    let outcomes = room.execute(
        settings,
        &[
            json!({"op": "create", "session": "main"}),
            json!({"op": "prompt", "session": "main", "text": told}),
        ],
    );
    assert_eq!(outcomes[1]["value"]["results"][0]["text"], "counted");
    let calls = std::fs::read_to_string(calls).unwrap();
    assert_eq!(calls.lines().count(), 1);
    assert!(calls.contains(r#""arguments":{"by":2}"#), "{calls}");
    assert_eq!(
        std::fs::read_to_string(room.path("server.sh.env")).unwrap(),
        ""
    );
}

#[test]
fn a_server_that_does_not_come_up_fails_the_run_before_any_request() {
    let room = Room::new();
    let output = room.run(&["--revision", "note", "--mcp", "box=false", "hello"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .starts_with("reference: MCP: MCP server `box` (`false`)")
    );
    assert!(room.model.requests().is_empty());
}
