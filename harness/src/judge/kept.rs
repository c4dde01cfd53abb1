//! The secrets of a run are kept: none stands where it has no business, and what was written holds none.
//!
//! The witness is the model's key, which the same search finds in the environment that the launch was given.

use super::context::{Judged, Reading};
use crate::evidence::secrets::SecretKind;
use crate::verdict::Class;

/// Whether a sort of secret belongs there: the key in the environment that the agent is given, and proofs on plumb's
/// own wires, which the timeline repeats.
fn belongs(kind: SecretKind, place: &str) -> bool {
    match kind {
        SecretKind::ModelKey => place.starts_with("env/"),
        SecretKind::ResumeProof => place.starts_with("mcp/") || place == "timeline.jsonl",
        SecretKind::NamespaceToken | SecretKind::CallersKey => false,
    }
}

/// Judges every place in which a secret stood.
pub(super) fn kept(reading: &Reading<'_>) -> Judged {
    let facts = &reading.evidence.facts;
    let mut judged = Judged::reading(["facts.json".to_owned(), "mcp/".to_owned()]);
    for (place, found) in &facts.hidden_in {
        for kind in found.keys().filter(|kind| !belongs(**kind, place)) {
            judged.fail(Class::Leaked, format!("{kind} stood in {place}"));
        }
    }
    for file in &facts.not_hidden {
        judged.fail(
            Class::Leaked,
            format!("a secret is left in the evidence's {file}"),
        );
    }
    for tap in &reading.evidence.taps {
        if tap.masked {
            judged.fail(
                Class::Leaked,
                format!(
                    "{} stood on plumb's wires in {}",
                    SecretKind::NamespaceToken,
                    tap.file
                ),
            );
        }
        if let Some(name) = tap
            .env_names
            .iter()
            .find(|name| **name == reading.build.key_var)
        {
            judged.fail(
                Class::Leaked,
                format!(
                    "a plumb process was given {name}, the model's key ({})",
                    tap.file
                ),
            );
        }
    }
    if !judged.symptoms.is_empty() {
        return judged;
    }
    let seen = |kind| {
        facts
            .hidden_in
            .values()
            .any(|found| found.contains_key(&kind))
    };
    if !facts.launches.is_empty() && !seen(SecretKind::ModelKey) {
        return Judged::unobserved(
            "the model's key was not found where it was put: the search proves no absence",
        );
    }
    if let Some(place) = facts.not_searched.first() {
        return Judged::unobserved(format!("{place} could not be searched"));
    }
    if facts.namespace.is_some() && !facts.looked_for.contains_key(&SecretKind::NamespaceToken) {
        return Judged::unobserved("the namespace's token was not looked for");
    }
    judged
}

#[cfg(test)]
mod tests {
    use super::kept;
    use crate::evidence::Evidence;
    use crate::evidence::facts::{LaunchFacts, NamespaceFacts};
    use crate::evidence::secrets::SecretKind;
    use crate::judge::wires::process;
    use crate::judge::{BuildFacts, Reading};
    use crate::plan::tests_support::run_with_flips;

    /// Evidence of a run whose secrets are kept.
    fn clean() -> Evidence {
        let mut evidence = Evidence::default();
        let facts = &mut evidence.facts;
        facts.launches.insert("main".into(), LaunchFacts::default());
        facts.namespace = Some(NamespaceFacts::default());
        facts.looked_for = [(SecretKind::NamespaceToken, 1), (SecretKind::ModelKey, 1)].into();
        facts
            .hidden_in
            .insert("env/main".into(), [(SecretKind::ModelKey, 1)].into());
        facts
            .hidden_in
            .insert("mcp/00.jsonl".into(), [(SecretKind::ResumeProof, 1)].into());
        evidence.taps.push(process(&["serve"]));
        evidence
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Evidence), expected: &str) {
        let mut evidence = clean();
        change(&mut evidence);
        let build = BuildFacts {
            key_var: "FAKE_KEY".into(),
            ..BuildFacts::default()
        };
        let run = run_with_flips(Vec::new());
        let judged = kept(&Reading::new(&run, &evidence, &build));
        let said: Vec<String> = judged
            .symptoms
            .into_iter()
            .map(|(_, text)| text)
            .chain(judged.unobserved)
            .collect();
        assert_eq!(said.join("; "), expected);
    }

    fn stands(evidence: &mut Evidence, place: &str, kind: SecretKind) {
        evidence
            .facts
            .hidden_in
            .entry(place.into())
            .or_default()
            .insert(kind, 1);
    }

    #[test]
    fn secrets_that_stand_where_they_belong_are_kept() {
        check(|_| {}, "");
    }

    #[test]
    fn each_sort_is_leaked_by_any_other_place() {
        for (place, kind, expected) in [
            (
                "env/main",
                SecretKind::NamespaceToken,
                "the namespace's token stood in env/main",
            ),
            (
                "argv/main",
                SecretKind::ModelKey,
                "the model's key stood in argv/main",
            ),
            (
                "probes/first.json",
                SecretKind::ModelKey,
                "the model's key stood in probes/first.json",
            ),
            (
                "records/x.json",
                SecretKind::ResumeProof,
                "a resume proof stood in records/x.json",
            ),
            (
                "root/ws/note.txt",
                SecretKind::CallersKey,
                "a key of the caller stood in root/ws/note.txt",
            ),
        ] {
            check(|evidence| stands(evidence, place, kind), expected);
        }
    }

    #[test]
    fn a_token_on_the_wires_a_key_in_a_plumb_and_a_file_that_was_not_freed_are_leaked() {
        check(
            |evidence| evidence.taps[0].masked = true,
            "the namespace's token stood on plumb's wires in mcp/00.jsonl",
        );
        check(
            |evidence| evidence.taps[0].env_names.push("FAKE_KEY".into()),
            "a plumb process was given FAKE_KEY, the model's key (mcp/00.jsonl)",
        );
        check(
            |evidence| evidence.facts.not_hidden.push("stderr".into()),
            "a secret is left in the evidence's stderr",
        );
    }

    #[test]
    fn a_search_that_found_nothing_at_all_proves_nothing() {
        check(
            |evidence| evidence.facts.hidden_in.clear(),
            "the model's key was not found where it was put: the search proves no absence",
        );
        check(
            |evidence| evidence.facts.looked_for.clear(),
            "the namespace's token was not looked for",
        );
        check(
            |evidence| evidence.facts.not_searched.push("/r/s0/x: denied".into()),
            "/r/s0/x: denied could not be searched",
        );
    }
}
