//! Processes that do not want to end.

use std::time::Duration;

use harness::supervise::notice::{Notice, Outlived};

use crate::bench::{Bench, is_alive, survivors};

/// Runs a script that leaves something and exits; ends it; gives the survivors named.
async fn left_by(script: &str) -> Vec<String> {
    let mut bench = Bench::new().await;
    // A process of somebody else that looks just like them.
    let mut decoy = std::process::Command::new("sleep")
        .arg("71")
        .spawn()
        .unwrap();
    let id = harness::supervise::process::ProcessId::of(decoy.id()).unwrap();
    bench.start("a", script).await;
    bench.exited("a").await;

    let (ended, before) = bench.end(Duration::from_millis(60)).await;

    assert!(ended.empty && ended.left.is_empty(), "{ended:?}");
    assert!(is_alive(id), "the decoy was hit");
    decoy.kill().unwrap();
    decoy.wait().unwrap();
    survivors(&before)
}

#[tokio::test]
async fn a_background_process_outlives_the_leader() {
    assert_eq!(left_by("sleep 71 &").await, ["LeaderExit: sleep 71"]);
}

#[tokio::test]
async fn a_process_that_ignores_term_outlives_it_too() {
    let named = left_by(
        "(trap '' TERM; echo up > up; exec sleep 71) & until [ -e up ]; do sleep 0.01; done",
    )
    .await;
    assert_eq!(named, ["LeaderExit: sleep 71", "Term: sleep 71"]);
}

#[tokio::test]
async fn a_session_of_its_own_is_no_way_out() {
    assert_eq!(
        left_by("setsid sleep 71 & sleep 0.05").await,
        ["LeaderExit: sleep 71"]
    );
}

#[tokio::test]
async fn a_double_fork_is_no_way_out() {
    let named =
        left_by("setsid sh -c 'setsid sleep 71 <&- >&- 2>&- & exit' & wait; sleep 0.05").await;
    assert_eq!(named, ["LeaderExit: sleep 71"]);
}

#[tokio::test]
async fn a_stopped_process_is_ended() {
    assert_eq!(
        left_by("sleep 71 & kill -STOP $!").await,
        ["LeaderExit: sleep 71"]
    );
}

#[tokio::test]
async fn a_chain_is_named_with_its_parents() {
    let mut bench = Bench::new().await;
    bench
        .start(
            "a",
            "sh -c 'sleep 71; true' & until pgrep -P $! >/dev/null; do :; done",
        )
        .await;
    bench.exited("a").await;

    let (_, before) = bench.end(Duration::ZERO).await;

    let chain = before.iter().find_map(|notice| match notice {
        Notice::Survivor {
            process,
            parents,
            outlived: Outlived::LeaderExit,
        } if process.argv == ["sleep", "71"] => Some(
            parents
                .iter()
                .map(|parent| parent.argv.join(" "))
                .collect::<Vec<_>>(),
        ),
        _ => None,
    });
    assert_eq!(chain, Some(vec!["sh -c sleep 71; true".to_owned()]));
}

#[tokio::test]
async fn a_leader_that_answers_term_by_forking_is_ended() {
    let mut bench = Bench::new().await;
    let leader = bench.start("a", "trap 'setsid sleep 71 & setsid sleep 72 & exit 0' TERM; echo up > up; while :; do sleep 0.01; done").await;
    bench.file("up").await;

    let (ended, _) = bench.end(Duration::from_millis(200)).await;

    assert!(ended.empty, "{ended:?}");
    assert!(!is_alive(leader));
}

#[tokio::test]
async fn a_fork_loop_is_stopped_before_it_is_killed() {
    let mut bench = Bench::new().await;
    // Each generation ignores TERM and starts the next one in a session of its own, four hundred times, two at once.
    std::fs::write(
        bench.path("loop.sh"),
        "trap '' TERM\n[ \"$1\" -gt 0 ] || exit 0\nsetsid sh loop.sh $(($1 - 1)) &\n[ $(($1 % 20)) -ne 0 ] || setsid sh loop.sh $(($1 - 1)) &\nexec sleep 0.2\n",
    )
    .unwrap();
    bench
        .start("a", "trap '' TERM; setsid sh loop.sh 400 & exec sleep 71")
        .await;

    let (ended, _) = bench.end(Duration::from_millis(50)).await;

    assert!(ended.empty && ended.left.is_empty(), "{ended:?}");
    assert!(ended.orphans > 0, "the loop ran");
}
