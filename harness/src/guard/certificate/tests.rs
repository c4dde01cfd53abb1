//! A run's certificate, from made-up fingerprints.

use proptest::prelude::*;

use super::{Certificate, Fingerprint, Mark, Phase, Run, certify};
use crate::supervise::process::ProcessId;

fn quiet() -> Fingerprint {
    Fingerprint {
        daemon: Some(ProcessId {
            pid: 48103,
            start: 7,
        }),
        socket: Some(99),
        records: [(
            "a-1.json".to_owned(),
            mark("", "claude-1", "/home/owner/work", Phase::Live),
        )]
        .into(),
        namespaces: [("ns-9".to_owned(), "active".to_owned())].into(),
    }
}

fn mark(namespace: &str, external_id: &str, folder: &str, phase: Phase) -> Mark {
    Mark {
        namespace: namespace.into(),
        external_id: external_id.into(),
        folder: folder.into(),
        phase,
    }
}

fn ran() -> Run {
    Run {
        named: 48103,
        namespaces: ["ns-1".to_owned()].into(),
        roots: vec!["/tmp/dse-1/s0".to_owned()],
        dead: vec!["revoked".to_owned(), "expired".to_owned()],
    }
}

/// What a clean run leaves: its namespace revoked, its record ended.
fn left() -> Fingerprint {
    let mut after = quiet();
    after.namespaces.insert("ns-1".into(), "revoked".into());
    after.records.insert(
        "b-2.json".into(),
        mark("ns-1", "dsh-ws-1", "/tmp/dse-1/s0/ws", Phase::Ended),
    );
    after
}

#[track_caller]
fn check(change: impl FnOnce(&mut Fingerprint), faults: &[&str], owners: &[&str]) {
    let mut after = left();
    change(&mut after);
    let certificate = certify(&quiet(), &after, &ran());
    assert_eq!(certificate.faults, faults);
    assert_eq!(certificate.owners, owners);
}

#[test]
fn a_clean_run_is_certified_in_two_lines() {
    let certificate = certify(&quiet(), &left(), &ran());
    insta::assert_snapshot!(certificate.lines().join("\n"), @"
    host daemon PID 48103: left as it was found
    made and revoked: 1 namespaces; ended records within them, kept by plumb for a day: 1
    ");
}

#[test]
fn what_can_be_traced_to_the_run_is_a_fault() {
    check(
        |after| after.daemon = None,
        &["the daemon was PID 48103 of tick 7, is none"],
        &[],
    );
    check(
        |after| {
            after.daemon = Some(ProcessId {
                pid: 48103,
                start: 8,
            });
        },
        &["the daemon was PID 48103 of tick 7, is PID 48103 of tick 8"],
        &[],
    );
    check(
        |after| after.socket = Some(98),
        &["its socket was inode 99, is inode 98"],
        &[],
    );
    check(
        |after| drop(after.namespaces.insert("ns-1".into(), "active".into())),
        &["namespace ns-1 is active"],
        &[],
    );
    check(
        |after| drop(after.namespaces.remove("ns-1")),
        &["namespace ns-1 is not listed, so not shown revoked"],
        &[],
    );
    let put =
        |mark| move |after: &mut Fingerprint| drop(after.records.insert("c-3.json".into(), mark));
    check(
        put(mark("ns-1", "", "", Phase::Live)),
        &["record c-3.json of namespace ns-1 is live"],
        &[],
    );
    check(
        put(mark("", "", "/tmp/dse-1/s0/ws", Phase::Ended)),
        &["record c-3.json is new, of the run's folder /tmp/dse-1/s0/ws"],
        &[],
    );
    check(
        put(mark("ns-9", "dsh-ws-1", "/elsewhere", Phase::Ended)),
        &["record c-3.json is new, with the run's id dsh-ws-1"],
        &[],
    );
}

#[test]
fn what_cannot_be_traced_to_the_run_is_the_owners() {
    let put =
        |mark| move |after: &mut Fingerprint| drop(after.records.insert("c-3.json".into(), mark));
    check(
        put(mark("", "claude-2", "/tmp/dse-1/s01", Phase::Live)),
        &[],
        &["record c-3.json is new"],
    );
    check(
        put(mark("", "", "", Phase::Ended)),
        &[],
        &["record c-3.json is new"],
    );
    check(
        |after| drop(after.records.remove("a-1.json")),
        &[],
        &["record a-1.json is gone"],
    );
    check(
        |after| {
            drop(after.records.insert(
                "a-1.json".into(),
                mark("", "claude-1", "/home/owner/work", Phase::Ended),
            ));
        },
        &[],
        &["record a-1.json was changed"],
    );
    check(
        |after| drop(after.namespaces.insert("ns-9".into(), "expired".into())),
        &[],
        &["namespace ns-9 was active, is expired"],
    );
}

proptest! {
    #[test]
    fn a_certificate_has_at_most_ten_lines_and_says_which_it_is(faults in 0_usize..40, owners in 0_usize..40) {
        let certificate = Certificate {
            daemon: 1,
            namespaces: 1,
            records: 1,
            faults: (0..faults).map(|it| it.to_string()).collect(),
            owners: (0..owners).map(|it| it.to_string()).collect(),
        };
        let lines = certificate.lines();
        prop_assert!(lines.len() <= 10);
        prop_assert_eq!(lines[0].contains("CHANGED"), faults > 0);
        for (count, title) in [(faults, "left behind: "), (owners, "not traced to the run: ")] {
            let told: usize = lines
                .iter()
                .filter_map(|line| line.strip_prefix(title))
                .map(|rest| rest.strip_prefix("and ").map_or(1, |more| more[..more.len() - 5].parse().unwrap()))
                .sum();
            prop_assert_eq!(told, count);
        }
    }
}
