//! Every way in which provisioning is refused: what it says, and that it leaves nothing.

use std::fmt::Write as _;

use super::*;

#[test]
fn offline_and_not_there_is_refused_before_anything_is_made() {
    let lab = Lab::wheel("good");
    let run = lab.run_as(Network::Offline, Check::Quick);
    insta::assert_snapshot!(lab.refusal(run), @r"
    dsh 0.2.1 is not in the cache and --offline forbids fetching it: [LAB]/cache/dsh-0.2.1-ba59926159d2aa25
    hint: fetch it once with the network: dsh-e2e provision 0.2.1
    ");
    assert_eq!(
        (lab.calls(), lab.cache().root().exists()),
        (String::new(), false)
    );
}

#[test]
fn a_torn_build_is_refused_offline_with_what_is_wrong() {
    let lab = Lab::wheel("good");
    let installed = lab.run().result.unwrap();
    fs::remove_file(installed.folder.join("tree/bin/rg")).unwrap();
    let run = lab.run_as(Network::Offline, Check::Quick);
    insta::assert_snapshot!(lab.refusal(run), @r"
    dsh 0.2.1 is not in the cache and --offline forbids fetching it: [LAB]/cache/dsh-0.2.1-ba59926159d2aa25 (what is there is torn: bin/rg is missing)
    hint: fetch it once with the network: dsh-e2e provision 0.2.1
    ");
}

#[test]
fn every_failure_says_what_where_and_what_to_do_and_leaves_nothing() {
    let mut text = String::new();
    for behaviour in ["other-wheel", "pip-mismatch", "full", "fails", "hollow"] {
        let lab = Lab::wheel(behaviour);
        writeln!(text, "{behaviour}: {}", lab.refusal(lab.run())).unwrap();
        assert_eq!(lab.in_cache(), Vec::<String>::new(), "{behaviour}");
    }
    for behaviour in ["npm-mismatch", "pnpm-mismatch"] {
        let lab = Lab::lock(behaviour);
        writeln!(text, "{behaviour}: {}", lab.refusal(lab.run())).unwrap();
        assert_eq!(lab.in_cache(), Vec::<String>::new(), "{behaviour}");
    }
    insta::assert_snapshot!(text, @r"
    other-wheel: fake-1-py3-none-any.whl is not the one that was pinned: expected sha256 ba59926159d2aa256eb8739b8da7e2b574b960e1202c6d624cbe981cef996c91, found sha256 d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa
    hint: nothing was kept; try again, and if it stays so, the mirror or proxy that your client uses changes packages: do not use what it gives
    pip-mismatch: what pip fetched is not the one that was pinned: expected sha256 0000000000000000000000000000000000000000000000000000000000000000, found sha256 1111111111111111111111111111111111111111111111111111111111111111
    hint: nothing was kept; try again, and if it stays so, the mirror or proxy that your client uses changes packages: do not use what it gives
    full: the disk is full: pip was fetching dsh 0.2.1 in [LAB]/cache
    hint: a build needs up to 500 MB while it is made; free some, or give a folder on another disk: --cache DIR
    fails: pip failed (exit status: 3) while it was fetching dsh 0.2.1; it said last:
      27
      28
      29
      30
      31
      32
      33
      34
      35
      36
      37
      38
      39
      40
      ERROR: No matching distribution found for fake
    hint: pip was run with your own settings (proxy, index, certificates); if its last lines speak of the network, mend those and try again
    hollow: the package of dsh 0.2.1 holds no `bin/rg`
    hint: its hash is right, so its build.toml is wrong: report it with this message
    npm-mismatch: what npm fetched is not the one that was pinned: expected sha512-AAAA, found sha512-BBBB
    hint: nothing was kept; try again, and if it stays so, the mirror or proxy that your client uses changes packages: do not use what it gives
    pnpm-mismatch: what pnpm fetched is not the one that was pinned: expected sha512-AAAA, found sha512-BBBB
    hint: nothing was kept; try again, and if it stays so, the mirror or proxy that your client uses changes packages: do not use what it gives
    ");
}

#[test]
fn a_failure_is_followed_by_success_when_the_cause_is_gone() {
    let mut lab = Lab::wheel("full");
    lab.run().result.unwrap_err();
    lab.behave("good");
    lab.run().result.unwrap();
}

#[test]
fn a_missing_client_is_named_with_the_way_to_get_it() {
    let mut text = String::new();
    for (mut lab, left) in [
        (Lab::wheel("good"), &[][..]),
        (Lab::wheel("no-pip"), &["python3"]),
        (Lab::lock("good"), &["npm"]),
        (Lab::lock("good"), &["node"]),
    ] {
        lab.only_on_path(left);
        writeln!(text, "{}", lab.refusal(lab.run())).unwrap();
    }
    insta::assert_snapshot!(text, @r"
    python3 is needed to fetch dsh 0.2.1 and is not on PATH (looked for python3, python)
    hint: install Python 3 (Debian, Ubuntu: apt-get install python3 python3-pip)
    pip is needed to fetch dsh 0.2.1 and is not on PATH (looked for python3 -m pip, pip3, pip)
    hint: install Python 3 with pip (Debian, Ubuntu: apt-get install python3-pip)
    node is needed to fetch dsh rc8 and is not on PATH (looked for node)
    hint: install Node.js 20 or newer, which brings npm
    npm is needed to fetch dsh rc8 and is not on PATH (looked for npm)
    hint: install Node.js 20 or newer, which brings npm
    ");
}

#[test]
fn another_platform_or_libc_is_refused_before_anything_is_made() {
    let mut other = Lab::wheel("good");
    other.surroundings.platform = "macos-arm64".into();
    let musl = Lab::wheel("good");
    fs::remove_file(musl.folder.path().join("lib/loader")).unwrap();
    insta::assert_snapshot!(format!("{}\n{}", other.refusal(other.run()), musl.refusal(musl.run())), @r"
    dsh 0.2.1 is not published for macos-arm64; it is for linux-x64
    hint: name a dsh of your own (--dsh PATH --contract REVISION), or run in the container
    dsh 0.2.1 needs glibc, and its loader /lib/loader is not on this machine
    hint: run on a system with glibc 2.28 or newer, or in the container
    ");
    assert!(!other.cache().root().exists() && !musl.cache().root().exists());
}

#[test]
fn a_cache_that_cannot_be_written_is_refused() {
    let lab = Lab::wheel("good");
    fs::write(
        lab.folder.path().join("cache"),
        "a file where the folder should be",
    )
    .unwrap();
    insta::assert_snapshot!(lab.refusal(lab.run()), @r"
    the cache cannot be written: look at [LAB]/cache/dsh-0.2.1-ba59926159d2aa25
    hint: make it writable for this account, or give another folder: --cache DIR
    ");
}
