//! A server of tools, spoken to over its stdio (Model Context Protocol).
//!
//! Started while the host is composed: a server that does not come up is fatal. It is given no managed value and no
//! credential. A call must be sent once: when the connection breaks, that is the result.

use std::path::Path;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, Implementation,
};
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{Peer, ServiceExt as _};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::{Outcome, Request};
use crate::environment::{self, Environment};
use crate::revision::Revision;
use crate::settings::McpRow;

/// A server that did not come up.
#[derive(Debug, thiserror::Error)]
#[error("MCP server `{name}` (`{program}`): {what}")]
pub struct McpError {
    /// Its name.
    pub name: String,
    /// Its program.
    pub program: String,
    /// What happened.
    pub what: String,
}

/// A server.
#[derive(Debug)]
pub struct Server {
    prefix: String,
    tools: Vec<Value>,
    peer: Peer<RoleClient>,
    service: Mutex<Option<RunningService<RoleClient, ClientConfig>>>,
}

impl Server {
    /// Starts a server and asks for its tools.
    pub async fn start(
        row: &McpRow,
        process: &Environment,
        revision: Revision,
        cwd: &Path,
    ) -> Result<Self, McpError> {
        let (program, arguments) = row
            .command
            .split_first()
            .map_or(("", [].as_slice()), |(first, rest)| (first, rest));
        let failed = |what: String| McpError {
            name: row.name.clone(),
            program: program.to_owned(),
            what,
        };
        let mut command = tokio::process::Command::new(program);
        command
            .args(arguments)
            .current_dir(cwd)
            .env_clear()
            .envs(environment::inherited(process, revision));
        let transport =
            TokioChildProcess::new(command).map_err(|error| failed(error.to_string()))?;
        let implementation = Implementation::new("reference", env!("CARGO_PKG_VERSION"));
        let config = ClientConfig::new(ClientCapabilities::default(), implementation);
        let service = config
            .serve(transport)
            .await
            .map_err(|error| failed(error.to_string()))?;
        let peer = service.peer().clone();
        let tools = peer
            .list_all_tools()
            .await
            .map_err(|error| failed(error.to_string()))?;
        let prefix = format!("mcp__{}__", row.name);
        let offered = tools.iter().map(|tool| {
            let function = json!({
                "name": format!("{prefix}{}", tool.name),
                "description": tool.description.as_deref().unwrap_or_default(),
                "parameters": tool.input_schema,
            });
            json!({"type": "function", "function": function})
        });
        Ok(Self {
            tools: offered.collect(),
            prefix,
            peer,
            service: Mutex::new(Some(service)),
        })
    }

    /// Its tools, as they go over the wire.
    pub fn tools(&self) -> Vec<Value> {
        self.tools.clone()
    }

    /// Whether a tool is its own.
    pub fn offers(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| {
            tool.pointer("/function/name")
                .is_some_and(|known| known == name)
        })
    }

    /// Calls one of its tools.
    pub async fn call(&self, request: &Request<'_>) -> Outcome {
        let name = request
            .name
            .strip_prefix(&self.prefix)
            .unwrap_or(request.name)
            .to_owned();
        let Some(arguments) = request.arguments.as_object().cloned() else {
            return Outcome::error("invalid arguments: an object is expected");
        };
        match self
            .peer
            .call_tool(CallToolRequestParams::new(name).with_arguments(arguments))
            .await
        {
            Ok(result) => outcome(&result),
            Err(error) => Outcome::error(error),
        }
    }

    /// Closes the connection; the server ends by itself, or is ended.
    pub async fn stop(&self) {
        if let Some(service) = self.service.lock().await.take() {
            // Whatever it says about its end, there is nobody left to tell.
            service.cancel().await.ok();
        }
    }
}

fn outcome(result: &CallToolResult) -> Outcome {
    let said: Vec<&str> = result
        .content
        .iter()
        .filter_map(|part| Some(part.as_text()?.text.as_str()))
        .collect();
    let value = json!(result);
    let text = match (&result.structured_content, said.is_empty()) {
        (Some(structured), true) => structured.to_string(),
        _ => said.join("\n"),
    };
    if result.is_error == Some(true) {
        return Outcome {
            value,
            ..Outcome::error(text)
        };
    }
    Outcome {
        value,
        ..Outcome::ok(text)
    }
}
