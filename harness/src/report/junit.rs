//! The report as JUnit XML: a suite for each build, a case for each scenario, case and control.
//!
//! Characters that XML cannot carry are replaced here; the writer escapes the rest and leaves out colours.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::account::{Account, Judged, Trouble, reasons};
use super::stem;
use crate::verdict::{Class, Outcome, Standing, Verdict};

/// The suite of troubles that belong to no build.
const NO_BUILD: &str = "run";

/// A report that cannot be written as XML.
#[derive(Debug, thiserror::Error)]
#[error("the JUnit report cannot be written: {0}")]
pub struct JunitError(#[from] quick_junit::SerializeError);

/// The whole report.
pub fn junit_report(account: &Account) -> Result<String, JunitError> {
    let mut report = Report::new("dsh-e2e");
    for build in account.builds() {
        let mut suite = TestSuite::new(format!("dsh {build}"));
        let own = |judged: &&Judged| judged.verdict.build == build;
        suite.add_test_cases(account.judged.iter().filter(own).map(case));
        let own = |trouble: &&Trouble| trouble.build.as_deref() == Some(build);
        suite.add_test_cases(account.troubles.iter().filter(own).map(error));
        report.add_test_suite(suite);
    }
    let astray = account.troubles.iter().filter(|one| one.build.is_none());
    let astray: Vec<TestCase> = astray.map(error).collect();
    if !astray.is_empty() {
        let mut suite = TestSuite::new(NO_BUILD);
        suite.add_test_cases(astray);
        report.add_test_suite(suite);
    }
    Ok(report.to_string()?)
}

fn case(judged: &Judged) -> TestCase {
    let verdict = &judged.verdict;
    let status = match verdict.standing {
        Standing::AsExpected => TestCaseStatus::success(),
        Standing::Unexpected => {
            let reasons = reasons(verdict);
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status
                .set_type(class(verdict))
                .set_message(carried(&reasons[0]))
                .set_description(carried(&reasons.join("\n")));
            status
        }
    };
    let mut case = TestCase::new(stem(&verdict.scenario), status);
    case.set_classname(family(&verdict.scenario));
    if let Some(wall) = judged.wall {
        case.set_time(wall);
    }
    case.set_system_out(carried(&said(judged)));
    case
}

fn error(trouble: &Trouble) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status
        .set_type(Class::Harness.code())
        .set_message(carried(&trouble.what));
    let mut case = TestCase::new(stem(&trouble.about), status);
    case.set_classname(family(&trouble.about));
    case
}

/// The text without the characters that XML 1.0 has no way to write (its production `Char`). The escape character stays:
/// the writer takes it out together with the colour that it begins, and a tab would go with it.
fn carried(text: &str) -> String {
    let is_written = |c: &char| {
        matches!(c, '\n' | '\r' | '\u{1b}') || (*c >= ' ' && *c < '\u{fffe}') || *c > '\u{ffff}'
    };
    text.chars()
        .map(|c| match c {
            '\t' => ' ',
            c if is_written(&c) => c,
            _ => char::REPLACEMENT_CHARACTER,
        })
        .collect()
}

/// What the folder of a scenario is called.
fn family(id: &str) -> &str {
    id.rsplit_once('/').map_or("dsh-e2e", |(family, _)| family)
}

/// The class of the first check that did not pass; a control that did not turn has none.
fn class(verdict: &Verdict) -> String {
    verdict
        .findings
        .iter()
        .filter(|finding| matches!(finding.outcome, Outcome::Fail | Outcome::Unobserved))
        .find_map(|finding| finding.class)
        .map_or_else(|| "unexpected".to_owned(), Class::code)
}

/// Title, what a control turned, every check that was not simply passed, and where the evidence is.
fn said(judged: &Judged) -> String {
    let verdict = &judged.verdict;
    let mut lines = vec![verdict.title.clone()];
    for flip in &verdict.flips {
        lines.push(format!(
            "has to turn: {} ({})",
            flip.check,
            flip.class.code()
        ));
    }
    for finding in &verdict.findings {
        let word = match finding.outcome {
            Outcome::NotApplicable => "not applicable",
            Outcome::Deviates => "deviates",
            Outcome::Pass | Outcome::Fail | Outcome::Unobserved => continue,
        };
        let symptoms = finding.symptoms.join("; ");
        lines.push(format!("{word}: {}, {symptoms}", finding.check));
    }
    lines.push(format!("evidence: {}", judged.folder.display()));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};
    use quick_junit::{Report, TestCaseStatus};

    use super::super::account::examples::account;
    use super::junit_report;

    #[test]
    fn a_run_is_a_suite_for_each_build_and_what_broke_is_an_error() {
        insta::assert_snapshot!(junit_report(&account("it is stranded on session s-1")).unwrap().trim_end(), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="dsh-e2e" tests="5" skipped="0" failures="1" errors="1">
            <testsuite name="dsh 0.2.1" tests="5" skipped="0" errors="1" failures="1">
                <testcase name="record" classname="plumb" time="2.500">
                    <system-out>a title
        evidence: results/0.2.1/x</system-out>
                </testcase>
                <testcase name="reconnect" classname="plumb" time="2.500">
                    <failure message="note [note-stranded] it is stranded on session s-1" type="note-stranded">note [note-stranded] it is stranded on session s-1</failure>
                    <system-out>a title
        evidence: results/0.2.1/x</system-out>
                </testcase>
                <testcase name="mail#red-1" classname="plumb" time="2.500">
                    <system-out>a title
        has to turn: note (note-lost)
        evidence: results/0.2.1/x</system-out>
                </testcase>
                <testcase name="tool" classname="env" time="2.500">
                    <system-out>a title
        deviates: tool, known
        evidence: results/0.2.1/x</system-out>
                </testcase>
                <testcase name="mail" classname="plumb">
                    <error message="the harness broke: no namespace" type="harness"/>
                </testcase>
            </testsuite>
        </testsuites>
        "#);
    }

    #[test]
    fn bytes_that_xml_cannot_carry_do_not_break_it() {
        let odd = "a\u{0}b\u{1b}[31mc\u{fffe}d]]>e<f>&\"'\u{7f}\u{b}\n\tg";
        let text = junit_report(&account(odd)).unwrap();
        let report = Report::deserialize_from_str(&text).unwrap();
        let case = &report.test_suites[0].test_cases[1];
        let TestCaseStatus::NonSuccess {
            message: Some(message),
            ..
        } = &case.status
        else {
            panic!("{:?}", case.status)
        };
        insta::assert_snapshot!(format!("{message:?}"), @r#"XmlString { data: "note [note-stranded] a�bc�d]]>e<f>&\"'\u{7f}�\n g" }"#);
    }

    proptest! {
        #[test]
        fn any_message_leaves_the_report_well_formed(symptom in any::<String>()) {
            let text = junit_report(&account(&symptom)).unwrap();
            let report = Report::deserialize_from_str(&text).unwrap();
            let is_char = |c: char| "\t\n\r".contains(c) || (c >= ' ' && !"\u{fffe}\u{ffff}".contains(c));
            assert!(text.chars().all(is_char));
            assert_eq!((report.tests, report.failures, report.errors), (5, 1, 1));
        }
    }
}
