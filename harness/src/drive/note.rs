//! Leaves a note at plumb as a stranger would: a short MCP client over `plumb serve`.
//!
//! A hidden verb of the program, started by the supervisor. It holds the server's input open until each reply has
//! come: requests piped in before end of file are carried out and never answered (measured).

use std::path::{Path, PathBuf};

use rmcp::ServiceExt as _;
use rmcp::model::{CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation};
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};

/// The name under which notes are sent; records of this client are the harness's own.
pub const NOTE_CLIENT: &str = "dsh-e2e-note";

/// What is to be left, and where the receipt goes.
#[derive(Debug, Clone)]
pub struct Leave<'a> {
    /// The wrapper of the scenario.
    pub plumb: &'a Path,
    /// The workspace to attach to.
    pub workspace: &'a Path,
    /// The name of a plumb session; whoever attaches next when left out.
    pub to: Option<&'a str>,
    /// The text.
    pub text: &'a str,
    /// The file for the receipt.
    pub receipt: &'a Path,
}

/// A note that was not left.
#[derive(Debug, thiserror::Error)]
pub enum NoteError {
    /// The server cannot be started or spoken to.
    #[error("speak with `{plumb}`: {what}")]
    Server {
        /// The wrapper.
        plumb: PathBuf,
        /// What went wrong.
        what: String,
    },
    /// The receipt cannot be written.
    #[error("write the receipt `{path}`: {source}")]
    Receipt {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Leaves the note and writes what plumb answered: `{"declined": …, "text": …}`.
pub async fn leave(note: &Leave<'_>) -> Result<(), NoteError> {
    let failed = |what: String| NoteError::Server {
        plumb: note.plumb.to_owned(),
        what,
    };
    let mut command = tokio::process::Command::new(note.plumb);
    command.arg("serve").current_dir(note.workspace);
    let transport = TokioChildProcess::new(command).map_err(|error| failed(error.to_string()))?;
    let implementation = Implementation::new(NOTE_CLIENT, env!("CARGO_PKG_VERSION"));
    let info = ClientConfig::new(ClientCapabilities::default(), implementation);
    let client = info
        .serve(transport)
        .await
        .map_err(|error| failed(error.to_string()))?;
    let call = async |name: &'static str, arguments: Value| {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let params = CallToolRequestParams::new(name).with_arguments(arguments);
        client
            .call_tool(params)
            .await
            .map_err(|error| failed(error.to_string()))
    };
    call(
        "session_start",
        json!({"workspace": note.workspace, "detail": "brief"}),
    )
    .await?;
    let mut arguments = json!({"body": note.text});
    if let Some(to) = note.to {
        arguments["to"] = json!(to);
    }
    let answer = call("leave_note", arguments).await?;
    let text: String = answer
        .content
        .iter()
        .filter_map(|part| Some(part.as_text()?.text.clone()))
        .collect();
    // plumb declines a note by an ordinary, not an error, result: the receipt's first words decide.
    let declined = answer.is_error == Some(true) || !text.starts_with("Message sent");
    let receipt = json!({"declined": declined, "text": text});
    std::fs::write(note.receipt, format!("{receipt:#}\n")).map_err(|source| {
        NoteError::Receipt {
            path: note.receipt.to_owned(),
            source,
        }
    })?;
    client
        .cancel()
        .await
        .map_err(|error| failed(error.to_string()))?;
    Ok(())
}
