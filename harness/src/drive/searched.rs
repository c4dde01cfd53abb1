//! Searches what the collected files do not show for the secrets of the run: words and environments of launches, and
//! whatever lies below the scenario's root when it is over.
//!
//! Called by `collect`, once every secret is known. It tells the folder, which counts; it judges nothing.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::evidence::Folder;
use crate::evidence::facts::Facts;
use crate::evidence::secrets::SecretKind;
use crate::stage::Stage;

/// Files above this size are packages and images, which no scenario makes.
const LIMIT: u64 = 8 << 20;

/// Teaches the folder the keys, before it writes anything: what each launch was given under `variable`, and the
/// caller's.
pub(super) fn learn_keys(facts: &Facts, variable: &str, callers: &[String], folder: &mut Folder) {
    for launch in facts.launches.values() {
        if let Some(key) = launch.env.get(variable) {
            folder.hide(SecretKind::ModelKey, key);
        }
    }
    for key in callers {
        folder.hide(SecretKind::CallersKey, key);
    }
}

/// Searches words and environments of the launches, and the root; gives what of the root could not be searched.
pub(super) fn search(facts: &Facts, stage: &Stage, folder: &mut Folder) -> Vec<String> {
    for (name, launch) in &facts.launches {
        folder.search(&format!("argv/{name}"), &launch.argv.join("\n"));
        let env: Vec<&str> = launch.env.values().map(String::as_str).collect();
        folder.search(&format!("env/{name}"), &env.join("\n"));
    }
    // Generated commands hand the token on, what they caught is collected, and a worse copy of the plugin is our own text:
    // none of them is the agent's.
    let worse = stage.worse_identity();
    let own = [stage.bin.as_path(), stage.caught.as_path(), worse.as_path()];
    let mut unsearched = Vec::new();
    let mut folders = vec![stage.root.clone()];
    while let Some(at) = folders.pop() {
        let entries = match fs::read_dir(&at) {
            Ok(entries) => entries.flatten(),
            Err(error) => {
                unsearched.push(format!("{}: {error}", at.display()));
                continue;
            }
        };
        for entry in entries {
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else {
                continue;
            };
            if kind.is_dir() && !own.contains(&path.as_path()) {
                folders.push(path);
            } else if kind.is_file() && entry.metadata().is_ok_and(|it| it.len() <= LIMIT) {
                match fs::read(&path) {
                    Ok(bytes) => {
                        let name = path.strip_prefix(&stage.root).unwrap_or(&path);
                        let name = format!("root/{}", name.display());
                        folder.search(&name, &String::from_utf8_lossy(&bytes));
                    }
                    Err(error) => unsearched.push(format!("{}: {error}", path.display())),
                }
            }
        }
    }
    unsearched
}

/// What a probe wrote, without the command lines above the runner: those processes are no part of the run, and what
/// is said on their command lines is nobody's business.
pub(super) fn without_strangers(probe: &Path) -> String {
    let bytes = fs::read(probe).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let Ok(mut seen) = serde_json::from_str::<Value>(&text) else {
        return text;
    };
    let runner = u64::from(std::process::id());
    let Some(parents) = seen.get_mut("parents").and_then(Value::as_array_mut) else {
        return text;
    };
    let pid = |parent: &Value| parent.pointer("/process/pid").and_then(Value::as_u64);
    if let Some(idx) = parents.iter().position(|one| pid(one) == Some(runner)) {
        parents.truncate(idx + 1);
    }
    seen.to_string()
}

#[cfg(test)]
mod tests {
    use super::without_strangers;

    #[test]
    fn nobody_above_the_runner_is_told_of() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("probe.json");
        let parent = |pid: u32| serde_json::json!({"process": {"pid": pid, "start": 1}, "argv": [format!("p{pid}")]});
        let own = std::process::id();
        let parents = [parent(own + 2), parent(own), parent(1)];
        std::fs::write(&file, serde_json::json!({ "parents": parents }).to_string()).unwrap();
        let told = without_strangers(&file);
        assert!(
            told.contains(&format!("p{own}")) && !told.contains("\"p1\""),
            "{told}"
        );
    }
}
