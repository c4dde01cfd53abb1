//! A second opinion on the wire: the official Rust client, which knows nothing of our reading of the protocol.

use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::TokioChildProcess;
use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn the_official_client_shakes_hands_lists_and_calls() {
    let world = World::of("0.25");
    let ws = world.workspace("a");
    let mut command = world.command(&["serve"]);
    command.current_dir(&ws);
    let client =
        ().serve(TokioChildProcess::new(tokio::process::Command::from(command)).unwrap())
            .await
            .unwrap();
    let server = client.peer_info().unwrap();
    assert_eq!(server.server_info.as_ref().unwrap().name, "plumb");
    let tools = client.list_all_tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == "session_start"));
    let serde_json::Value::Object(arguments) = json!({ "session_id": "official", "workspace": ws })
    else {
        unreachable!()
    };
    let result = client
        .call_tool(CallToolRequestParams::new("session_start").with_arguments(arguments))
        .await
        .unwrap();
    assert_eq!(result.is_error, Some(false));
    client.cancel().await.unwrap();
    world.record_where("the record", |record| record["external_id"] == "official");
}
