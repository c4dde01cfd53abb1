//! Which of the offered tools a script means. Called by the reply writer.
//! It never invents a name: none or several candidates is an answer of its own.

use crate::script::Tool;

/// How many offered names a drift lists.
const NEAR: usize = 6;

/// The tool a script wants is not (or not uniquely) among those offered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Drift {
    /// What the script asked for.
    pub(crate) wanted: String,
    /// The candidates, or the offered names that come nearest.
    pub(crate) near: Vec<String>,
}

/// The name to send for a tool of the script.
pub(crate) fn resolve(tool: &Tool, offered: &[String]) -> Result<String, Drift> {
    match tool {
        Tool::Unchecked(name) => Ok(name.clone()),
        Tool::Exact(name) if offered.contains(name) => Ok(name.clone()),
        Tool::Exact(name) => Err(Drift {
            wanted: name.clone(),
            near: nearest(name, "", offered),
        }),
        Tool::Within { of, name } => {
            let mut found: Vec<&String> = offered
                .iter()
                .filter(|full| is_within(full, of, name))
                .collect();
            match (found.pop(), found.is_empty()) {
                (Some(only), true) => Ok(only.clone()),
                (Some(last), false) => {
                    found.push(last);
                    let near = found.into_iter().cloned().collect();
                    Err(Drift {
                        wanted: format!("{name} of {of}"),
                        near,
                    })
                }
                (None, _) => Err(Drift {
                    wanted: format!("{name} of {of}"),
                    near: nearest(name, of, offered),
                }),
            }
        }
    }
}

/// Whether `full` is `name` after `of`, parted by delimiters, with any delimited prefix before: `mcp__of__name`.
fn is_within(full: &str, of: &str, name: &str) -> bool {
    let is_delimiter = |c: char| !c.is_alphanumeric();
    full.strip_suffix(name)
        .filter(|head| head.ends_with(is_delimiter))
        .and_then(|head| {
            head.trim_end_matches(is_delimiter)
                .strip_suffix(of.trim_end_matches(is_delimiter))
        })
        .is_some_and(|prefix| prefix.is_empty() || prefix.ends_with(is_delimiter))
}

/// Offered names that hold the wanted one or its group, else all of them, up to a handful.
fn nearest(name: &str, of: &str, offered: &[String]) -> Vec<String> {
    let is_near = |full: &&String| {
        full.contains(name) || name.contains(full.as_str()) || (!of.is_empty() && full.contains(of))
    };
    let near: Vec<String> = offered.iter().filter(is_near).take(NEAR).cloned().collect();
    if near.is_empty() {
        offered.iter().take(NEAR).cloned().collect()
    } else {
        near
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tool: &Tool, offered: &[&str], expected: Result<&str, &[&str]>) {
        let offered: Vec<String> = offered.iter().map(ToString::to_string).collect();
        let found = resolve(tool, &offered).map_err(|drift| drift.near);
        assert_eq!(
            found,
            expected
                .map(str::to_owned)
                .map_err(|near| near.iter().map(ToString::to_string).collect())
        );
    }

    fn within(of: &str, name: &str) -> Tool {
        Tool::Within {
            of: of.to_owned(),
            name: name.to_owned(),
        }
    }

    #[test]
    fn a_group_and_a_name_find_the_tool_under_any_delimiter() {
        check(
            &within("plumb", "list_memories"),
            &["bash", "mcp__plumb__list_memories"],
            Ok("mcp__plumb__list_memories"),
        );
        check(&within("plumb", "list"), &["plumb.list"], Ok("plumb.list"));
        check(
            &within("plumb", "list"),
            &["mcp:plumb/list"],
            Ok("mcp:plumb/list"),
        );
    }

    #[test]
    fn half_a_word_is_no_group_and_no_name() {
        check(
            &within("plumb", "memories"),
            &["mcp__plumb__list_memories"],
            Err(&["mcp__plumb__list_memories"]),
        );
        check(
            &within("plumb", "list"),
            &["mcp__xplumb__list"],
            Err(&["mcp__xplumb__list"]),
        );
        check(
            &within("plumb", "list"),
            &["plumblist"],
            Err(&["plumblist"]),
        );
    }

    #[test]
    fn two_candidates_are_as_bad_as_none() {
        check(
            &within("plumb", "list"),
            &["a__plumb__list", "b__plumb__list"],
            Err(&["a__plumb__list", "b__plumb__list"]),
        );
    }

    #[test]
    fn an_exact_name_must_be_offered_and_a_raw_one_need_not() {
        check(
            &Tool::Exact("bash".to_owned()),
            &["bash_tool"],
            Err(&["bash_tool"]),
        );
        check(&Tool::Unchecked("bash".to_owned()), &[], Ok("bash"));
    }
}
