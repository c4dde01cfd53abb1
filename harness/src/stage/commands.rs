//! Generated commands: what a scripted bash call runs, and the wrapper before every plumb process.
//!
//! Where a command writes is compiled into its script, never into the environment under test.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Place, Stage, StageError, Start, World, put};
use crate::plan::Run;
use crate::plumb::secret::Secret;
use crate::scenario::Command;

/// How long a hold waits before it gives up: far above any gate, so that a forgotten hold still ends.
const HOLD_LIMIT_S: u32 = 300;

/// What the wrapper gives to every plumb process of a scenario.
#[derive(Debug)]
pub struct Wrapper<'a> {
    /// The plumb program.
    pub plumb: &'a Path,
    /// The account's own HOME and XDG roots, and what else the program has to be told.
    pub account: &'a BTreeMap<String, String>,
    /// The namespace, if there is one.
    pub token: Option<&'a Secret>,
    /// Whether its frames are written down.
    pub tap: Tapping,
}

/// Whether plumb's frames are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tapping {
    /// Yes.
    On,
    /// No: records alone are judged.
    Off,
}

/// Writes the commands that the timeline names.
pub(super) fn write(stage: &Stage, run: &Run, world: &World<'_>) -> Result<(), StageError> {
    let program = quoted(&world.program.display().to_string());
    for command in run.commands() {
        let (file, line) = match command {
            Command::Probe(name) | Command::Grandchild(name) => {
                let to = quoted(&stage.probe(name).display().to_string());
                (
                    format!("probe-{name}"),
                    format!("exec {program} probe --to {to}"),
                )
            }
            Command::Hold(name) => {
                let (ready, open) = stage.hold(name);
                let (ready, open) = (
                    quoted(&ready.display().to_string()),
                    quoted(&open.display().to_string()),
                );
                (
                    format!("hold-{name}"),
                    format!(
                        "exec {program} hold --ready {ready} --until {open} --limit {HOLD_LIMIT_S}"
                    ),
                )
            }
            Command::Effect(name) => {
                let to = quoted(&stage.caught.join("counted.jsonl").display().to_string());
                (
                    format!("effect-{name}"),
                    format!("exec {program} effect --to {to} --name {name}"),
                )
            }
            Command::Launch(_) | Command::Shell(_) => continue,
        };
        put(
            &stage.bin.join(file),
            &format!("#!/bin/sh\n{line}\n"),
            0o700,
        )?;
    }
    Ok(())
}

/// Writes the command that starts a launch inside another one's bash. It inherits what that bash has, and sets on top
/// what the launch itself is given: the names that the outer harness manages stay as they came.
pub(super) fn nested(
    stage: &Stage,
    name: &str,
    place: &Place,
    start: &Start,
) -> Result<(), StageError> {
    let mut lines = vec![
        "#!/bin/sh".to_owned(),
        format!("cd {}", quoted(&start.cwd.display().to_string())),
    ];
    for (key, value) in &start.env {
        if super::planted().contains_key(key) {
            continue;
        }
        lines.push(format!("export {key}={}", quoted(value)));
    }
    let argv: Vec<String> = start.argv.iter().map(|word| quoted(word)).collect();
    let out = place.out.display();
    lines.push(format!(
        "{} </dev/null >{out}/stdout 2>{out}/stderr",
        argv.join(" ")
    ));
    lines.push("code=$?".to_owned());
    lines.push(format!("echo $code >{out}/exit"));
    lines.push("exit $code".to_owned());
    put(
        &stage.bin.join(format!("launch-{name}")),
        &(lines.join("\n") + "\n"),
        0o700,
    )
}

impl Stage {
    /// Writes the wrapper. It is the only file that holds the token, and it is no evidence.
    pub fn write_wrapper(
        &self,
        wrapper: &Wrapper<'_>,
        world: &World<'_>,
    ) -> Result<(), StageError> {
        let mut lines = vec!["#!/bin/sh".to_owned()];
        if let Some(token) = wrapper.token {
            lines.push(format!("export PLUMB_NAMESPACE={}", quoted(token.expose())));
        }
        for (key, value) in wrapper.account {
            lines.push(format!("export {key}={}", quoted(value)));
        }
        let plumb = quoted(&wrapper.plumb.display().to_string());
        lines.push(match wrapper.tap {
            Tapping::On => format!(
                "exec {} tap --dir {} -- {plumb} \"$@\"",
                quoted(&world.program.display().to_string()),
                quoted(&self.caught.join("mcp").display().to_string()),
            ),
            Tapping::Off => format!("exec {plumb} \"$@\""),
        });
        put(&self.wrapper(), &(lines.join("\n") + "\n"), 0o700)
    }
}

/// A word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_word_with_a_quote_stays_one_word() {
        assert_eq!(quoted("a'b c"), "'a'\\''b c'");
    }
}
