//! Operations of the driver plugin, and requests to an agent, as a scenario states them.
//!
//! Read with a launch; `stage` makes the driver's list of them. Only what the harness itself has to fill in is typed
//! here: everything else is the driver's own vocabulary and is passed on as it is.

use serde::Deserialize;

use super::step::Command;

/// One operation.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Op {
    /// Its name in the driver's table.
    pub op: String,
    /// What the command of `tool` or `env_entry` does; `tool` is then the build's bash.
    pub bash: Option<Vec<Command>>,
    /// Whether that command runs in the background.
    pub background: Option<bool>,
    /// The conversation whose opening a prompt says, where it is not that of `session`.
    pub opening: Option<String>,
    /// Everything else. A table `{ path = { what = … } }` stands for that folder.
    #[serde(flatten)]
    pub rest: toml::Table,
}
