//! The report as workflow commands of GitHub Actions: an annotation for whatever is not as expected, and a notice for
//! each deviation that is known. What is as expected says nothing.

use super::account::{Account, reasons};
use super::stem;
use crate::verdict::{Class, Outcome, Verdict};

/// The whole report; empty when there is nothing to annotate.
pub fn github_report(account: &Account) -> String {
    let mut text = String::new();
    for verdict in account.verdicts() {
        let reasons = reasons(verdict);
        if !reasons.is_empty() {
            text.push_str(&command("error", verdict, "", &reasons.join("\n")));
        }
        // A control repeats what the plain run says already.
        let known = verdict.findings.iter().filter(|_| verdict.flips.is_empty());
        for finding in known.filter(|finding| finding.outcome == Outcome::Deviates) {
            let class = finding.class.map(Class::code).unwrap_or_default();
            let what = format!(
                "{} ({class}): {}",
                finding.check,
                finding.symptoms.join("; ")
            );
            text.push_str(&command("notice", verdict, " deviates as known", &what));
        }
    }
    for trouble in &account.troubles {
        let build = trouble
            .build
            .as_deref()
            .map(|build| format!("dsh {build}: "));
        let title = format!("{}{}", build.unwrap_or_default(), trouble.about);
        let line = format!(
            "::error title={}::{}\n",
            property(&title),
            data(&trouble.what)
        );
        text.push_str(&line);
    }
    text
}

fn command(word: &str, verdict: &Verdict, what: &str, message: &str) -> String {
    let title = format!("dsh {}: {}{what}", verdict.build, stem(&verdict.scenario));
    // An id is a path below scenarios/, with its case or control behind it.
    let path = verdict.scenario.split(['@', '#']).next();
    let file = format!("scenarios/{}.toml", path.unwrap_or_default());
    format!(
        "::{word} file={},title={}::{}\n",
        property(&file),
        property(&title),
        data(message)
    )
}

/// A message, as the runner's parser takes it back: one line, whatever stands in it.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// A property: what ends one is escaped too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::super::account::examples::account;
    use super::github_report;

    #[test]
    fn only_what_is_not_as_expected_is_annotated() {
        insta::assert_snapshot!(github_report(&account("stranded, 100 %\n::error::planted")).trim_end(), @r"
        ::error file=scenarios/plumb/reconnect.toml,title=dsh 0.2.1%3A reconnect::note [note-stranded] stranded, 100 %25%0A::error::planted
        ::notice file=scenarios/env/tool.toml,title=dsh 0.2.1%3A tool deviates as known::tool (wrong-value): known
        ::error title=dsh 0.2.1%3A plumb/mail::the harness broke: no namespace
        ");
    }

    proptest! {
        #[test]
        fn no_message_starts_a_command_of_its_own(symptom in any::<String>()) {
            let text = github_report(&account(&symptom));
            assert_eq!(text.split(['\n', '\r']).filter(|line| !line.is_empty()).count(), 3);
        }
    }
}
