//! The environment of an agent, built from empty, and the canaries that are planted in it.

use std::collections::BTreeMap;

use super::operations::{OPERATIONS, OUTCOMES};
use super::{Place, Stage, Start, World};
use crate::plan::{Run, opening};
use crate::scenario::{Drive, Finding, Home, Launch};

/// The planted variable that every command has to see: the witness of every absence.
pub const WITNESS: &str = "PLANTED_WITNESS";

/// The variable that the provider row names for its key; the key itself is no secret.
const KEY: &str = "FAKE_KEY";

/// Planted variables, by name.
pub type Planted = BTreeMap<String, String>;

/// What is planted in every launch: stale values under known, unknown, empty, mixed-case and multi-line names.
pub fn planted() -> Planted {
    [
        ("DSH_SESSION_ID", "canary-session-id"),
        ("DSH_SESSION_JSONL", "/canary/session.jsonl"),
        ("DSH_SHELL", "canary-shell"),
        ("DSH_PROFILE", "canary-profile"),
        ("DSH_PROFILE_DIR", "/canary/profile"),
        ("DSH_STALE_UNKNOWN", "canary-unknown"),
        ("DSH_STALE_EMPTY", ""),
        ("DSH_STALE_LINES", "canary-first\ncanary-second"),
        ("DSH_STALE_FUNCTION", "() { echo canary; }"),
        ("dsh_stale_lower", "canary-lower"),
        ("Dsh_Stale_Mixed", "canary-mixed"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

/// How a launch is started.
pub(super) fn start(
    stage: &Stage,
    run: &Run,
    name: &str,
    launch: &Launch,
    place: &Place,
    world: &World<'_>,
) -> Start {
    let path_dirs = world
        .installed
        .path_dirs
        .iter()
        .map(|dir| dir.display().to_string());
    let system = [
        "/usr/local/sbin",
        "/usr/local/bin",
        "/usr/sbin",
        "/usr/bin",
        "/sbin",
        "/bin",
    ];
    let path: Vec<String> = path_dirs.chain(system.map(str::to_owned)).collect();
    let mut env = planted();
    env.extend(world.installed.env.clone());
    let text = |path: &std::path::Path| path.display().to_string();
    for (key, value) in [
        ("PATH", path.join(":")),
        ("HOME", text(&place.user)),
        ("TMPDIR", text(&place.tmp)),
        ("LANG", "C.UTF-8".to_owned()),
        ("TERM", "dumb".to_owned()),
        ("NO_COLOR", "1".to_owned()),
        (KEY, "no-secret".to_owned()),
        (WITNESS, "here".to_owned()),
    ] {
        env.insert(key.to_owned(), value);
    }
    if let Some(spelling) = home_spelling(launch, place) {
        env.insert("DSH_HOME".to_owned(), spelling);
    }
    match launch.finds_plumb.unwrap_or(Finding::Option) {
        Finding::Option => {}
        Finding::Variable => {
            env.insert("PLUMB_BIN".to_owned(), text(&stage.wrapper()));
        }
        Finding::Path => {
            let found = env.get("PATH").cloned().unwrap_or_default();
            env.insert("PATH".to_owned(), format!("{}:{found}", text(&stage.bin)));
        }
    }
    env.extend(launch.env.clone().unwrap_or_default());
    for key in launch.unset.iter().flatten() {
        env.remove(key);
    }
    let recipe = &world.build.facts.launch;
    let drive = launch.drive.unwrap_or(Drive::Prompt);
    let mut argv = match drive {
        Drive::Rpc => vec![
            text(world.program),
            "talk".to_owned(),
            "--requests".to_owned(),
            text(&place.out.join(OPERATIONS)),
            "--outcomes".to_owned(),
            text(&place.out.join(OUTCOMES)),
            "--".to_owned(),
        ],
        Drive::Prompt | Drive::Driver => Vec::new(),
    };
    argv.extend([
        text(&world.installed.executable),
        recipe.profile_flag.clone(),
        place.profile.clone(),
    ]);
    if let (Some(session), Some(flag)) = (&launch.resume, &recipe.resume_flag) {
        argv.extend([flag.clone(), session.clone()]);
    }
    if drive == Drive::Prompt {
        argv.push(opening(&root_session(run, name)));
    }
    Start {
        argv,
        env,
        cwd: place.workspace.clone(),
    }
}

/// The root conversation of a launch: the session without a parent that runs in it.
fn root_session(run: &Run, launch: &str) -> String {
    run.sessions
        .iter()
        .filter(|(name, session)| {
            session.parent.is_none() && crate::plan::launch_of(run, name) == launch
        })
        .map(|(name, _)| name.clone())
        .next()
        .unwrap_or_else(|| "main".to_owned())
}

/// How the home is spelt in `DSH_HOME`; nothing where the agent has to find it by itself.
fn home_spelling(launch: &Launch, place: &Place) -> Option<String> {
    let whole = place.home.display().to_string();
    match launch.home.unwrap_or(Home::Ambient) {
        Home::Ambient | Home::Explicit => Some(whole),
        Home::Unnormalised => {
            let (parent, last) = whole.rsplit_once('/')?;
            Some(format!("{parent}/./nowhere/../{last}"))
        }
        Home::Relative => {
            // The workspace lies directly below the scenario's root, and so does the launch's own folder.
            let root = place.workspace.parent()?.display().to_string();
            Some(format!("..{}", whole.strip_prefix(&root)?))
        }
        Home::Tilde => Some("~/.dsh".to_owned()),
        Home::Blank => Some("  ".to_owned()),
        Home::User => None,
    }
}

#[cfg(test)]
mod tests {
    use super::planted;

    #[test]
    fn every_planted_value_can_be_told_from_a_real_one() {
        for (name, value) in planted() {
            assert!(
                value.is_empty() || value.contains("canary"),
                "{name}={value}"
            );
        }
    }
}
