//! The beginning of a scenario: its stage, its plumb and namespace, its model's tenants, its homes.
//!
//! Called by `drive`. It starts nothing of the agent's.

use std::collections::BTreeMap;
use std::path::Path;

use super::host::{Apart, PlumbProgram};
use super::{DriveError, Live, Setting};
use crate::evidence::facts::Facts;
use crate::plan::{self, Run};
use crate::plumb::dialect::Dialect;
use crate::plumb::secret::Secret;
use crate::stage::{self, Stage, Tapping, World, Wrapper};
use crate::supervise::notice::Notice;
use crate::supervise::order::{Call, Order};
use crate::supervise::{SuperviseError, Supervisor};

/// How long one plumb command may take: twenty times what the slowest was measured to take.
const PLUMB_MS: u64 = 10_000;

/// Sets the stage: supervisor, namespace, wrapper, tenants, homes.
pub(super) async fn open<'a>(
    run: &'a Run,
    setting: &'a Setting<'a>,
    supervisor: Supervisor,
) -> Result<Live<'a>, DriveError> {
    let world = World {
        program: setting.program,
        build: setting.build,
        installed: setting.installed,
        plugins: setting.plugins,
        identity: setting.identity,
        models: BTreeMap::new(),
    };
    let stage = Stage::set(&setting.root, run, &world)?;
    let mut live = Live {
        run,
        setting,
        stage,
        supervisor,
        plumb: None,
        namespace: None,
        tenants: BTreeMap::new(),
        starts: BTreeMap::new(),
        facts: Facts {
            scenario: run.id.scenario.clone(),
            case: run.id.case.clone(),
            control: run.id.control,
            build: run.build.clone(),
            version: setting.installed.version.clone(),
            revision: setting.build.facts.revision.to_string(),
            witness: stage::WITNESS.to_owned(),
            untapped: setting.tap == Tapping::Off,
            ..Facts::default()
        },
        journal: Vec::new(),
        survivors: Vec::new(),
    };
    if run.needs_plumb() {
        let plumb = setting.plumb.plumb(&run.plumb, &live.stage.root)?;
        if plumb.apart == Apart::Namespace {
            let made = namespace(&mut live.supervisor, &plumb, setting.dialect, &live.stage);
            let (id, token) = made.await?;
            setting.plumb.made(&id, &live.stage.root);
            live.namespace = Some((id, token));
        }
        live.facts.assumes.clone_from(&plumb.assumes);
        live.stage.write_wrapper(
            &Wrapper {
                plumb: &plumb.program,
                account: &plumb.account,
                token: live.namespace.as_ref().map(|(_, token)| token),
                tap: setting.tap,
            },
            &world,
        )?;
        live.plumb = Some(plumb);
    }
    let scripts = scripts(&live);
    let mut world = world;
    for (launch, script) in scripts.models {
        let tenant = setting.model.tenant(
            &format!("{}.{launch}", tenant_name(run, &setting.root)),
            script,
        )?;
        world.models.insert(launch.clone(), tenant.base_url());
        live.tenants.insert(launch, tenant);
    }
    for name in run.launches.keys() {
        let start = live.stage.launch(run, name, &world)?;
        live.starts.insert(name.clone(), start);
    }
    Ok(live)
}

/// The timeline, compiled for where the stage lies.
pub(super) fn scripts(live: &Live<'_>) -> plan::Scripts {
    let place = |place: &crate::scenario::Place| live.stage.folder(place);
    let paths = plan::Paths {
        bin: &live.stage.bin,
        place: &place,
    };
    plan::compile(live.run, live.setting.words, &paths)
}

/// A tenant's name: what a URL path takes.
fn tenant_name(run: &Run, root: &Path) -> String {
    // The same run can be repeated: its own folder tells one time from another.
    let time = root.file_name().unwrap_or_default().to_string_lossy();
    format!("{}.{}.{time}", run.build, run.id)
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '.' {
                c
            } else {
                '-'
            }
        })
        .collect()
}

/// Has the supervisor make the scenario's namespace; it releases it, too.
async fn namespace(
    supervisor: &mut Supervisor,
    plumb: &PlumbProgram,
    dialect: &Dialect,
    stage: &Stage,
) -> Result<(String, Secret), DriveError> {
    let mut env = plumb.account.clone();
    env.insert("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
    supervisor.order(Order::Namespace {
        plumb: Call {
            argv: vec![plumb.program.display().to_string()],
            env,
            cwd: stage.root.clone(),
            within_ms: PLUMB_MS,
        },
        dialect: dialect.clone(),
        owner: std::process::id(),
    })?;
    loop {
        match supervisor.next().await.map(|said| said.notice) {
            Some(Notice::Namespace { id, token }) => return Ok((id, token)),
            Some(Notice::NamespaceFailed { what, exit, said }) => {
                let exit = exit.map(|exit| format!(" ({exit:?})")).unwrap_or_default();
                return Err(DriveError::Namespace {
                    what: format!("{what}{exit} {said}").trim_end().to_owned(),
                });
            }
            Some(_) => {}
            None => return Err(SuperviseError::Gone.into()),
        }
    }
}
