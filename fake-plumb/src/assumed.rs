//! What is merely assumed of plumb: numbered, in one place, with its constants.
//!
//! `fake-plumb assumptions --json` lists them. A fact that somebody measures moves out of here.

use std::time::Duration;

use serde::Serialize;

/// One assumption: what the fake does where the facts are silent.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Assumption {
    pub(crate) id: &'static str,
    pub(crate) topic: &'static str,
    pub(crate) what: &'static str,
    /// `seed`: the seed text says it, nobody saw it; `open`: nobody says it.
    pub(crate) basis: &'static str,
}

/// A1: how a namespace id begins.
pub(crate) const ID_PREFIX: &str = "ns-";
/// A1: how a token begins.
pub(crate) const TOKEN_PREFIX: &str = "nst-";
/// A4: the owner's death expires a namespace after five minutes (seed, "Isolation").
pub(crate) const ORPHAN_GRACE: Duration = Duration::from_mins(5);
/// A5: how long an ended namespace is still listed.
pub(crate) const ENDED_NAMESPACE_STAYS: Duration = Duration::from_hours(24);
/// A6: the key in the initialize `_meta` with which serve hands its token to the daemon.
pub(crate) const NAMESPACE_META: &str = "dev.plumbkit/namespace";
/// A9: the key with which the daemon tells serve what came of a presented credential; serve takes it out.
pub(crate) const RESUME_META: &str = "dev.plumbkit/resume-outcome";
/// A13: what a preview's line begins with.
pub(crate) const PREVIEW_HEADING: &str = "Messages waiting";

/// Every assumption, in order.
pub(crate) const ALL: &[Assumption] = &[
    Assumption {
        id: "A1",
        topic: "namespace",
        basis: "open",
        what: "`create --ttl D --owner-pid N --json` answers {id, token, expires_at}; `list --json` rows are {id, state, owner_pid, created_at, expires_at}; ids are ns-<8 hex>, tokens nst-<22 base64url>",
    },
    Assumption {
        id: "A2",
        topic: "namespace",
        basis: "open",
        what: "a record names its namespace in the field `namespace`, in the same write that brings `client_name`",
    },
    Assumption {
        id: "A3",
        topic: "namespace",
        basis: "open",
        what: "`release` takes the token from PLUMB_NAMESPACE or, with --token-stdin, from stdin; answers {id, state}; releasing twice is no error",
    },
    Assumption {
        id: "A4",
        topic: "namespace",
        basis: "seed",
        what: "an owner's death expires a namespace five minutes later; the ttl expires it in any case",
    },
    Assumption {
        id: "A5",
        topic: "namespace",
        basis: "open",
        what: "a namespace that ended closes its connections at once and is listed for a day; serve with an unknown or ended token exits 1 with an error that names no token",
    },
    Assumption {
        id: "A6",
        topic: "namespace",
        basis: "open",
        what: "serve hands the token over in the initialize _meta; namespaces survive a restart of the daemon",
    },
    Assumption {
        id: "A7",
        topic: "namespace",
        basis: "open",
        what: "sessions, names to write to, mail and inherited names of one namespace are invisible in another and outside; `sessions` lists those outside any, `sessions --namespace ID` those of one",
    },
    Assumption {
        id: "A8",
        topic: "resume",
        basis: "seed",
        what: "an accepted credential makes the connection take over the old record id and name before the workspace is looked at; the record it was accepted under is left ended; the log goes on under that one's id",
    },
    Assumption {
        id: "A9",
        topic: "resume",
        basis: "open",
        what: "a credential that is unknown or revoked is answered by a session resumed by name only, and serve then keeps the new session's credential; while the predecessor lives the stored one stays",
    },
    Assumption {
        id: "A10",
        topic: "resume",
        basis: "seed",
        what: "a second linkage on a connection, stamped or not, revokes its credential",
    },
    Assumption {
        id: "A11",
        topic: "identity",
        basis: "open",
        what: "from 0.24 on an unstamped state-changing call on a shared connection is refused even if a session_id was declared, and so is check_messages (the seed's observation of 2026-10-11)",
    },
    Assumption {
        id: "A12",
        topic: "identity",
        basis: "open",
        what: "an agent whose declaration was refused is refused read_file, write_file, file_status, find_files and git by name until it calls session_start with force: true",
    },
    Assumption {
        id: "A13",
        topic: "mail",
        basis: "seed",
        what: "`mail: \"preview\"` shows a count and claims nothing; `claim` is the default; another value is refused as a wrong `detail` is",
    },
    Assumption {
        id: "A14",
        topic: "mail",
        basis: "open",
        what: "a call whose client has closed its connection claims no mail",
    },
    Assumption {
        id: "A15",
        topic: "identity",
        basis: "seed",
        what: "from 0.24 on each declared agent of a shared connection has a row in pinned_workspace, the first one included, and one that moved has a record with parent_id",
    },
    Assumption {
        id: "A16",
        topic: "identity",
        basis: "open",
        what: "a refused re-pin carries _meta dev.plumbkit/error with kind workspace_boundary, class pass_force and details.scope",
    },
    Assumption {
        id: "A17",
        topic: "service",
        basis: "seed",
        what: "`service install` writes a profile and starts nothing; `service show --json` answers {session_dir, state_dir, log, socket, pidfile, ...}; under account authority no daemon starts without a profile",
    },
    Assumption {
        id: "A18",
        topic: "debug daemons",
        basis: "seed",
        what: "columns PID, AUTHORITY, SOCKET, VERSION; a verdict line OK, VIOLATION or UNKNOWN that names the PID; AUTHORITY is yes under account authority only",
    },
    Assumption {
        id: "A19",
        topic: "workspace",
        basis: "open",
        what: "the root of a workspace is its nearest folder with a .plumb, .git or language marker; without one the folder itself, marked synthetic",
    },
    Assumption {
        id: "A20",
        topic: "identity",
        basis: "open",
        what: "from 0.24 on external_id and purpose come back after a daemon restart; in 0.17 they are lost (measured)",
    },
    Assumption {
        id: "A21",
        topic: "processes",
        basis: "open",
        what: "`restart` refuses without --force as `stop` does: live sessions, and stdin is not a terminal",
    },
    Assumption {
        id: "A22",
        topic: "mail",
        basis: "open",
        what: "the eleventh message of a conversation is refused as an invalid argument",
    },
];

#[cfg(test)]
mod tests {
    #[test]
    fn assumptions_are_numbered_without_a_gap() {
        let ids: Vec<_> = super::ALL
            .iter()
            .map(|assumption| assumption.id.to_owned())
            .collect();
        let wanted: Vec<_> = (1..=ids.len()).map(|number| format!("A{number}")).collect();
        assert_eq!(ids, wanted);
    }
}
