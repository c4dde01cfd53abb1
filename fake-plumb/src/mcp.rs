//! The wire: frames, tool schemas, the argument guard and how a failure looks.
//!
//! Pure; used by the daemon, and for frames by serve too.

pub(crate) mod failure;
pub(crate) mod frame;
pub(crate) mod guard;
pub(crate) mod schema;

/// The only protocol revision plumb answers with, whatever was offered.
pub(crate) const PROTOCOL: &str = "2024-11-05";

/// The longest line in either direction (facts, section 3).
pub(crate) const LONGEST_LINE: usize = 4 * 1024 * 1024;

/// Keys of `_meta` on the wire (facts, sections 3 and 6).
pub(crate) mod key {
    pub(crate) const PROXY: &str = "dev.plumbkit/proxy-session-id";
    pub(crate) const PROXY_VERSION: &str = "dev.plumbkit/proxy-version";
    pub(crate) const WORKSPACE: &str = "dev.plumbkit/workspace";
    pub(crate) const ALLOW_DIRS: &str = "dev.plumbkit/allow-dirs";
    pub(crate) const SESSION: &str = "dev.plumbkit/session-id";
    pub(crate) const PINNED: &str = "dev.plumbkit/pinned-workspace";
    pub(crate) const RESOLVED: &str = "dev.plumbkit/resolved-workspace";
    pub(crate) const PIN_SCOPE: &str = "dev.plumbkit/pin-scope";
    pub(crate) const AGENT: &str = "dev.plumbkit/logical-agent";
    pub(crate) const ERROR: &str = "dev.plumbkit/error";
    pub(crate) const IDENTITY: &str = "dev.plumbkit/session-identity";
    pub(crate) const INSTANCE: &str = "dev.plumbkit/daemon-instance";
    pub(crate) const CONSUMER: &str = "dev.plumbkit/resume-credential-consumer";
    pub(crate) const CREDENTIAL: &str = "dev.plumbkit/resume-credential";
    /// The stamp inside `arguments`, since 0.19.1.
    pub(crate) const ARGUMENT_STAMP: &str = "plumb_agent";
    /// The proof inside `arguments`; serve takes it out.
    pub(crate) const PROOF: &str = "plumb_hook_proof";
}
