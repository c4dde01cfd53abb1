//! From scenarios, builds and a selection to the list of runs. Pure: nothing is looked up, nothing
//! is created; the same input gives the same plan.

mod script;
mod words;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

pub use script::{Action, Paths, Scripts, compile, gate, opening};
pub(crate) use script::{launch_of, shell};
pub use words::{Vocabulary, VocabularyError};

use crate::scenario::{Case, Command, Expect, Launch, Peer, Red, Scenario, Session, Start, Step};
use crate::verdict::Flip;

/// How long a scenario may take when its file does not say: ten times what a bare run of real dsh
/// with four others beside it was measured to take (6 s).
pub const LIMIT: Duration = Duration::from_mins(1);

/// How much longer than the longest gate the agent's stream may stay silent.
const STREAM_SLACK: Duration = Duration::from_secs(15);

/// Which run of a scenario this is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId {
    /// The scenario's id.
    pub scenario: String,
    /// The case; none for the plain form.
    pub case: Option<String>,
    /// The control, by its position in the file, from 1.
    pub control: Option<usize>,
}

impl fmt::Display for RunId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.scenario)?;
        if let Some(case) = &self.case {
            write!(out, "@{case}")?;
        }
        if let Some(control) = self.control {
            write!(out, "#red-{control}")?;
        }
        Ok(())
    }
}

impl RunId {
    /// The name that reports print: the stem of the scenario's path, with case and control.
    pub fn stem(&self) -> String {
        let whole = self.to_string();
        whole
            .rsplit_once('/')
            .map_or(whole.clone(), |(_, stem)| stem.to_owned())
    }
}

/// One run: everything that is stated, nothing that is found out.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Which one.
    pub id: RunId,
    /// The build under test.
    pub build: String,
    /// Title of the scenario, or of the control.
    pub title: String,
    /// Processes.
    pub launches: BTreeMap<String, Launch>,
    /// Conversations.
    pub sessions: BTreeMap<String, Session>,
    /// Options of the identity plugin.
    pub plugin: toml::Table,
    /// Options of the identity plugin that are files in its own folder.
    pub plugin_files: BTreeMap<String, String>,
    /// A worse copy of the plugin.
    pub plugin_patch: Option<String>,
    /// How the fake plumb behaves.
    pub plumb: Peer,
    /// The timeline.
    pub steps: Vec<Step>,
    /// The expectations that apply.
    pub expects: Vec<Expect>,
    /// What a control turns; empty otherwise.
    pub flips: Vec<Flip>,
    /// How long it may take.
    pub limit: Duration,
    /// How long the agent's model stream may stay silent.
    pub stream_idle: Duration,
}

impl Run {
    /// Everything that its bash calls do, whether the model or the driver makes them.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        let scripted = self.steps.iter().filter_map(|step| match step {
            Step::Model(model) => Some(model.call.iter().chain(model.calls.iter().flatten())),
            _ => None,
        });
        let driven = self
            .launches
            .values()
            .flat_map(|launch| launch.ops.iter().flatten());
        scripted
            .flatten()
            .filter_map(|call| call.bash.as_ref())
            .chain(driven.filter_map(|op| op.bash.as_ref()))
            .flatten()
    }

    /// Whether any launch talks to plumb.
    pub fn needs_plumb(&self) -> bool {
        self.launches.values().any(|launch| {
            launch
                .mcp
                .is_some_and(|mcp| mcp != crate::scenario::Mcp::None)
        })
    }
}

/// Which controls are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controls {
    /// None.
    None,
    /// All.
    All,
    /// Controls alone.
    Only,
}

/// A build as the plan sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Its name.
    pub build: String,
    /// The revision of the contract that it claims.
    pub revision: String,
}

/// Every run of these scenarios on this build.
pub fn expand(scenarios: &[Scenario], subject: &Subject, controls: Controls) -> Vec<Run> {
    let mut runs = Vec::new();
    for scenario in scenarios {
        let file = &scenario.file;
        let shows = |builds: Option<&Vec<String>>| {
            builds
                .or(file.builds.as_ref())
                .is_none_or(|names| names.contains(&subject.build))
        };
        if controls != Controls::Only {
            if shows(None) {
                runs.push(plain(scenario, subject, None));
            }
            for case in &file.case {
                if shows(case.builds.as_ref()) {
                    runs.push(plain(scenario, subject, Some(case)));
                }
            }
        }
        if controls == Controls::None {
            continue;
        }
        for (idx, red) in file.red.iter().enumerate() {
            let case = red
                .case
                .as_ref()
                .and_then(|name| file.case.iter().find(|case| case.name == *name));
            let builds = red
                .builds
                .as_ref()
                .or(case.and_then(|case| case.builds.as_ref()));
            if shows(builds) {
                runs.push(control(plain(scenario, subject, case), red, idx + 1));
            }
        }
    }
    runs
}

/// One run again, from its parts: what `judge` does with stored evidence.
pub fn again(
    scenario: &Scenario,
    subject: &Subject,
    case: Option<&str>,
    control_idx: Option<usize>,
) -> Option<Run> {
    let case = match case {
        None => None,
        Some(name) => Some(scenario.file.case.iter().find(|case| case.name == name)?),
    };
    let run = plain(scenario, subject, case);
    match control_idx {
        None => Some(run),
        Some(idx) => Some(control(
            run,
            scenario.file.red.get(idx.checked_sub(1)?)?,
            idx,
        )),
    }
}

fn plain(scenario: &Scenario, subject: &Subject, case: Option<&Case>) -> Run {
    let file = &scenario.file;
    let mut launches = file.launch.clone();
    launches.entry("main".into()).or_default();
    let mut sessions = file.session.clone();
    sessions.entry("main".into()).or_default();
    let mut plugin = file.plugin.clone().unwrap_or_default();
    let mut plugin_files = file.plugin_files.clone().unwrap_or_default();
    let mut expects = file.expect.clone();
    let mut plumb = file.plumb.clone().unwrap_or_default();
    let mut steps = file.step.clone();
    if let Some(case) = case {
        lay(&mut launches, &case.launch);
        plugin.extend(case.plugin.clone().unwrap_or_default());
        plugin_files.extend(case.plugin_files.clone().unwrap_or_default());
        plumb = case.plumb.clone().unwrap_or(plumb);
        steps = case.step.clone().unwrap_or(steps);
        expects.retain(|expect| !case.without.contains(&expect.check));
        for changed in &case.expect {
            match expects
                .iter_mut()
                .find(|expect| expect.check == changed.check)
            {
                Some(place) => *place = changed.clone(),
                None => expects.push(changed.clone()),
            }
        }
    }
    expects.retain(|expect| {
        expect
            .revisions
            .as_ref()
            .is_none_or(|names| names.contains(&subject.revision))
            && expect
                .builds
                .as_ref()
                .is_none_or(|names| names.contains(&subject.build))
    });
    steps.retain(|step| is_on(step, &subject.build));
    let stream_idle = longest_gate(&steps) + STREAM_SLACK;
    Run {
        id: RunId {
            scenario: scenario.id.clone(),
            case: case.map(|case| case.name.clone()),
            control: None,
        },
        build: subject.build.clone(),
        title: file.title.clone(),
        launches,
        sessions,
        plugin,
        plugin_files,
        plugin_patch: None,
        plumb,
        steps,
        expects,
        flips: Vec::new(),
        limit: file.limit.unwrap_or(LIMIT),
        stream_idle,
    }
}

fn control(mut run: Run, red: &Red, idx: usize) -> Run {
    run.id.control = Some(idx);
    run.title.clone_from(&red.title);
    lay(&mut run.launches, &red.launch);
    run.plugin.extend(red.plugin.clone().unwrap_or_default());
    run.plugin_patch.clone_from(&red.plugin_patch);
    if let Some(plumb) = &red.plumb {
        run.plumb = plumb.clone();
    }
    if let Some(steps) = &red.step {
        run.steps.clone_from(steps);
        run.steps.retain(|step| is_on(step, &run.build));
        run.stream_idle = longest_gate(&run.steps) + STREAM_SLACK;
    }
    let applies = |check: &str| {
        crate::judge::BUILT_IN.contains(&check)
            || run.expects.iter().any(|expect| expect.check == check)
    };
    run.flips = red
        .flips
        .iter()
        .filter(|flip| applies(&flip.check))
        .cloned()
        .collect();
    run
}

/// Whether the build takes the step.
fn is_on(step: &Step, build: &String) -> bool {
    match step {
        Step::Model(model) => model
            .builds
            .as_ref()
            .is_none_or(|names| names.contains(build)),
        _ => true,
    }
}

fn lay(launches: &mut BTreeMap<String, Launch>, changes: &BTreeMap<String, Launch>) {
    for (name, change) in changes {
        let laid = launches.entry(name.clone()).or_default().with(change);
        launches.insert(name.clone(), laid);
    }
}

fn longest_gate(steps: &[Step]) -> Duration {
    steps
        .iter()
        .filter_map(|step| match step {
            Step::Gate(gate) => Some(gate.within),
            _ => None,
        })
        .sum()
}

/// Whether the launch starts when the scenario does.
pub fn starts_at_once(launch: &Launch) -> bool {
    launch.start.unwrap_or(Start::AtOnce) == Start::AtOnce
}

#[cfg(test)]
pub(crate) mod tests_support {
    //! A run to judge, without a scenario file.

    use super::{Run, Subject, again};
    use crate::scenario;
    use crate::verdict::Flip;

    pub(crate) fn run_with_flips(flips: Vec<Flip>) -> Run {
        let scenario =
            scenario::read("family/stem", "format = 1\ntitle = 't'\nwhy = 'w'\n").unwrap();
        let subject = Subject {
            build: "b".into(),
            revision: "note".into(),
        };
        let mut run = again(&scenario, &subject, None, None).unwrap();
        run.flips = flips;
        run
    }
}
