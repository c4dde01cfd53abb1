//! The rows of the acceptance matrix, as data, and what came of each.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use harness::exit::Exit;
use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;

/// Every row.
const ROWS: &str = include_str!("rows.toml");

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    row: Vec<Row>,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// What it is called.
    pub(crate) name: String,
    /// What it shows.
    pub(crate) says: String,
    /// How long it takes.
    minutes: u32,
    /// What it starts.
    starts: String,
    /// What it ends.
    kills: String,
    /// Which plumb it uses.
    #[serde(default)]
    pub(crate) plumb: Which,
    /// Its words of `run`.
    pub(crate) words: Vec<String>,
    /// Its variables.
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// How it has to end.
    #[serde(default)]
    exit: u8,
    /// What it has to report.
    #[serde(default)]
    stdout: Option<String>,
    /// What it has to say beside.
    #[serde(default)]
    stderr: Option<String>,
}

/// Which plumb a row uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Which {
    /// The one that is tested.
    #[default]
    Tested,
    /// One without namespaces.
    Old,
}

/// What came of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Standing {
    /// It ended as it had to.
    Passed,
    /// It did not.
    Failed(String),
    /// It could not be run.
    NotRun(String),
}

/// Reads all rows.
pub(crate) fn rows() -> Result<Vec<Row>, Refusal> {
    let file: File = toml::from_str(ROWS).map_err(Refusal::broken)?;
    if file.format != 1 {
        return Err(Refusal::broken("the matrix has another format"));
    }
    Ok(file.row)
}

/// The plan for a person.
pub(crate) fn plan(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        // Writing to a string cannot fail.
        writeln!(
            text,
            "{}: {}; about {} min",
            row.name, row.says, row.minutes
        )
        .ok();
        writeln!(text, "    starts {}", row.starts).ok();
        writeln!(text, "    kills  {}", row.kills).ok();
    }
    let minutes: u32 = rows.iter().map(|row| row.minutes).sum();
    writeln!(text, "{} rows, about {minutes} min", rows.len()).ok();
    text
}

impl Row {
    /// What came of it: how it ended, and what it said.
    pub(crate) fn standing(&self, exit: Exit, stdout: &str, stderr: &str) -> Standing {
        let number = exit.number();
        let said = |text: &str, start: &str| {
            let mut lines = text.lines().filter(|line| line.starts_with(start));
            lines.next().map(str::to_owned)
        };
        if number != self.exit {
            let why = said(stderr, "error: ")
                .or_else(|| said(stdout, " FAIL "))
                .unwrap_or_default();
            if exit == Exit::Refused {
                return Standing::NotRun(why);
            }
            return Standing::Failed(format!("exit {number}, {} expected;{why}", self.exit));
        }
        // An enclosure's complaint does not show in an exit that is wanted anyway.
        if let Some(line) = said(stdout, " FAIL enclosure:") {
            return Standing::Failed(line.trim().to_owned());
        }
        for (pattern, text) in [(&self.stdout, stdout), (&self.stderr, stderr)] {
            let Some(pattern) = pattern else {
                continue;
            };
            match Regex::new(pattern) {
                Ok(regex) if regex.is_match(text) => {}
                Ok(_) => {
                    return Standing::Failed(format!("nothing that it said matches `{pattern}`"));
                }
                Err(error) => return Standing::Failed(error.to_string()),
            }
        }
        Standing::Passed
    }
}

impl Standing {
    /// One line for a person.
    pub(crate) fn line(&self, name: &str, seconds: u64) -> String {
        match self {
            Self::Passed => format!(" PASS {name} ({seconds} s)\n"),
            Self::Failed(why) => format!(" FAIL {name}: {why}\n"),
            Self::NotRun(why) => format!(" NOT RUN {name}: {why}\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use harness::exit::Exit;

    use super::{Standing, plan, rows};
    use crate::cli::E2E;

    #[test]
    fn the_rows_are_those_of_the_readme_in_its_order() {
        let rows = rows().unwrap();
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        insta::assert_snapshot!(names.join(" "), @"suite-1 suite-2 suite-3 suite-4 suite-5 suite-6 red-control timeout term kill daemon-suite daemon-term daemon-kill old-plumb");
        assert!(
            rows.iter()
                .flat_map(|row| row.env.keys())
                .all(|name| E2E.contains(&name.as_str()))
        );
    }

    #[test]
    fn the_plan_says_how_long_and_what_is_started_and_killed() {
        let rows = rows().unwrap();
        insta::assert_snapshot!(plan(&rows[9..10]).trim_end(), @r"
        kill: KILL to the runner in the middle of the suite: nothing is left, no namespace active; about 1 min
            starts one plumb daemon, a dsh for each scenario under way
            kills  the runner, by KILL after 8 s
        1 rows, about 1 min
        ");
    }

    #[test]
    fn a_refusal_is_not_run_unless_the_row_is_about_it() {
        let rows = rows().unwrap();
        let (suite, old) = (&rows[0], &rows[13]);
        let said = "error: this plumb has no namespace command\n\nhint: x\n";
        let why = "error: this plumb has no namespace command".to_owned();
        assert_eq!(
            suite.standing(Exit::Refused, "", said),
            Standing::NotRun(why)
        );
        assert_eq!(old.standing(Exit::Refused, "", said), Standing::Passed);
        assert!(matches!(
            old.standing(Exit::Refused, "", "error: no"),
            Standing::Failed(_)
        ));
        assert!(matches!(
            old.standing(Exit::AsExpected, "", ""),
            Standing::Failed(_)
        ));
        let failed = suite.standing(Exit::Unexpected, " PASS a\n FAIL b: c\n", "");
        assert_eq!(
            failed,
            Standing::Failed("exit 1, 0 expected; FAIL b: c".into())
        );
        assert_eq!(suite.standing(Exit::AsExpected, "", ""), Standing::Passed);
        let complaint = suite.standing(Exit::AsExpected, " FAIL enclosure: two daemons\n", "");
        assert_eq!(
            complaint,
            Standing::Failed("FAIL enclosure: two daemons".into())
        );
    }
}
