//! Processes that do not want to end.

use std::time::Duration;

use harness::supervise::notice::{Notice, Outlived};

use crate::bench::{Bench, survivors};

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
    bench.tree_has(1, "sleep").await;

    let (ended, before) = bench.end(Duration::from_millis(300)).await;

    assert!(ended.empty && ended.left.is_empty(), "{ended:?}");
    assert!(id.is_alive(), "the decoy was hit");
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
    let named = left_by("(trap '' TERM; exec sleep 71) &").await;
    assert_eq!(named, ["LeaderExit: sleep 71", "Term: sleep 71"]);
}

#[tokio::test]
async fn a_session_of_its_own_is_no_way_out() {
    assert_eq!(left_by("setsid sleep 71 &").await, ["LeaderExit: sleep 71"]);
}

#[tokio::test]
async fn a_double_fork_is_no_way_out() {
    let named = left_by("setsid sh -c 'setsid sleep 71 <&- >&- 2>&- & exit' & wait").await;
    assert_eq!(named, ["LeaderExit: sleep 71"]);
}

#[tokio::test]
async fn a_stopped_process_is_ended() {
    assert_eq!(
        left_by("sleep 71 & until [ \"$(cat /proc/$!/comm)\" = sleep ]; do :; done; kill -STOP $!")
            .await,
        ["LeaderExit: sleep 71"]
    );
}

#[tokio::test]
async fn a_chain_is_named_with_its_parents() {
    let mut bench = Bench::new().await;
    bench.start("a", "sh -c 'sleep 71; true' &").await;
    bench.exited("a").await;
    bench.tree_has(1, "sleep").await;

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
    assert!(!leader.is_alive());
}

#[tokio::test]
async fn a_fork_loop_is_ended() {
    let mut bench = Bench::new().await;
    // Each generation ignores TERM and starts the next in a session of its own; a bound keeps a failure harmless.
    let generation = "trap '' TERM\n[ \"$1\" -gt 0 ] || exit 0\nsetsid sh loop.sh $(($1 - 1)) &\nexec sleep 0.3\n";
    std::fs::write(bench.path("loop.sh"), generation).unwrap();
    bench
        .start(
            "a",
            "trap '' TERM; for n in 1 2 3; do setsid sh loop.sh 2000 & done; exec sleep 71",
        )
        .await;
    for _ in 0..6 {
        bench
            .until(|notice| matches!(notice, Notice::Orphan { .. }).then_some(()))
            .await;
    }

    let (ended, _) = bench.end(Duration::from_millis(50)).await;

    assert!(ended.empty && ended.left.is_empty(), "{ended:?}");
}

#[tokio::test]
async fn endless_output_of_what_is_left_holds_nothing_up() {
    let mut bench = Bench::new().await;
    let mut launch = crate::bench::shell(bench.dir.path(), "a", "yes & sleep 0.1; exit 4");
    launch.limit = 4096;
    let key = harness::supervise::order::Key("a".into());
    bench.order(harness::supervise::order::Order::Start { key, launch });

    assert_eq!(
        bench.exited("a").await,
        harness::supervise::notice::Status::Code(4)
    );
    bench.tree_has(1, "yes").await;
    let (ended, before) = bench.end(Duration::from_secs(2)).await;

    assert!(ended.empty, "{ended:?}");
    assert_eq!(survivors(&before), ["LeaderExit: yes"]);
    assert_eq!(bench.read("a.out").len(), 4096);
}
