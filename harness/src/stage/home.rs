//! The home of an agent: its profile, its rows, the plugins that the rows name.
//!
//! dsh reads JSON where it expects YAML (measured), so rows are written as JSON.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::operations::{OPERATIONS, OUTCOMES, operations, placed};
use super::{Place, Stage, StageError, World, make, put};
use crate::plan::Run;
use crate::scenario::{Drive, Finding, Home, Identity, Launch, Mcp, Persistence};

/// Rows, in the order in which they are laid.
pub type Rows = Vec<Value>;

/// A row that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// No plugin has that name.
    #[error("no row is called `{name}`: {folder} has no such file")]
    Unknown {
        /// What the scenario names.
        name: String,
        /// Where it was looked for.
        folder: PathBuf,
    },
}

/// The rows that make the fake model the only provider.
pub fn headless_rows(base_url: &str, stream_idle_ms: u128) -> Rows {
    vec![
        json!({"id": "agent-default-model", "config": {"provider": "scripted", "model": "scripted-model"}}),
        json!({"id": "llm-pi-ai", "config": {"providers": {"scripted": {
            "displayName": "Scripted",
            "apiKeyEnv": "FAKE_KEY",
            "api": "openai-completions",
            "baseURL": base_url,
            // The default ladder of five retries would turn a mistake into 17 s of waiting (measured).
            "retryPolicy": {"mode": "normal", "maxRetries": 0},
            "streamIdleTimeoutMs": stream_idle_ms,
            "models": [{"id": "scripted-model"}],
        }}}}),
    ]
}

/// Writes the home of one launch.
pub(super) fn write(
    stage: &Stage,
    run: &Run,
    name: &str,
    launch: &Launch,
    place: &Place,
    world: &World<'_>,
) -> Result<(), StageError> {
    let profile = place.home.join("profiles").join(&place.profile);
    make(&profile)?;
    links(launch, place)?;
    let drive = launch.drive.unwrap_or(Drive::Prompt);
    let identity = launch.identity.unwrap_or(Identity::None);
    let worse = stage.worse_identity();
    let plugin = match run.plugin_patch {
        Some(_) => worse.as_path(),
        None => world.identity,
    };
    let mut bundles = vec![json!("@deepseek-ai/dsh-base")];
    match drive {
        Drive::Prompt => bundles.push(json!("@deepseek-ai/dsh-headless")),
        Drive::Rpc => bundles.push(json!("@deepseek-ai/dsh-sdk-app")),
        Drive::Driver => {}
    }
    let mut dependencies = json!({});
    if matches!(identity, Identity::Bundle | Identity::Both) {
        bundles.push(json!("dsh-plumb-identity"));
        dependencies = json!({"dsh-plumb-identity": format!("file:{}", plugin.display())});
        copy(plugin, &profile.join("node_modules/dsh-plumb-identity"))?;
    }
    let package = json!({
        "name": "dsh-profile-e2e",
        "private": true,
        "dependencies": dependencies,
        "dsh": {"profile": {"bundles": bundles}},
    });
    put(
        &profile.join("package.json"),
        &format!("{package:#}\n"),
        0o600,
    )?;

    let base_url = world.models.get(name).map_or("", String::as_str);
    let mut rows = headless_rows(base_url, run.stream_idle.as_millis());
    rows.extend(persistence(launch, place));
    if launch.home == Some(Home::Explicit)
        && let Some(explicit) = &place.explicit_home
    {
        rows.push(json!({"id": "shell-env", "config": {"dshHome": explicit}}));
    }
    rows.extend(mcp(stage, launch));
    if matches!(identity, Identity::Row | Identity::Both) {
        let entry = entry_of(plugin);
        rows.push(json!({"insert": [{
            "id": "dsh-plumb-identity",
            "name": format!("file://{}", entry.display()),
            "config": plugin_options(stage, run, launch, plugin),
        }]}));
    } else if identity == Identity::Bundle {
        // What installing a bundle mounts has no options; a row of the same id gives it some.
        let options = plugin_options(stage, run, launch, plugin);
        if options
            .as_object()
            .is_some_and(|options| !options.is_empty())
        {
            rows.push(json!({"id": "dsh-plumb-identity", "config": options}));
        }
    }
    for (row, config) in launch.rows.iter().flatten() {
        rows.push(named(stage, row, config, world)?);
    }
    let ops = place.out.join(OPERATIONS);
    if drive != Drive::Prompt {
        let told = operations(stage, launch, &world.build.facts.tools.bash);
        put(&ops, &format!("{told:#}\n"), 0o600)?;
    }
    if drive == Drive::Driver {
        copy(&world.plugins.join("driver"), &profile.join("driver"))?;
        rows.push(json!({"insert": [{
            "id": "dsh-e2e-driver",
            "name": format!("file://{}", profile.join("driver/index.mjs").display()),
            "config": {"ops": ops, "out": place.out.join(OUTCOMES)},
        }]}));
    }
    put(
        &profile.join("cordis.patch.yml"),
        &format!("{:#}\n", Value::Array(rows)),
        0o600,
    )
}

/// The plugin's options: what the scenario states, and the wrapper as the command for its own connections.
fn plugin_options(stage: &Stage, run: &Run, launch: &Launch, plugin: &Path) -> Value {
    let mut options = json!(run.plugin);
    for (name, file) in &run.plugin_files {
        options[name] = json!(plugin.join(file));
    }
    let by_option = launch.finds_plumb.unwrap_or(Finding::Option) == Finding::Option;
    if by_option && options.get("plumbCommand").is_none() {
        options["plumbCommand"] = json!(stage.wrapper());
    }
    options
}

fn persistence(launch: &Launch, place: &Place) -> Rows {
    // A relative root would count from the working directory (measured).
    let root = &place.sessions;
    match launch.persistence.unwrap_or(Persistence::Jsonl) {
        Persistence::Jsonl if launch.sessions_root.is_none() => Vec::new(),
        Persistence::Jsonl => {
            vec![json!({"id": "session-persistence-jsonl", "config": {"root": root}})]
        }
        Persistence::JsonlPlain => vec![json!({
            "id": "session-persistence-jsonl",
            "config": {"root": root, "compression": "none"},
        })],
        Persistence::None => vec![
            json!({"id": "session-persistence-jsonl", "disabled": true}),
            json!({"id": "session-checkpoint-policy", "disabled": true}),
        ],
    }
}

fn mcp(stage: &Stage, launch: &Launch) -> Rows {
    let row = |name: &str, command: PathBuf| {
        json!({"insert": [{
            "id": format!("mcp-{name}"),
            "name": "@deepseek-ai/dsh-mcp-client",
            // Without `transport` dsh silently never starts the server; without the flag a dead one goes unsaid
            // (measured).
            "config": {
                "serverName": name,
                "transport": "stdio",
                "command": command,
                "args": ["serve"],
                "env": {},
                "failOnStartupError": true,
            },
        }]})
    };
    let name = launch.server_name.as_deref().unwrap_or("plumb");
    match launch.mcp.unwrap_or(Mcp::None) {
        Mcp::None => Vec::new(),
        Mcp::Plumb => vec![row(name, stage.wrapper())],
        Mcp::PlumbAndOther => vec![row(name, stage.wrapper()), row("other", stage.wrapper())],
        Mcp::False => vec![row(name, PathBuf::from("/bin/false"))],
    }
}

/// Makes the links that a launch asks for in its home.
fn links(launch: &Launch, place: &Place) -> Result<(), StageError> {
    for (at, target) in launch.links.iter().flatten() {
        let path = place.home.join(at);
        if let Some(parent) = path.parent() {
            make(parent)?;
        }
        std::os::unix::fs::symlink(target, &path)
            .map_err(|source| StageError::Write { path, source })?;
    }
    Ok(())
}

/// A row that a scenario names: a saboteur, a probe, or a row of dsh itself by its id.
fn named(
    stage: &Stage,
    row: &str,
    config: &toml::Table,
    world: &World<'_>,
) -> Result<Value, StageError> {
    let laid = [("saboteur", "saboteurs"), ("probe", "probes")];
    let Some((file, folder)) = laid.iter().find_map(|(kind, folder)| {
        let file = row.strip_prefix(kind)?.strip_prefix(':')?;
        Some((file, *folder))
    }) else {
        return Ok(match config.get("disabled") {
            Some(toml::Value::Boolean(true)) => json!({"id": row, "disabled": true}),
            _ => json!({"id": row, "config": placed(json!(config), stage)}),
        });
    };
    let folder = world.plugins.join(folder);
    let file = folder.join(format!("{file}.mjs"));
    if !file.exists() {
        return Err(RowError::Unknown {
            name: row.to_owned(),
            folder,
        }
        .into());
    }
    let mut config = placed(json!(config), stage);
    config["witness"] = json!(stage.caught.join("sabotage.jsonl"));
    Ok(
        json!({"insert": [{"id": row.replace(':', "-"), "name": format!("file://{}", file.display()), "config": config}]}),
    )
}

/// The entry of a plugin's folder, from its package.json.
fn entry_of(folder: &Path) -> PathBuf {
    let main = std::fs::read_to_string(folder.join("package.json"))
        .ok()
        .and_then(|text| serde_json::from_str::<Value>(&text).ok())
        .and_then(|package| package.get("main")?.as_str().map(str::to_owned))
        .unwrap_or_else(|| "index.mjs".to_owned());
    folder.join(main.trim_start_matches("./"))
}

/// Copies a folder without its tests and modules.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), StageError> {
    let failed = |path: &Path, source| StageError::Write {
        path: path.to_owned(),
        source,
    };
    make(to)?;
    for entry in std::fs::read_dir(from).map_err(|source| failed(from, source))? {
        let entry = entry.map_err(|source| failed(from, source))?;
        let name = entry.file_name();
        if name == "node_modules" || name == "test" {
            continue;
        }
        let target = to.join(&name);
        if entry.path().is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), &target).map_err(|source| failed(&target, source))?;
        }
    }
    Ok(())
}
