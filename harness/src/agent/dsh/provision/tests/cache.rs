//! What lies in the cache: found again, torn, made once.

use super::*;

#[test]
fn a_second_run_starts_no_client_and_gives_the_same() {
    for lab in [Lab::wheel("good"), Lab::lock("good")] {
        let first = lab.run().result.unwrap();
        let calls = lab.calls();
        let second = lab.run_as(Network::Offline, Check::EveryFile);
        assert_eq!(second.result.unwrap(), first);
        assert!(
            matches!(&second.events[..], [Event::Found { .. }]),
            "{:?}",
            second.events
        );
        assert_eq!(lab.calls(), calls);
    }
}

#[test]
fn a_torn_build_is_made_again_and_the_run_says_so() {
    let lab = Lab::wheel("good");
    let installed = lab.run().result.unwrap();
    fs::write(&installed.executable, "whe").unwrap();
    let run = lab.run();
    assert_eq!(run.result.unwrap(), installed);
    assert_eq!(fs::read(&installed.executable).unwrap(), b"wheel");
    assert_eq!(lab.in_cache().len(), 1);
    assert_eq!(
        run.events[0]
            .to_string()
            .replace(&*installed.folder.to_string_lossy(), "[FOLDER]"),
        "[FOLDER] is torn (bin/dsh has 3 bytes instead of 5); making it again"
    );
}

#[test]
fn a_build_without_a_manifest_is_torn() {
    let lab = Lab::wheel("good");
    let installed = lab.run().result.unwrap();
    fs::remove_file(installed.folder.join("provisioned.json")).unwrap();
    let run = lab.run();
    assert!(
        matches!(run.events[0], Event::Torn { .. }),
        "{:?}",
        run.events
    );
    run.result.unwrap();
}

#[test]
fn a_changed_program_of_the_same_size_is_torn_and_a_copied_one_is_not() {
    let lab = Lab::wheel("good");
    let program = lab.run().result.unwrap().executable;
    fs::write(&program, "wheel").unwrap();
    assert!(matches!(lab.run().events[0], Event::Found { .. }));
    fs::write(&program, "wheal").unwrap();
    assert!(matches!(lab.run().events[0], Event::Torn { .. }));
}

#[test]
fn a_change_beside_the_programs_is_seen_when_every_file_is_checked() {
    let lab = Lab::lock("good");
    let installed = lab.run().result.unwrap();
    fs::write(installed.folder.join("tree/node_modules/extra.js"), "").unwrap();
    assert!(matches!(lab.run().events[0], Event::Found { .. }));
    assert!(matches!(
        lab.run_as(Network::Allowed, Check::EveryFile).events[0],
        Event::Torn { .. }
    ));
}

#[test]
fn two_at_once_make_one_build() {
    let lab = Lab::wheel("good");
    let runs: Vec<Run> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| lab.run())).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let made = runs
        .iter()
        .flat_map(|run| &run.events)
        .filter(|event| matches!(event, Event::Provisioned { .. }));
    assert_eq!(made.count(), 1);
    let different: std::collections::BTreeSet<_> = runs
        .iter()
        .map(|run| run.result.as_ref().unwrap().executable.clone())
        .collect();
    assert_eq!(different.len(), 1);
    assert_eq!(lab.calls().matches("pip download").count(), 1);
    assert_eq!(lab.in_cache().len(), 1);
}

#[test]
fn the_cache_of_the_account_is_where_xdg_says() {
    #[track_caller]
    fn check(env: &[(&str, &str)], expected: Option<&str>) {
        let env = env
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        let cache = Cache::of_the_account(&Surroundings::of_this_machine(env));
        assert_eq!(
            cache.ok().as_ref().map(Cache::root),
            expected.map(Path::new)
        );
    }
    check(&[("HOME", "/home/me")], Some("/home/me/.cache/dsh-e2e"));
    check(
        &[("HOME", "/home/me"), ("XDG_CACHE_HOME", "/data")],
        Some("/data/dsh-e2e"),
    );
    check(
        &[("HOME", "/home/me"), ("XDG_CACHE_HOME", "relative")],
        Some("/home/me/.cache/dsh-e2e"),
    );
    check(&[("HOME", ""), ("XDG_CACHE_HOME", "")], None);
}

#[test]
fn a_relative_cache_is_resolved_at_once() {
    let cache = Cache::at(Path::new("some/cache")).unwrap();
    assert_eq!(
        cache.root(),
        std::env::current_dir().unwrap().join("some/cache")
    );
}
