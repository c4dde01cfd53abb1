//! What an obedient supervisor does.

use std::time::Duration;

use harness::supervise::{
    notice::{Notice, Status, Stream},
    order::{Key, Order, Reach, Signal, Stdin},
};

use crate::bench::{Bench, shell};

#[tokio::test]
async fn a_process_starts_from_an_empty_environment_and_its_exit_is_told_after_its_output() {
    let mut bench = Bench::new().await;
    bench
        .start("a", "/usr/bin/env | sort; echo oops >&2; exit 7")
        .await;

    assert_eq!(bench.exited("a").await, Status::Code(7));

    insta::assert_snapshot!(bench.read("a.out").replace(&bench.dir.path().display().to_string(), "[ROOT]"), @r"
    PATH=/usr/bin:/bin
    PWD=[ROOT]
    ");
    assert_eq!(bench.read("a.err"), "oops\n");
    let (ended, before) = bench.end(Duration::ZERO).await;
    assert!(
        ended.empty && ended.left.is_empty() && before.is_empty(),
        "{ended:?} {before:?}"
    );
    assert!(ended.usage.max_rss_kb > 0);
}

#[tokio::test]
async fn standard_input_is_a_file_or_nothing() {
    let mut bench = Bench::new().await;
    std::fs::write(bench.path("input"), "from a file").unwrap();
    let mut launch = shell(bench.dir.path(), "a", "cat");
    launch.stdin = Stdin::File(bench.path("input"));
    bench.order(Order::Start {
        key: Key("a".into()),
        launch,
    });
    bench.exited("a").await;
    bench.start("b", "cat; echo end").await;
    bench.exited("b").await;

    assert_eq!(
        (bench.read("a.out"), bench.read("b.out")),
        ("from a file".into(), "end\n".into())
    );
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told_with_its_folder() {
    let mut bench = Bench::new().await;
    let mut launch = shell(bench.dir.path(), "a", "");
    launch.argv = vec!["/nowhere/dsh".into()];
    bench.order(Order::Start {
        key: Key("a".into()),
        launch,
    });

    let error = bench
        .until(|notice| match notice {
            Notice::StartFailed { error, .. } => Some(error.clone()),
            _ => None,
        })
        .await;

    let error = error.replace(&bench.dir.path().display().to_string(), "[ROOT]");
    insta::assert_snapshot!(error, @"start `/nowhere/dsh` in `[ROOT]`: No such file or directory (os error 2)");
}

#[tokio::test]
async fn a_death_by_signal_is_no_exit_code() {
    let mut bench = Bench::new().await;
    bench.start("a", "kill -9 $$").await;
    assert_eq!(
        bench.exited("a").await,
        Status::Signal {
            number: 9,
            core: false
        }
    );

    // 40 is a real-time signal, which has no name.
    bench.start("b", "kill -40 $$").await;
    assert_eq!(
        bench.exited("b").await,
        Status::Signal {
            number: 40,
            core: false
        }
    );
}

#[tokio::test]
async fn a_signal_reaches_the_leader_the_group_or_the_tree() {
    for (reach, reached) in [(Reach::Leader, 1), (Reach::Group, 2), (Reach::Tree, 3)] {
        let mut bench = Bench::new().await;
        let script = "sleep 60 & setsid sleep 61 & wait; wait";
        bench.start("a", script).await;
        // The second has left for a session of its own by the time it is `sleep`.
        bench.tree_has(2, "sleep").await;
        bench.order(Order::Signal {
            key: Key("a".into()),
            signal: Signal::Term,
            reach,
        });

        let told = bench
            .until(|notice| match notice {
                Notice::Signalled { reached, .. } => Some(reached.len()),
                _ => None,
            })
            .await;

        assert_eq!(told, reached, "{reach:?}");
        assert_eq!(
            bench.exited("a").await,
            Status::Signal {
                number: 15,
                core: false
            }
        );
    }
}

#[tokio::test]
async fn output_past_the_limit_is_read_told_once_and_dropped() {
    let mut bench = Bench::new().await;
    let mut launch = shell(
        bench.dir.path(),
        "a",
        "head -c 3000000 /dev/zero; echo done >&2",
    );
    launch.limit = 1000;
    bench.order(Order::Start {
        key: Key("a".into()),
        launch,
    });

    let mut overflows = 0;
    let status = loop {
        let found = bench
            .until(|notice| match notice {
                Notice::Overflow {
                    stream: Stream::Stdout,
                    limit: 1000,
                    ..
                } => Some(None),
                Notice::Exited { status, .. } => Some(Some(*status)),
                _ => None,
            })
            .await;
        match found {
            None => overflows += 1,
            Some(status) => break status,
        }
    };

    assert_eq!((status, overflows), (Status::Code(0), 1));
    assert_eq!(
        (bench.read("a.out").len(), bench.read("a.err")),
        (1000, "done\n".into())
    );
}

#[tokio::test]
async fn output_of_exactly_the_limit_is_no_overflow() {
    let mut bench = Bench::new().await;
    let mut launch = shell(bench.dir.path(), "a", "head -c 1000 /dev/zero");
    launch.limit = 1000;
    bench.order(Order::Start {
        key: Key("a".into()),
        launch,
    });
    bench.exited("a").await;

    let (_, before) = bench.end(Duration::ZERO).await;

    assert_eq!((bench.read("a.out").len(), before), (1000, vec![]));
}

#[tokio::test]
async fn an_orphan_that_ends_by_itself_is_named_and_no_survivor() {
    let mut bench = Bench::new().await;
    bench.start("a", "sleep 0.1 &").await;
    bench.exited("a").await;

    let (ended, before) = bench.end(Duration::from_secs(5)).await;

    assert!(ended.empty, "{ended:?}");
    match before.as_slice() {
        [
            Notice::Orphan {
                name,
                group_of,
                status: Status::Code(0),
                ..
            },
        ] => {
            assert_eq!(
                (name.as_str(), group_of.as_ref()),
                ("sleep", Some(&Key("a".into())))
            );
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_dropped_handle_ends_its_tree() {
    let mut bench = Bench::new().await;
    let process = bench.start("a", "sleep 60").await;
    let supervisor = bench.supervisor;

    drop(bench.one);

    crate::bench::gone(process).await;
    crate::bench::gone(supervisor).await;
    assert!(!process.is_alive());
}
