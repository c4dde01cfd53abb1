//! What a person wants to know of a failure class: its cause, how to confirm it, what to do.
//!
//! Called by `explain CODE` and by the generator of `docs/failure-classes.md`. Data and its rendering; it judges
//! nothing and reads nothing.

pub mod prose;

use crate::verdict::Class;

/// A class in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Explanation {
    /// What has happened when a check fails with this class.
    pub cause: &'static str,
    /// Where the evidence shows it.
    pub confirm: &'static str,
    /// What to do next.
    pub remedy: &'static str,
}

/// The class with that code.
pub fn class(code: &str) -> Option<Class> {
    Class::ALL.into_iter().find(|class| class.code() == code)
}

/// What the class means.
pub fn explanation(class: Class) -> Explanation {
    let (cause, confirm, remedy) = words(class);
    Explanation {
        cause,
        confirm,
        remedy,
    }
}

/// The class as a section of Markdown, which is readable as it stands.
pub fn section(class: Class) -> String {
    let Explanation {
        cause,
        confirm,
        remedy,
    } = explanation(class);
    format!(
        "## {}\n\n{cause}\n\n**Confirm:** {confirm}\n\n**Do:** {remedy}\n",
        class.code()
    )
}

/// Cause, confirmation and remedy of each class.
fn words(class: Class) -> (&'static str, &'static str, &'static str) {
    match class {
        Class::WrongValue => (
            "Something was there and was not the expected thing: another id, another folder, another text, another count.",
            "The symptom names both values. Read the files that the check lists under `read` in `verdict.json`.",
            "Decide which side is right by the clause. If the agent is, correct the scenario or the build's folder; else report the agent.",
        ),
        Class::Missing => (
            "Something that had to be there was not: a variable, a record, a call, a note in a tool result.",
            "Look for it in the file under `read`; then in `timeline.jsonl`, whether it came later than it was looked for.",
            "If it never happened, follow the step that should have caused it; a row that did not mount is the usual reason.",
        ),
        Class::Leaked => (
            "Something that must not be there was: a planted variable, an outer session's id, a sentence in the system prompt, a call that nobody scripted.",
            "`facts.json` lists what was planted. A value with `canary` in it came from the environment of the agent.",
            "Find the layer whose canary it is: its value says which. A stranger's value is a missing filter, an own value in the wrong place is a wrong owner.",
        ),
        Class::Duplicate => (
            "Something happened more often than it should: a call was sent again, a note arrived twice, an effect took place twice.",
            "Count it in `mcp/*.jsonl` and `effects.jsonl`. The same call id twice is a repetition on the wire, two ids are two decisions.",
            "Look for a retry or a second path behind a dispatched call; a call that was sent is never sent again.",
        ),
        Class::Order => (
            "The right things happened in another order, or two things that had to overlap did not.",
            "`timeline.jsonl` has every world on one clock.",
            "If the scenario means an order, it needs a gate there; if it has one, the agent broke it.",
        ),
        Class::NotStopped => (
            "A process outlived its time, the supervisor could not show that nothing is left, or a namespace is not over.",
            "`facts.json`: `survivors` names each process with its arguments and parents, `namespace.detail` is plumb's answer.",
            "The process was ended after it was noted. Find who started it and why it did not end with its parent.",
        ),
        Class::Exit => (
            "A launch ended by itself with another exit status than the scenario states (0 unless it says otherwise).",
            "`launch/NAME/stderr`; its last line is in the symptom.",
            "An agent that failed to boot says so there. A status that is meant belongs into the scenario as `exit`.",
        ),
        Class::Killed => (
            "A signal ended the launch, or the harness sent one. dsh answers TERM with exit 0, so the signal is remembered and the status not trusted.",
            "`facts.json`: `end` and `signalled` of the launch; `timeline.jsonl` says what came before.",
            "Without a `signal` step nobody meant it: look for a crash in `stderr`, and for memory limits of the machine.",
        ),
        Class::StepTimedOut => (
            "A gate did not see its fact in time, or an action of the timeline could not be done or was never reached.",
            "The symptom says what was seen last. `facts.json` lists every action of the timeline with `seen`.",
            "Follow the fact back to who produces it. A longer `within` helps only when the fact did come, later.",
        ),
        Class::ScenarioTimedOut => (
            "The scenario, or one of its launches, was not over within its limit and was ended.",
            "The last lines of `timeline.jsonl` show what it was waiting for.",
            "Usually a reply that no step gives, or a background command that nobody collects. On a slow machine use fewer `--jobs`.",
        ),
        Class::RunTimedOut => (
            "The whole run took longer than its limit. The code is kept for that; no check of this version gives it.",
            "The report says which scenarios were not reached.",
            "Run fewer at a time, or a part with `--only`.",
        ),
        Class::NoBoot => (
            "The agent ended or stood still before its first model request, or was never started.",
            "`launch/NAME/stderr` and the launch's `argv` and `env` in `facts.json`.",
            "Start that command by hand in an empty folder. A row that does not mount ends the boot of rc8; 0.2.1 only warns of it.",
        ),
        Class::NotMounted => (
            "The agent ran without a row it was given. 0.2.1 exits 0 all the same, and everything that row promises is silently not there.",
            "`launch/NAME/stderr` has one of the build's boot warnings, or the first request in `model.jsonl` offers no tool of plumb.",
            "Check the row's file and its options. plumb's server must answer `initialize` before dsh gives it up.",
        ),
        Class::Protocol => (
            "A peer broke its protocol: a call without its answer, a result nobody asked for, an illegal role, a torn record.",
            "`model.jsonl`: the `violation` with its request; `torn-records.txt` for records.",
            "This is a defect of the peer and never of the script. The evidence folder is the bug report.",
        ),
        Class::Misrouted => (
            "A model request went to another place than this launch's own fake model.",
            "`facts.json`: `stray` has what came.",
            "A process took another launch's address, or a path was put together wrongly. Nothing left the machine: only loopback is served.",
        ),
        Class::UnscriptedRequest => (
            "The model was asked something that no step answers. It refused, so that no default hides it.",
            "`model.jsonl`: the `unmatched` line says which session asked and which steps were left.",
            "Add the step if the request is right. One turn too many is often a background answer that arrives as a message.",
        ),
        Class::UnusedStep => (
            "A step of the script was never asked for: the agent stopped early, or took another way.",
            "The symptom names session and step. The last request of that session in `model.jsonl` shows where it stopped.",
            "Look at what came before; a failed tool call or a launch that ended is the usual reason.",
        ),
        Class::NoteStranded => (
            "A note is still unread on a plumb session that nobody will read: the agent came back under another one.",
            "The symptom names the session. `records/` has both, with the same agent id and different session ids.",
            "See whether the reconnect carried the resume proof: the `session_start` in `mcp/*.jsonl`, and the plugin's warnings.",
        ),
        Class::NoteLost => (
            "A note was consumed where the model cannot see it, by a declaration that the plugin makes on its own.",
            "`mcp/*.jsonl`: a `session_start` whose answer carries the note and whose arguments do not say `mail: \"preview\"`.",
            "Nothing automatic may claim mail. A plumb that does not know `preview` must be named in the plugin's warning.",
        ),
        Class::SharedConnection => (
            "plumb marked a connection as shared by several agents, so it can no longer tell them apart.",
            "`records/`: the marked record. `mcp/*.jsonl`: two ids declared over one process.",
            "Look for a declaration with an id the model typed, and for calls of several sessions over one connection.",
        ),
        Class::Refused => (
            "A peer refused what the scenario needed, such as an operation of the driver.",
            "`launch/NAME/outcomes.jsonl`: the operation's `error`, word for word.",
            "If the refusal is the promise under test, state it in the expectation; otherwise the operation is wrong for this build.",
        ),
        Class::Unobserved => (
            "The check could not see what it judges: its witness or its evidence is missing. That is no pass.",
            "The symptom says what was missing. An earlier failure, such as `no-boot`, usually explains it.",
            "Mend what comes first in the report. On its own it means that the harness does not look where the agent writes.",
        ),
        Class::StaleDeviation => (
            "A reviewed deviation of the build is not seen any more: its check passes, no check matches it, or its last day is over.",
            "`dsh-e2e deviations` prints the entries; the symptom names the one.",
            "If the build was mended, take the entry out of its `deviations.toml`; if the day is over, look at the build again and decide anew.",
        ),
        Class::Harness => (
            "The harness itself broke in this scenario, so nothing is known of the agent.",
            "`facts.json`: `broken`.",
            "Run the scenario again with the printed command. If it comes back, report it with the evidence folder.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{class, explanation, section};
    use crate::verdict::Class;

    #[test]
    fn every_class_is_found_by_its_code() {
        for one in Class::ALL {
            assert_eq!(class(&one.code()), Some(one));
        }
        assert_eq!(class("no-such-class"), None);
    }

    #[test]
    fn no_two_classes_have_the_same_words() {
        let mut seen = std::collections::BTreeSet::new();
        for one in Class::ALL {
            let words = explanation(one);
            for text in [words.cause, words.confirm, words.remedy] {
                assert!(text.ends_with('.'), "{}: {text}", one.code());
                assert!(seen.insert(text), "{} repeats: {text}", one.code());
            }
        }
    }

    #[test]
    fn a_section_says_what_why_and_what_to_do() {
        insta::assert_snapshot!(section(Class::Harness), @r"
        ## harness

        The harness itself broke in this scenario, so nothing is known of the agent.

        **Confirm:** `facts.json`: `broken`.

        **Do:** Run the scenario again with the printed command. If it comes back, report it with the evidence folder.
        ");
    }
}
