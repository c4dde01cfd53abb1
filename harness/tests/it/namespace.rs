//! The guardian: a namespace is created once, released after the last process, and shown revoked, whoever dies.

use std::{collections::BTreeMap, os::unix::fs::PermissionsExt as _, time::Duration};

use harness::{
    plumb::dialect::{Dialect, TokenBy},
    supervise::{
        notice::{Notice, Release},
        order::{Call, Order, Signal},
    },
};

use crate::bench::Bench;

/// A plumb in shell: its state is a file, and it notes each command and whether the leader still ran.
const PLUMB: &str = r#"#!/bin/sh
echo "$* leader:$(kill -0 "$(cat leader 2>/dev/null)" 2>/dev/null && echo runs || echo gone)" >> log
read -r line
case "$2" in
create) echo active > state; echo '{"id":"ns-1","token":"tok-41c0"}' ;;
release) [ "$PLUMB_NAMESPACE$line" = tok-41c0 ] && echo revoked > state; echo '{}' ;;
list) printf '[{"id":"ns-1","state":"%s"}]\n' "$(cat state)" ;;
esac
"#;

async fn bench(plumb: &str) -> Bench {
    let bench = Bench::new().await;
    std::fs::write(bench.path("plumb"), plumb).unwrap();
    std::fs::set_permissions(bench.path("plumb"), std::fs::Permissions::from_mode(0o700)).unwrap();
    bench
}

fn create(bench: &Bench, dialect: Dialect) {
    let plumb = Call {
        argv: vec![bench.path("plumb").display().to_string()],
        env: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
        cwd: bench.dir.path().to_owned(),
        within_ms: 300,
    };
    bench.order(Order::Namespace {
        plumb,
        dialect,
        owner: 41,
    });
}

/// Gives id and token, or what failed.
async fn created(bench: &mut Bench) -> Result<(String, String), String> {
    bench
        .until(|notice| match notice {
            Notice::Namespace { id, token } => Some(Ok((id.clone(), token.expose().to_owned()))),
            Notice::NamespaceFailed { what, exit, said } => {
                Some(Err(format!("{what} [{exit:?}] {said}")))
            }
            _ => None,
        })
        .await
}

fn revoked() -> Vec<Release> {
    vec![Release {
        id: "ns-1".into(),
        revoked: true,
        detail: "released; listed as revoked".into(),
    }]
}

#[tokio::test]
async fn it_is_released_after_the_last_process_and_shown_revoked() {
    let mut bench = bench(PLUMB).await;
    create(&bench, Dialect::default());
    assert_eq!(
        created(&mut bench).await,
        Ok(("ns-1".into(), "tok-41c0".into()))
    );
    bench
        .start("a", "trap '' TERM; echo $$ > leader; exec sleep 60")
        .await;
    bench.file("leader").await;

    let (ended, _) = bench.end(Duration::from_millis(20)).await;

    assert_eq!(ended.namespaces, revoked());
    insta::assert_snapshot!(bench.read("log"), @r"
    namespace create --ttl 30m --owner-pid 41 --json leader:gone
    namespace release --json leader:gone
    namespace list --json leader:gone
    ");
}

#[tokio::test]
async fn a_dialect_may_hand_the_token_over_on_standard_input() {
    let mut bench = bench(PLUMB).await;
    create(
        &bench,
        Dialect {
            release_token: TokenBy::Stdin,
            ..Dialect::default()
        },
    );
    created(&mut bench).await.unwrap();

    let (ended, _) = bench.end(Duration::ZERO).await;

    assert_eq!(ended.namespaces, revoked());
}

#[tokio::test]
async fn a_killed_supervisor_still_has_its_namespace_released_after_its_orphans() {
    let mut bench = bench(PLUMB).await;
    create(&bench, Dialect::default());
    created(&mut bench).await.unwrap();
    bench.start("a", "echo $$ > leader; exec sleep 60").await;
    bench.file("leader").await;
    bench.supervisor.signal(Signal::Kill);

    let (ended, before) = bench.ended().await;

    assert_eq!((ended.empty, ended.namespaces), (true, revoked()));
    assert!(
        before
            .iter()
            .any(|notice| matches!(notice, Notice::Lost { .. })),
        "{before:?}"
    );
    assert!(
        bench.read("log").contains("release --json leader:gone"),
        "{}",
        bench.read("log")
    );
}

#[tokio::test]
async fn the_end_of_the_runner_releases_it() {
    let mut bench = bench(PLUMB).await;
    create(&bench, Dialect::default());
    created(&mut bench).await.unwrap();

    let closing = bench.warden.close().await.unwrap();

    assert_eq!(closing.trouble, Vec::<String>::new());
    assert_eq!(
        std::fs::read_to_string(bench.dir.path().join("state")).unwrap(),
        "revoked\n"
    );
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_withheld_and_not_asked_for_again() {
    let mut bench = bench(&PLUMB.replace(r#""token":"#, r#""secret":"#)).await;
    create(&bench, Dialect::default());

    let failed = created(&mut bench).await.unwrap_err();

    assert!(!failed.contains("tok-41c0"));
    insta::assert_snapshot!(failed, @"the answer has no token at `/token`; it is an object with `id`, `secret`; create said it worked, so a namespace exists: its ttl, or plumb five minutes after its owner 41 has ended [Some(Code(0))] withheld, a token may be in it: 34 bytes on stdout, 0 on stderr");
    let (ended, _) = bench.end(Duration::ZERO).await;
    assert_eq!(ended.namespaces, vec![]);
    assert_eq!(bench.read("log").matches("create").count(), 1);
}

#[tokio::test]
async fn a_create_that_fails_is_quoted() {
    let mut bench =
        bench("#!/bin/sh\necho 'unknown command \"namespace\" for \"plumb\"' >&2; exit 1\n").await;
    create(&bench, Dialect::default());

    let failed = created(&mut bench).await.unwrap_err();

    assert_eq!(
        failed,
        "create failed [Some(Code(1))] unknown command \"namespace\" for \"plumb\""
    );
}

#[tokio::test]
async fn a_create_that_hangs_is_killed_with_what_it_started() {
    let mut bench = bench("#!/bin/sh\nyes & sleep 60\n").await;
    create(&bench, Dialect::default());

    let failed = created(&mut bench).await.unwrap_err();

    assert!(
        failed
            .contains("did not end within 300 ms and was killed; if it made a namespace, its ttl"),
        "{failed}"
    );
    let (ended, _) = bench.end(Duration::ZERO).await;
    assert!(ended.empty, "{ended:?}");
}

#[tokio::test]
async fn a_release_that_does_nothing_is_told() {
    let mut bench = bench(&PLUMB.replace("echo revoked > state", "true")).await;
    create(&bench, Dialect::default());
    created(&mut bench).await.unwrap();

    let (ended, _) = bench.end(Duration::ZERO).await;

    let detail = "released; still listed as active".into();
    assert_eq!(
        ended.namespaces,
        vec![Release {
            id: "ns-1".into(),
            revoked: false,
            detail
        }]
    );
}
