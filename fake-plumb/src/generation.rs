//! Which plumb is imitated: the abilities of each generation, as questions.
//!
//! Every module that differs between generations asks here; no other module compares versions.

/// A generation of plumb, oldest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Generation {
    /// The measured build, 19 commits after v0.17.2.
    V0_17,
    /// Argument stamps, proofs, `mail` on `session_start`; no namespaces.
    V0_24,
    /// Namespaces, account authority and the service profile.
    #[default]
    V0_25,
}

impl Generation {
    /// Reads the value of `--as`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "0.17" => Some(Self::V0_17),
            "0.24" => Some(Self::V0_24),
            "0.25" => Some(Self::V0_25),
            _ => None,
        }
    }

    /// The spelling that [`Generation::parse`] reads.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::V0_17 => "0.17",
            Self::V0_24 => "0.24",
            Self::V0_25 => "0.25",
        }
    }

    /// The version this generation reports in every place.
    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::V0_17 => "0.17.2",
            Self::V0_24 => "0.24.0",
            Self::V0_25 => "0.25.2",
        }
    }

    pub(crate) fn has_namespaces(self) -> bool {
        self >= Self::V0_25
    }

    pub(crate) fn has_debug_daemons(self) -> bool {
        self >= Self::V0_25
    }

    pub(crate) fn has_service(self) -> bool {
        self >= Self::V0_25
    }

    /// Directories come from the OS account, and a daemon needs a service profile.
    pub(crate) fn has_account_authority(self) -> bool {
        self >= Self::V0_25
    }

    /// `session_start` takes `mail: "claim" | "preview"`.
    pub(crate) fn has_mail_argument(self) -> bool {
        self >= Self::V0_24
    }

    /// A stamp may travel inside `arguments` (since 0.19.1).
    pub(crate) fn has_argument_stamp(self) -> bool {
        self >= Self::V0_24
    }

    /// The hook gives a proof and serve resumes by credential.
    pub(crate) fn has_resume(self) -> bool {
        self >= Self::V0_24
    }

    /// The working directory of serve is a workspace hint.
    pub(crate) fn hints_working_directory(self) -> bool {
        self < Self::V0_24
    }

    /// A stamped `session_start` that names another id makes the connection shared.
    pub(crate) fn stamped_declaration_is_second_identity(self) -> bool {
        self < Self::V0_25
    }

    /// The WARN of a shared connection is repeated for every later identity.
    pub(crate) fn repeats_shared_warning(self) -> bool {
        self < Self::V0_24
    }

    /// Refused re-pins carry `details.scope`, refused agents are gated, moved agents have rows of their own.
    pub(crate) fn scopes_pins(self) -> bool {
        self >= Self::V0_24
    }
}
