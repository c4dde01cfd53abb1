//! The command line, as the program itself prints it: `docs/cli.md`.
//!
//! Called by `generate`. The program is run with an empty environment, so that no default of this machine gets in.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

const INTRODUCTION: &str = "# Command line\n\nData goes to standard output, everything else to standard error.\n\n\
     | exit | meaning |\n|---|---|\n\
     | 0 | everything was as expected |\n\
     | 1 | a scenario failed, a control did not turn as stated, or the run was stopped |\n\
     | 2 | refused: nothing was created |\n\
     | 3 | the harness broke |\n\
     | 4 | nothing was checked, which is no success |\n\
     | 128+n | a signal ended the run, after its teardown |\n";

/// The whole page.
pub(super) fn page(program: &Path) -> anyhow::Result<String> {
    let top = help(program, &[])?;
    let mut text = format!("{INTRODUCTION}\n## dsh-e2e\n\n```text\n{top}\n```\n");
    for verb in verbs(&top) {
        let said = help(program, &[verb])?;
        write!(text, "\n## dsh-e2e {verb}\n\n```text\n{said}\n```\n")?;
    }
    Ok(text)
}

fn help(program: &Path, verb: &[&str]) -> anyhow::Result<String> {
    let answer = Command::new(program)
        .args(verb)
        .arg("--help")
        .env_clear()
        .output()
        .with_context(|| format!("run {}", program.display()))?;
    ensure!(answer.status.success(), "{verb:?} --help failed");
    let text = String::from_utf8(answer.stdout)?;
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    Ok(lines.join("\n").trim_end().to_owned())
}

/// The verbs that the top page lists.
fn verbs(top: &str) -> Vec<&str> {
    top.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::verbs;

    #[test]
    fn verbs_are_those_of_the_list_of_commands() {
        let top = "About\n\nCommands:\n  run   Drive\n        on\n  list  List\n  help  Print\n\nOptions:\n  -h";
        assert_eq!(verbs(top), ["run", "list"]);
    }
}
