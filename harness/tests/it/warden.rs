//! What happens when one of the three is killed.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use harness::supervise::{
    notice::{Notice, Status},
    order::{Key, Order, Signal},
    process::ProcessId,
};

use crate::bench::{Bench, next, shell, start_warden, survivors, verbs};

#[tokio::test]
async fn closing_ends_everything_and_the_daemon_last() {
    let dir = tempfile::tempdir().unwrap();
    let warden = start_warden();
    let mut daemon = warden
        .daemon("daemon", shell(dir.path(), "daemon", "sleep 60"))
        .unwrap();
    let mut one = warden.supervisor("one").unwrap();
    next(&mut one).await;
    let key = Key("a".into());
    let script = "trap 'sleep 0.1; exit' TERM; echo up > up; while :; do sleep 0.01; done";
    one.order(Order::Start {
        key,
        launch: shell(dir.path(), "a", script),
    })
    .unwrap();
    next(&mut one).await;

    let closing = warden.close().await.unwrap();

    assert_eq!((closing.status, closing.trouble), (Status::Code(0), vec![]));
    let mut last = None;
    while let Some(said) = one.next().await {
        last = Some(said);
    }
    let last = last.unwrap();
    let first = loop {
        let said = next(&mut daemon).await;
        if matches!(said.notice, Notice::Exited { .. }) {
            break said;
        }
    };
    assert!(
        matches!(&last.notice, Notice::Ended(ended) if ended.empty),
        "{last:?}"
    );
    assert!(
        last.at < first.at,
        "the daemon ended first: {last:?} {first:?}"
    );
}

#[tokio::test]
async fn a_killed_supervisor_leaves_nothing_and_its_orphans_are_named() {
    let mut bench = Bench::new().await;
    let leader = bench
        .start("a", "trap '' TERM; setsid sleep 71 & exec sleep 72")
        .await;
    bench.tree_has(2, "sleep").await;
    bench.supervisor.signal(Signal::Kill);

    let (ended, before) = bench.ended().await;

    assert!(ended.empty, "{ended:?}");
    assert!(!leader.is_alive());
    assert!(
        matches!(
            before[0],
            Notice::Lost {
                status: Status::Signal { number: 9, .. }
            }
        ),
        "{before:?}"
    );
    insta::assert_snapshot!(survivors(&before).join("\n"), @r"
    Supervisor: sleep 71
    Supervisor: sleep 72
    Term: sleep 71
    Term: sleep 72
    ");
    assert!(bench.one.next().await.is_none());
}

#[tokio::test]
async fn another_supervisor_does_not_notice_that_one_was_killed() {
    let mut bench = Bench::new().await;
    let dir = tempfile::tempdir().unwrap();
    let mut two = bench.warden.supervisor("two").unwrap();
    next(&mut two).await;
    let key = Key("b".into());
    two.order(Order::Start {
        key,
        launch: shell(dir.path(), "b", "sleep 60"),
    })
    .unwrap();
    let Notice::Started { process: decoy, .. } = next(&mut two).await.notice else {
        panic!("not started")
    };
    bench.start("a", "sleep 60").await;

    bench.supervisor.signal(Signal::Kill);
    bench.ended().await;

    assert!(decoy.is_alive());
}

#[tokio::test]
async fn a_killed_warden_ends_every_tree() {
    let mut bench = Bench::new().await;
    let leader = bench
        .start("a", "trap '' TERM; while :; do sleep 60; done")
        .await;
    let parent = ProcessId::of(parent_of(bench.supervisor.pid)).unwrap();

    parent.signal(Signal::Kill);

    while bench.one.next().await.is_some() {}
    let closing = bench.warden.close().await.unwrap();
    assert_eq!(
        closing.status,
        Status::Signal {
            number: 9,
            core: false
        }
    );
    assert_eq!(
        closing.trouble,
        ["one: the warden died before it, so nobody heard how it ended"]
    );
    assert!(!bench.supervisor.is_alive() && !leader.is_alive());
}

#[tokio::test]
async fn a_killed_runner_is_the_end_of_input_for_all() {
    let bench = Bench::new().await;
    let launch = shell(bench.dir.path(), "a", "echo $$ > pid; exec sleep 60");
    let line =
        |ask: serde_json::Value| format!("{}\n", serde_json::json!({"name": "one", "ask": ask}));
    let start = line(serde_json::json!({"order": {"start": {"key": "a", "launch": launch}}}));
    let orders = line(serde_json::json!({"open": "with-the-others"})) + &start;
    let (input, mut output) = std::io::pipe().unwrap();
    let mut warden = Command::new(verbs())
        .arg("warden")
        .stdin(input)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    output.write_all(orders.as_bytes()).unwrap();
    // A runner that holds the pipe and does nothing more.
    let mut runner = Command::new("sleep")
        .arg("60")
        .stdout(output)
        .spawn()
        .unwrap();
    let pid = bench.file("pid").await.trim().parse().unwrap();
    let process = ProcessId::of(pid).unwrap();

    runner.kill().unwrap();

    runner.wait().unwrap();
    assert!(warden.wait().unwrap().success());
    assert!(!process.is_alive());
}

fn parent_of(pid: u32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ")
        .unwrap()
        .1
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}
