//! Each fault against the honest agent: it changes what it says, and nothing else that can be seen.

use reference::fault::Fault;
use reference::revision::Revision::{self, Located, Note, Rfc};

use super::observe::{Subject, differences, observe};

/// A fault, the revision that it is tried under, and what changes: patterns, where `*` stands for anything.
type Row = (Fault, Revision, &'static [&'static str]);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    (Fault::LeakStale, Note, &["*/DSH_STALE"]),
    (Fault::LeakEmpty, Note, &["*/DSH_EMPTY"]),
    (Fault::LeakMixedCase, Note, &["*/dsh_lower"]),
    (Fault::LeakLines, Note, &["*/DSH_LINES"]),
    (Fault::LeakKnown, Note, &["agentless/DSH_SESSION_ID", "explicit/DSH_SESSION_ID", "*/DSH_SESSION_JSONL"]),
    (Fault::LeakCredential, Note, &["*/MY_TOKEN"]),
    (Fault::ModelEnv, Note, &["typed/TYPED", "typed/DSH_SESSION_ID"]),
    (Fault::ModelStdin, Note, &["typed/stdin"]),
    (Fault::EnvBeatsManaged, Note, &["explicit/DSH_SHELL"]),
    (Fault::TerminalMissing, Note, &["*/PAGER"]),
    (Fault::ManagedScrubbed, Note, &["explicit/DSH_MY_TOKEN"]),
    (Fault::IdLate, Note, &["first/DSH_SESSION_ID", "*elsewhere/DSH_SESSION_ID", "nested/DSH_SESSION_ID", "shared/DSH_SESSION_ID", "unkept/DSH_SESSION_ID", "odd/DSH_SESSION_ID", "no-cwd/DSH_SESSION_ID"]),
    (Fault::ForegroundBare, Note, &["*/DSH_SESSION_ID", "*/DSH_SHELL", "*/DSH_HOME", "home/*", "count/later", "registry/good/*"]),
    (Fault::BackgroundBare, Note, &["background/DSH_SESSION_ID", "background/DSH_SHELL", "background/DSH_HOME", "count/held"]),
    (Fault::AgentlessLastId, Note, &["agentless/DSH_SESSION_ID"]),
    (Fault::ShellMissing, Note, &["*/DSH_SHELL"]),
    (Fault::ShellZero, Note, &["*/DSH_SHELL"]),
    (Fault::HomeRelative, Note, &["home/relative"]),
    (Fault::HomeUnnormalised, Note, &["home/unnormalised", "home/relative"]),
    (Fault::HomeTilde, Note, &["home/tilde"]),
    (Fault::HomeBlank, Note, &["home/blank"]),
    (Fault::HomeExplicitIgnored, Note, &["home/explicit", "home/relative", "home/unnormalised", "home/two-spellings", "*/DSH_HOME"]),
    (Fault::HomeAmbientIgnored, Note, &["home/ambient", "home/blank"]),
    (Fault::HomeConflictIgnored, Note, &["home/conflict"]),
    (Fault::HomePerSession, Note, &["child/DSH_HOME", "fork/DSH_HOME"]),
    (Fault::SkillsElsewhere, Note, &["skill"]),
    (Fault::HomeSpellingConflict, Note, &["home/two-spellings"]),
    (Fault::ChildParentId, Note, &["child/DSH_SESSION_ID", "fork/DSH_SESSION_ID"]),
    (Fault::GlobalId, Note, &["*/DSH_SESSION_ID", "count/held"]),
    (Fault::OverlayNotFrozen, Note, &["count/held"]),
    (Fault::ResumeNewIdHere, Note, &["resumed/DSH_SESSION_ID", "unloaded/DSH_SESSION_ID", "stub/DSH_SESSION_ID", "swapped/DSH_SESSION_ID"]),
    (Fault::ResumeNewIdElsewhere, Note, &["elsewhere/DSH_SESSION_ID"]),
    (Fault::ResumeAmbientId, Note, &["elsewhere/DSH_SESSION_ID", "resumed/DSH_SESSION_ID", "unloaded/DSH_SESSION_ID", "stub/DSH_SESSION_ID", "swapped/DSH_SESSION_ID"]),
    (Fault::ForkKeepsId, Note, &["fork/DSH_SESSION_ID"]),
    (Fault::SpawnKeepsLocation, Located, &["child/DSH_SESSION_JSONL", "fork/DSH_SESSION_JSONL"]),
    (Fault::ChildLosesCwd, Note, &["spawned/header", "forked/header"]),
    (Fault::HeaderOtherId, Note, &["log/id", "resumed/*", "unloaded/*", "stub/*", "swapped/*"]),
    (Fault::HeaderNoParent, Note, &["log/child-names-parent"]),
    (Fault::ProcessChanged, Note, &["process/changed"]),
    (Fault::NestedInherits, Note, &["nested/DSH_SESSION_ID"]),
    (Fault::OverrideStays, Note, &["after-override/DSH_SESSION_ID"]),
    (Fault::LocationAlways, Note, &["*/DSH_SESSION_JSONL"]),
    (Fault::LocationRelative, Located, &["*/DSH_SESSION_JSONL"]),
    (Fault::LocationOfAnother, Located, &["interleaved/DSH_SESSION_JSONL"]),
    (Fault::LocateCreates, Located, &["located-late/answer", "hook/*/files-before-a-turn-ended"]),
    (Fault::LocationUnescaped, Located, &["odd/DSH_SESSION_JSONL"]),
    (Fault::LocationCached, Located, &["unloaded/DSH_SESSION_JSONL", "stub/DSH_SESSION_JSONL", "swapped/DSH_SESSION_JSONL"]),
    (Fault::UnloadDropsId, Note, &["unloaded/DSH_SESSION_ID", "unkept/DSH_SESSION_ID"]),
    (Fault::LocationAnyKind, Located, &["stub/DSH_SESSION_JSONL"]),
    (Fault::LocateOffered, Note, &["located/answer", "located-late/answer"]),
    (Fault::FlushEarly, Note, &["open-turn/last-durable"]),
    (Fault::ContributorDropped, Note, &["count/*", "registry/good/first", "registry/good/second", "registry/good/reloaded"]),
    (Fault::DuplicateName, Note, &["registry/duplicate-name/*"]),
    (Fault::DuplicateKey, Note, &["registry/duplicate-key/*"]),
    (Fault::ReservedKey, Note, &["registry/reserved-key/*"]),
    (Fault::EmptyName, Note, &["registry/blank-name/*", "registry/no-name/*"]),
    (Fault::BadKey, Note, &["registry/bad-key/*"]),
    (Fault::NoDescription, Note, &["registry/no-description/*"]),
    (Fault::NoKeys, Note, &["registry/no-keys/*", "registry/missing-keys/*"]),
    (Fault::NoResolver, Note, &["registry/no-resolver/*"]),
    (Fault::UndeclaredPasses, Note, &["registry/undeclared/call", "registry/reserved-value/call"]),
    (Fault::NonStringPasses, Note, &["registry/non-string/call"]),
    (Fault::DisposalKeepsKey, Note, &["registry/good/disposed", "*/DSH_COUNT"]),
    (Fault::DisposalKeepsName, Note, &["registry/good/reload", "registry/good/reloaded", "registry/good/again"]),
    (Fault::ListResolves, Note, &["registry/good/list-runs-nothing", "registry/good/first", "registry/good/second", "count/*"]),
    (Fault::ResolveOnce, Note, &["count/later", "*/DSH_COUNT", "registry/good/*"]),
    (Fault::ReloadKeepsValue, Note, &["registry/good/reloaded"]),
    (Fault::RefusalLeaves, Note, &["registry/*"]),
    (Fault::DescriptionDrifts, Note, &["wire/bash", "wire/bash-child"]),
    (Fault::ExtraSection, Note, &["wire/system"]),
    (Fault::DescriptionChild, Note, &["wire/bash-child"]),
    (Fault::DescriptionKey, Note, &["wire/bash", "wire/bash-child"]),
    (Fault::DescriptionKey, Rfc, &["wire/bash", "wire/bash-child"]),
    (Fault::LogSchemaDiffers, Note, &["log/tools-as-sent"]),
    (Fault::ResultNotLogged, Note, &["log/result"]),
    (Fault::ExtraEvent, Note, &["log/types"]),
    (Fault::HookOtherPath, Note, &["hook/*/path"]),
    (Fault::HookOtherPath, Located, &["hook/*/path"]),
    (Fault::HookOtherDialect, Note, &["hook/*/path"]),
    (Fault::HookParentId, Note, &["hook/*/child-start/session"]),
    (Fault::HookCreates, Note, &["hook/*/files-before-a-turn-ended"]),
    (Fault::ResultInvented, Note, &["call/remote", "call/remote-effects"]),
    (Fault::CallInvented, Note, &["call/remote-effects"]),
    (Fault::CallTwice, Note, &["call/bash-effects", "call/remote-effects", "background/*", "count/*", "registry/good/first", "registry/good/second"]),
];

/// Whether a name fits a pattern with at most one `*`.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => {
            name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
        }
    }
}

#[test]
fn two_looks_at_an_honest_agent_are_equal() {
    for revision in [Rfc, Located, Note] {
        let look = || {
            observe(Subject {
                revision,
                faults: &[],
            })
        };
        assert_eq!(differences(&look(), &look()), [""; 0]);
    }
}

#[test]
fn each_fault_changes_what_it_says_and_nothing_else() {
    let honest = [Rfc, Located, Note].map(|revision| {
        (
            revision,
            observe(Subject {
                revision,
                faults: &[],
            }),
        )
    });
    let try_one = |(fault, revision, expected): &Row| {
        let (_, clean) = honest.iter().find(|(known, _)| known == revision)?;
        let changed = differences(
            clean,
            &observe(Subject {
                revision: *revision,
                faults: &[*fault],
            }),
        );
        let surplus: Vec<&String> = changed
            .iter()
            .filter(|name| !expected.iter().any(|pattern| fits(pattern, name)))
            .collect();
        let lacking: Vec<&&str> = expected
            .iter()
            .filter(|pattern| !changed.iter().any(|name| fits(pattern, name)))
            .collect();
        let is_right = surplus.is_empty() && lacking.is_empty();
        (!is_right)
            .then(|| format!("{fault}: also changes {surplus:?}, does not change {lacking:?}"))
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let part = |rows: &'static [Row]| {
            scope.spawn(|| rows.iter().filter_map(try_one).collect::<Vec<String>>())
        };
        let parts: Vec<_> = ROWS.chunks(ROWS.len().div_ceil(4)).map(part).collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap())
            .collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_fault_is_tried() {
    // These two are seen by the exit code alone: `command_line`.
    let by_exit = [Fault::ExitZero, Fault::DoNothing];
    for fault in Fault::ALL {
        assert!(
            by_exit.contains(fault) || ROWS.iter().any(|(tried, ..)| tried == fault),
            "{fault} is tried nowhere"
        );
    }
}
