//! The named faults: each breaks exactly one promise, on request, and nothing else.
//!
//! `--fault NAME` switches one on; `reference faults` lists them. The honest program asks the modules below at the few
//! places where a promise is kept; with no fault switched on every one of them must change nothing.

pub mod environment;
pub mod home;
pub mod log;
pub mod registry;
pub mod wire;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// One row for each fault: what it does, its variant, its name, the clauses that it breaks.
macro_rules! faults {
    ($($(#[doc = $doc:literal])+ $variant:ident $name:literal $clauses:literal)*) => {
        /// A fault.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Fault { $($(#[doc = $doc])+ $variant,)* }

        impl Fault {
            /// Every fault.
            pub const ALL: &'static [Fault] = &[$(Fault::$variant,)*];

            /// Its name on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Fault::$variant => $name,)* }
            }

            /// What it does, in one sentence.
            pub fn doc(self) -> String {
                match self { $(Fault::$variant => concat!($($doc),+).trim().to_owned(),)* }
            }

            /// The clauses that it breaks.
            pub fn clauses(self) -> Vec<&'static str> {
                match self { $(Fault::$variant => $clauses.split(' ').collect(),)* }
            }
        }
    };
}

faults! {
    /// An inherited key that nothing manages reaches commands.
    LeakStale "leak-stale" "ENV-8"
    /// An inherited key with an empty value reaches commands.
    LeakEmpty "leak-empty" "ENV-8"
    /// An inherited key that is not all upper case reaches commands.
    LeakMixedCase "leak-mixed-case" "ENV-8"
    /// An inherited key with several lines reaches commands.
    LeakLines "leak-lines" "ENV-8"
    /// An inherited id or location reaches the call that has none of its own.
    LeakKnown "leak-known" "ENV-4 ENV-8 ENV-18 ENV-20"
    /// An inherited credential reaches commands.
    LeakCredential "leak-credential" "ENV-27"
    /// The model's `env` argument is honoured.
    ModelEnv "model-env" "ENV-10"
    /// The model's `stdin` argument is honoured.
    ModelStdin "model-stdin" "ENV-10"
    /// An explicit entry displaces a managed value.
    EnvBeatsManaged "env-beats-managed" "ENV-9 ENV-27"
    /// The terminal settings are left out.
    TerminalMissing "terminal-missing" "ENV-27"
    /// A managed key that looks like a credential is scrubbed.
    ManagedScrubbed "managed-scrubbed" "ENV-27"
    /// The first call of a fresh session has no id yet.
    IdLate "id-late" "ENV-1"
    /// A foreground call has no managed values.
    ForegroundBare "foreground-bare" "ENV-2"
    /// A background call has no managed values.
    BackgroundBare "background-bare" "ENV-3"
    /// A call without an agent carries the id of the last one that had one.
    AgentlessLastId "agentless-last-id" "ENV-4"
    /// The shell mark is missing.
    ShellMissing "shell-missing" "ENV-5"
    /// The shell mark is `0`.
    ShellZero "shell-zero" "ENV-5"
    /// A relative spelling of the home stays relative.
    HomeRelative "home-relative" "ENV-6"
    /// A home with detours in it is not normalised.
    HomeUnnormalised "home-unnormalised" "ENV-6"
    /// A `~` in the home is kept.
    HomeTilde "home-tilde" "ENV-6"
    /// A blank home is taken for a directory.
    HomeBlank "home-blank" "ENV-6"
    /// The explicit home is ignored.
    HomeExplicitIgnored "home-explicit-ignored" "ENV-6"
    /// The ambient home is ignored.
    HomeAmbientIgnored "home-ambient-ignored" "ENV-6"
    /// Two different homes are composed all the same.
    HomeConflictIgnored "home-conflict-ignored" "ENV-7"
    /// A child session is told a home of its own.
    HomePerSession "home-per-session" "ENV-28"
    /// Skills are discovered in another home than commands are told.
    SkillsElsewhere "skills-elsewhere" "ENV-28"
    /// Two spellings of one home are taken for a conflict.
    HomeSpellingConflict "home-spelling-conflict" "ENV-28"
    /// A child or a fork reads its parent's id.
    ChildParentId "child-parent-id" "ENV-11 ENV-14"
    /// Every session reads the id of the one whose turn began last.
    GlobalId "global-id" "ENV-11 ENV-29"
    /// The managed values of a running command follow those of later calls.
    OverlayNotFrozen "overlay-not-frozen" "ENV-12"
    /// A session resumed in the process that made it reads another id.
    ResumeNewIdHere "resume-new-id-here" "ENV-13"
    /// A session resumed in another process reads another id.
    ResumeNewIdElsewhere "resume-new-id-elsewhere" "ENV-13"
    /// A resumed session takes the ambient id.
    ResumeAmbientId "resume-ambient-id" "ENV-13"
    /// A fork reads its source's id.
    ForkKeepsId "fork-keeps-id" "ENV-14"
    /// A child is told its parent's location.
    SpawnKeepsLocation "spawn-keeps-location" "ENV-14 ENV-19"
    /// A child does not work where its parent does.
    ChildLosesCwd "child-loses-cwd" "ENV-14"
    /// The header that is written carries another id.
    HeaderOtherId "header-other-id" "ENV-1"
    /// The header that is written names no parent.
    HeaderNoParent "header-no-parent" "ENV-14"
    /// The managed values of the last call are put into the environment of the process itself.
    ProcessChanged "process-changed" "ENV-15"
    /// A harness inside a command of another takes over the outer id.
    NestedInherits "nested-inherits" "ENV-16"
    /// What a command sets for itself is there in the next one.
    OverrideStays "override-stays" "ENV-17"
    /// The location is there under every revision and for every backend.
    LocationAlways "location-always" "ENV-18 ENV-20"
    /// The location is relative to the working directory of the process.
    LocationRelative "location-relative" "ENV-19"
    /// The location is that of the session created last.
    LocationOfAnother "location-of-another" "ENV-19"
    /// Asking for the location creates the file.
    LocateCreates "locate-creates" "ENV-21"
    /// The location writes the id as it is, without escaping it.
    LocationUnescaped "location-unescaped" "ENV-22"
    /// The location of a session is asked once and kept.
    LocationCached "location-cached" "ENV-23"
    /// Without a backend the id is gone, too.
    UnloadDropsId "unload-drops-id" "ENV-20 ENV-23"
    /// A location of any kind is given to commands.
    LocationAnyKind "location-any-kind" "ENV-24"
    /// The persistence service offers the location query under the note.
    LocateOffered "locate-offered" "ENV-25"
    /// Events are made durable before their turn is over.
    FlushEarly "flush-early" "ENV-26"
    /// A contributor's value never arrives.
    ContributorDropped "contributor-dropped" "REG-1"
    /// A second contributor of one name is accepted.
    DuplicateName "duplicate-name" "REG-2"
    /// A key that another contributor owns is accepted.
    DuplicateKey "duplicate-key" "REG-3"
    /// A reserved key is accepted.
    ReservedKey "reserved-key" "REG-4"
    /// A declaration without a name is accepted.
    EmptyName "empty-name" "REG-5"
    /// A badly spelt key is accepted.
    BadKey "bad-key" "REG-5"
    /// A key without a description is accepted.
    NoDescription "no-description" "REG-5"
    /// A declaration without keys is accepted.
    NoKeys "no-keys" "REG-5"
    /// A declaration without a resolver is accepted.
    NoResolver "no-resolver" "REG-5"
    /// A value for an undeclared key passes.
    UndeclaredPasses "undeclared-passes" "REG-6"
    /// A value that is not a string passes, as text.
    NonStringPasses "non-string-passes" "REG-7"
    /// Disposal leaves the contributor's keys and values.
    DisposalKeepsKey "disposal-keeps-key" "REG-8"
    /// Disposal does not free the contributor's name.
    DisposalKeepsName "disposal-keeps-name" "REG-8 REG-11"
    /// The list runs the resolvers.
    ListResolves "list-resolves" "REG-9"
    /// Resolvers run once for the process.
    ResolveOnce "resolve-once" "REG-10"
    /// A contributor that is mounted again keeps its first values.
    ReloadKeepsValue "reload-keeps-value" "REG-11"
    /// A refused registration leaves its declaration in the list.
    RefusalLeaves "refusal-leaves" "REG-12"
    /// The description of the bash tool is off by a word.
    DescriptionDrifts "description-drifts" "DESC-1"
    /// The system prompt has a permanent section about the variables.
    ExtraSection "extra-section" "DESC-2"
    /// A child is given another description of the bash tool.
    DescriptionChild "description-child" "DESC-1 DESC-3"
    /// The description of the bash tool names the location, and under the RFC it does not.
    DescriptionKey "description-key" "DESC-1 DESC-4"
    /// The logged tools are not those that were sent.
    LogSchemaDiffers "log-schema-differs" "LOG-1"
    /// The output of a tool is not logged.
    ResultNotLogged "result-not-logged" "LOG-2"
    /// A bash turn leaves an event of a type of its own.
    ExtraEvent "extra-event" "LOG-2"
    /// A hook is told a path that this revision does not promise, or none where it does.
    HookOtherPath "hook-other-path" "HOOK-1 HOOK-2"
    /// A hook without a location is told so in the other dialect.
    HookOtherDialect "hook-other-dialect" "HOOK-1 HOOK-2"
    /// The hooks of a child carry its parent's id.
    HookParentId "hook-parent-id" "HOOK-1 HOOK-2"
    /// A hook creates the session's artifact.
    HookCreates "hook-creates" "HOOK-3"
    /// The result of a tool of a server is made up: the server is never called.
    ResultInvented "result-invented" "PLUG-14"
    /// A tool of a server is called that the model never asked for.
    CallInvented "call-invented" "PLUG-3"
    /// A call is dispatched twice.
    CallTwice "call-twice" "PLUG-14"
    /// A run that failed ends with exit code 0.
    ExitZero "exit-zero" "RUN-8"
    /// Nothing is done: no request, no answer, exit code 0.
    DoNothing "do-nothing" "ENV-1 RUN-8"
}

/// A name that is no fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no fault is named `{name}`; `reference faults` lists them")]
pub struct UnknownFault {
    /// The name.
    pub name: String,
}

impl FromStr for Fault {
    type Err = UnknownFault;

    fn from_str(name: &str) -> Result<Self, UnknownFault> {
        let found = Self::ALL.iter().find(|fault| fault.name() == name);
        found.copied().ok_or_else(|| UnknownFault {
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The faults that are switched on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults(BTreeSet<Fault>);

impl Faults {
    /// Whether a fault is switched on.
    pub fn has(&self, fault: Fault) -> bool {
        self.0.contains(&fault)
    }
}

impl FromIterator<Fault> for Faults {
    fn from_iter<T: IntoIterator<Item = Fault>>(faults: T) -> Self {
        Self(faults.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_back_to_its_fault() {
        for fault in Fault::ALL {
            assert_eq!(fault.name().parse(), Ok(*fault));
        }
        assert!("no-such-fault".parse::<Fault>().is_err());
    }

    #[test]
    fn every_fault_says_what_it_does_and_which_clauses_it_breaks() {
        for fault in Fault::ALL {
            assert!(fault.doc().ends_with('.'), "{fault}: {}", fault.doc());
            assert!(
                fault.clauses().iter().all(|clause| clause.contains('-')),
                "{fault}"
            );
        }
    }
}
