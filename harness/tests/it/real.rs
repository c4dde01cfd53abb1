//! A plumb that is there, played by a shell script whose answers lie in files: the second look before every namespace,
//! and what the run left at the end. Nothing here starts a daemon.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use harness::drive::PlumbHost as _;
use harness::guard::{Admitted, Evidence, Request, admit};
use harness::host::HostFacts;
use harness::plumb::dialect::Dialect;
use harness::plumb::real::{RealPlumb, take};
use harness::scenario::Peer;

/// A folder with a stand-in for plumb, `tests/stand-ins/plumb`: its answer to `a b c` is the file `a.b.c`.
struct Place {
    folder: tempfile::TempDir,
    /// The daemon's socket.
    _socket: UnixListener,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let stand_in = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stand-ins/plumb");
        symlink(stand_in, at.join("plumb")).unwrap();
        fs::create_dir(at.join("sessions")).unwrap();
        let socket = UnixListener::bind(at.join("plumb.sock")).unwrap();
        let place = Self {
            folder,
            _socket: socket,
        };
        place.answer("version", "logo\nplumb v0.26.0 (test)\n");
        place.answer("namespace --help", "namespace create | release\n");
        place.answer("namespace list --json", "[]");
        let path = |name: &str| place.path(name).display().to_string();
        let service = serde_json::json!({
            "session_dir": path("sessions"), "state_dir": path("state"), "log": path("log"),
            "socket": path("plumb.sock"),
        });
        place.answer("service show --json", &service.to_string());
        place.daemon(std::process::id());
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn answer(&self, words: &str, text: &str) {
        fs::write(self.path(&words.replace(' ', ".")), text).unwrap();
    }

    /// Lists one daemon. It has to be a process that lives: this one.
    fn daemon(&self, pid: u32) {
        let text = format!("PID  AUTHORITY\n{pid}  yes\n\nOK: daemon PID {pid} owns its socket\n");
        self.answer("debug daemons", &text);
    }

    fn record(&self, name: &str, namespace: &str, folder: &str) {
        let record = serde_json::json!({
            "id": name, "namespace": namespace, "folder": folder, "ended_at": "2026-11-30T18:26:15Z",
        });
        fs::write(
            self.path("sessions").join(format!("{name}.json")),
            record.to_string(),
        )
        .unwrap();
    }

    fn take(&self) -> Result<RealPlumb, String> {
        take(
            &self.path("plumb"),
            [].into(),
            &Dialect::default(),
            &owner(),
        )
        .map_err(|error| error.to_string())
    }
}

/// The evidence of an owner who names this very process.
fn owner() -> Evidence {
    let pid = std::process::id().to_string();
    let env = [
        ("DSH_E2E_HOST_DAEMON", pid.as_str()),
        ("PLUMB_BIN", "/p"),
        ("HOME", "/h"),
    ];
    let env = env.map(|(key, value)| (key.into(), value.into())).into();
    let facts = HostFacts::gather(&env, "linux", "/w".into(), &|_| false);
    match admit(
        &facts,
        &Request {
            plumb: None,
            jobs: None,
            repeat: 1,
        },
        &|_| true,
    ) {
        Ok(Admitted::Real(real)) => real.evidence,
        other => panic!("{other:?}"),
    }
}

#[test]
fn once_the_daemon_is_not_the_named_one_no_namespace_is_made_any_more() {
    let place = Place::new();
    let real = place.take().unwrap();
    assert_eq!(real.version(), "plumb v0.26.0 (test)");
    let given = real.plumb(&Peer::default(), Path::new("/r")).unwrap();
    assert_eq!(given.sessions, place.path("sessions"));
    assert_eq!(real.stopped(), None);

    place.daemon(1);
    let error = real
        .plumb(&Peer::default(), Path::new("/r"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("the daemon is PID 1, not PID"), "{error}");
    assert_eq!(real.stopped(), Some(error.clone()));

    // A daemon that came back is not looked at: the run is over.
    place.daemon(std::process::id());
    assert_eq!(
        real.plumb(&Peer::default(), Path::new("/r"))
            .unwrap_err()
            .to_string(),
        error
    );
}

#[test]
fn a_listing_that_fails_later_stops_the_run_too() {
    let place = Place::new();
    let real = place.take().unwrap();
    fs::remove_file(place.path("debug.daemons")).unwrap();
    assert!(real.plumb(&Peer::default(), Path::new("/r")).is_err());
    assert!(
        real.stopped()
            .is_some_and(|why| why.contains("`plumb debug daemons` ended with Code(1)"))
    );
}

#[test]
fn a_plumb_that_is_there_cannot_be_made_to_misbehave_and_that_does_not_stop_the_run() {
    let place = Place::new();
    let real = place.take().unwrap();
    let peer = Peer {
        generation: None,
        faults: vec!["mail-twice".into()],
    };
    assert!(real.plumb(&peer, Path::new("/r")).is_err());
    assert_eq!(real.stopped(), None);
}

#[test]
fn the_questions_before_the_run_come_in_order_and_change_nothing() {
    let place = Place::new();
    place.take().unwrap();
    let calls = fs::read_to_string(place.path("calls")).unwrap();
    insta::assert_snapshot!(calls, @"
    version
    namespace --help
    namespace list --json
    debug daemons
    service show --json
    namespace list --json
    ");
}

#[test]
fn the_certificate_tells_the_runs_leavings_from_the_owners() {
    let place = Place::new();
    let real = place.take().unwrap();
    real.plumb(&Peer::default(), Path::new("/r")).unwrap();
    real.made("ns-1", &place.path("s0"));
    place.answer(
        "namespace list --json",
        r#"[{"id":"ns-1","state":"revoked"}]"#,
    );
    place.record("a-1", "ns-1", &place.path("s0/ws").display().to_string());
    place.record("b-2", "", "/home/owner/work");
    let certificate = real.certificate().unwrap().unwrap();
    assert!(certificate.is_clean(), "{certificate:?}");
    assert_eq!((certificate.namespaces, certificate.records), (1, 1));
    assert_eq!(certificate.owners, ["record b-2.json is new"]);

    place.record("c-3", "", &place.path("s0/ws").display().to_string());
    let certificate = real.certificate().unwrap().unwrap();
    assert!(
        certificate.faults[0].starts_with("record c-3.json is new, of the run's folder"),
        "{certificate:?}"
    );
}
