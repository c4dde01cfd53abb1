//! Named faults: one broken promise each, chosen by `FAKE_PLUMB_FAULTS`, so that a suite can show it would notice.
//!
//! Read once by [`crate::setting`]; the module whose promise is broken asks [`Faults::has`].

use std::collections::BTreeSet;

/// One promise that the fake breaks on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// `namespace release` says revoked, the namespace stays active.
    NamespaceNotRevoked,
    /// Records of a namespaced connection do not name their namespace.
    RecordOutsideNamespace,
    /// A record is written in place, in two halves.
    TornRecord,
    /// The daemon starts a second one beside itself.
    TwoDaemons,
    /// The daemon ignores SIGTERM.
    TermIgnored,
    /// `mail: "preview"` claims.
    MailClaimedByPreview,
    /// Every note is delivered twice.
    MailTwice,
    /// A resume is accepted, but the session has a new id.
    IdChangedOnResume,
    /// serve prints a line that is not JSON before anything else.
    BannerOnStdout,
    /// serve holds the answer to initialize back.
    SlowInitialize,
    /// serve dies after a call took effect and before its answer.
    DeathMidCall,
    /// `tools/list_changed` follows `initialized` at once.
    ListChangedAtOnce,
    /// Connection lines of the log carry no `session_id`.
    LogUntagged,
    /// `session_start` refuses `mail`, as before 0.24.
    MailUnknown,
    /// The daemon takes no proof, so the hook gives none.
    NoProof,
    /// The hook answers long after anybody waits.
    SlowProof,
    /// The hook answers with something that is not JSON.
    OddProof,
    /// The hook changes arguments that are none of its business.
    MeddlingProof,
    /// A resume takes over a session that still has a connection.
    LivingTakenOver,
}

/// Every fault with its name.
const NAMES: [(&str, Fault); 19] = [
    ("namespace-not-revoked", Fault::NamespaceNotRevoked),
    ("record-outside-namespace", Fault::RecordOutsideNamespace),
    ("torn-record", Fault::TornRecord),
    ("two-daemons", Fault::TwoDaemons),
    ("term-ignored", Fault::TermIgnored),
    ("mail-claimed-by-preview", Fault::MailClaimedByPreview),
    ("mail-twice", Fault::MailTwice),
    ("id-changed-on-resume", Fault::IdChangedOnResume),
    ("banner-on-stdout", Fault::BannerOnStdout),
    ("slow-initialize", Fault::SlowInitialize),
    ("death-mid-call", Fault::DeathMidCall),
    ("list-changed-at-once", Fault::ListChangedAtOnce),
    ("log-untagged", Fault::LogUntagged),
    ("mail-unknown", Fault::MailUnknown),
    ("no-proof", Fault::NoProof),
    ("slow-proof", Fault::SlowProof),
    ("odd-proof", Fault::OddProof),
    ("meddling-proof", Fault::MeddlingProof),
    ("living-taken-over", Fault::LivingTakenOver),
];

/// The faults in force.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults(BTreeSet<Fault>);

impl Faults {
    /// Reads a comma-separated list; the error is the first name that is not a fault.
    pub(crate) fn parse(list: &str) -> Result<Self, String> {
        list.split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(|name| {
                let known = NAMES.iter().find(|(known, _)| *known == name);
                known
                    .map(|(_, fault)| *fault)
                    .ok_or_else(|| name.to_owned())
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.0.contains(&fault)
    }

    /// The names of all faults, for a message.
    pub(crate) fn all_names() -> String {
        NAMES.map(|(name, _)| name).join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, Faults};

    #[test]
    fn a_list_of_names_is_read_and_a_stranger_is_named() {
        let faults = Faults::parse("mail-twice, torn-record").unwrap();
        assert!(faults.has(Fault::MailTwice) && faults.has(Fault::TornRecord));
        assert!(!faults.has(Fault::TwoDaemons));
        assert_eq!(Faults::parse("mail-thrice").unwrap_err(), "mail-thrice");
    }
}
