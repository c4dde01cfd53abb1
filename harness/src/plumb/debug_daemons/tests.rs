//! Listings of `plumb debug daemons`, read and held against an opt-in.

use super::read;
use crate::guard::owner_daemon::agree;
use crate::guard::{Admitted, Evidence, OptIn, Request, admit};
use crate::host::HostFacts;

/// The opt-in to PID 48103, got the only way there is: from the environment, past the guard.
fn opt_in() -> OptIn {
    let env = [
        ("DSH_E2E_HOST_DAEMON", "48103"),
        ("PLUMB_BIN", "/p"),
        ("HOME", "/h"),
    ];
    let env = env.map(|(key, value)| (key.into(), value.into())).into();
    let facts = HostFacts::gather(&env, "linux", "/w".into(), &|_| false);
    let request = Request {
        plumb: None,
        jobs: None,
        repeat: 1,
    };
    match admit(&facts, &request, &|_| true) {
        Ok(Admitted::Real(real)) => match real.evidence {
            Evidence::Owner(opt_in) => opt_in,
            other => panic!("{other}"),
        },
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn check(rows: &str, verdict: &str, expected: &str) {
    let text = format!(
        "\u{1b}[36m  v\u{1b}[0m\n\nPID      AUTHORITY  OWNS SOCKET  SOCKET\n{rows}\n\n{verdict}\n"
    );
    said(&text, expected);
}

#[track_caller]
fn said(text: &str, expected: &str) {
    let said = match read(text.as_bytes()).map(|listing| agree(&listing, opt_in())) {
        Ok(Ok(())) => "agreed".to_owned(),
        Ok(Err(disagreement)) => disagreement.to_string(),
        Err(error) => error.to_string(),
    };
    assert_eq!(said, expected);
}

const ROW: &str = "48103    yes        yes          /run/plumb.sock";
const OK: &str = "OK: daemon PID 48103 holds the launch authority and owns its socket";

#[test]
fn one_daemon_with_authority_socket_and_that_pid_is_agreed() {
    check(ROW, OK, "agreed");
    said(&format!("PID  AUTHORITY\n48103  yes\n{OK}\n"), "agreed");
    said(
        "PID  AUTHORITY  OWNS SOCKET\n48103  yes  yes\nOK PID 48103\n",
        "agreed",
    );
}

#[test]
fn every_other_listing_is_told_apart() {
    let another = "48104    no         no           -";
    check("", OK, "it lists 0 daemons, not exactly one ()");
    check(
        &format!("{ROW}\n{another}"),
        "VIOLATION: 2 daemons are running, PID 48103, PID 48104",
        "it lists 2 daemons, not exactly one (PID 48103, PID 48104)",
    );
    check(
        &ROW.replace("48103", "48104"),
        OK,
        "the daemon is PID 48104, not PID 48103",
    );
    check(
        ROW,
        "VIOLATION: daemon PID 48103 …",
        "its verdict is `VIOLATION: daemon PID 48103 …`, not OK",
    );
    check(
        ROW,
        "UNKNOWN: daemon PID 48103",
        "its verdict is `UNKNOWN: daemon PID 48103`, not OK",
    );
    check(
        ROW,
        "OKAY: daemon PID 48103",
        "its verdict is `OKAY: daemon PID 48103`, not OK",
    );
    check(
        ROW,
        "OK: daemon PID 48104 owns its socket",
        "its verdict `OK: daemon PID 48104 owns its socket` does not name PID 48103 alone",
    );
    check(
        ROW,
        "OK: daemon PID 48103, daemon PID 48104",
        "its verdict `OK: daemon PID 48103, daemon PID 48104` does not name PID 48103 alone",
    );
    check(
        ROW,
        "OK: all is well",
        "its verdict `OK: all is well` does not name PID 48103 alone",
    );
    check(
        &ROW.replacen("yes", "no", 1),
        OK,
        "daemon PID 48103 does not hold the launch authority: AUTHORITY is `no`",
    );
    check(
        &ROW.replace("yes          /run", "no           /run"),
        OK,
        "it is not said that daemon PID 48103 owns its socket: `no`",
    );
    check(
        ROW,
        "OK: daemon PID 48103 does not own its socket",
        "it is not said that daemon PID 48103 owns its socket: `OK: daemon PID 48103 does not own its socket`",
    );
    said(
        "PID  AUTHORITY\n48103  yes\nOK: PID 48103\n",
        "it is not said that daemon PID 48103 owns its socket",
    );
}

#[test]
fn what_is_no_listing_is_an_error() {
    let old = "Look into the daemon\n\nUsage:\n  plumb debug [command]\n\nCommands:\n  heap   Write a heap profile\n";
    let no_table = "`plumb debug daemons` printed no table with PID and AUTHORITY: a plumb that is too old prints its help";
    said(old, no_table);
    said("", no_table);
    check(
        ROW,
        "",
        "`plumb debug daemons` gave 0 verdict lines, not one",
    );
    check(
        ROW,
        &format!("{OK}\n{OK}"),
        "`plumb debug daemons` gave 2 verdict lines, not one",
    );
    check(
        "48103  yes",
        OK,
        "`plumb debug daemons`: the row `48103  yes` does not fit its columns",
    );
    check(
        &ROW.replace("48103", "many"),
        OK,
        "`plumb debug daemons`: the row `many    yes        yes          /run/plumb.sock` does not fit its columns",
    );
}
