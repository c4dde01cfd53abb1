//! The report a person reads: one line for each scenario, the reasons below a failure, a count at the end.
//!
//! ` PASS <stem>` and ` FAIL <stem>: <every symptom>` stand at the start of a line: red-control runs match them.

#![expect(
    clippy::let_underscore_must_use,
    reason = "writing into a String cannot fail"
)]

use std::fmt::Write as _;

use super::stem;
use crate::event::Event;
use crate::guard::certificate::Certificate;
use crate::verdict::{Class, Outcome, Standing, Verdict};

/// What the plain report remembers between events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plain {
    scenarios: usize,
    controls: usize,
    unexpected: Vec<String>,
    checks: usize,
    not_applicable: usize,
    deviates: usize,
    build: Option<String>,
    builds: usize,
}

/// Text for the two streams.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// For standard output: the report.
    pub out: String,
    /// For standard error: how the run goes.
    pub err: String,
}

/// The lines of one verdict.
pub fn page(verdict: &Verdict) -> String {
    let stem = stem(&verdict.scenario);
    let control = !verdict.flips.is_empty();
    match (verdict.standing, control) {
        (Standing::AsExpected, false) => format!(" PASS {stem}\n"),
        (Standing::AsExpected, true) => {
            let turned: Vec<String> = verdict
                .flips
                .iter()
                .map(|flip| format!("{} ({})", flip.check, flip.class.code()))
                .collect();
            format!(
                "  red {stem}: {}; turned {}\n",
                verdict.title,
                turned.join(", ")
            )
        }
        (Standing::Unexpected, false) => {
            let symptoms = verdict.symptoms();
            let all = if symptoms.is_empty() {
                verdict.surprises.clone()
            } else {
                symptoms
            };
            format!(" FAIL {stem}: {}\n", all.join("; ").replace('\n', " "))
        }
        (Standing::Unexpected, true) => {
            format!(
                " FAIL {stem}: the control `{}` did not turn as stated: {}\n",
                verdict.title,
                verdict.surprises.join("; ").replace('\n', " ")
            )
        }
    }
}

/// The acceptance line; nothing for any other event.
fn admitted(event: &Event) -> String {
    let Event::Admitted {
        why,
        program,
        version,
        isolation,
    } = event
    else {
        return String::new();
    };
    format!(
        "e2e: a real plumb is used: {why}; plumb binary {}, {version}; isolation {isolation}\n",
        program.display()
    )
}

impl Plain {
    /// Takes an event and gives what is to be printed for it.
    #[expect(clippy::too_many_lines, reason = "an arm for each event")]
    pub fn on(&mut self, event: &Event) -> Page {
        let mut page_of = Page::default();
        match event {
            Event::Getting { what } => page_of.err = format!("{what}\n"),
            Event::Ready {
                build,
                version,
                hash,
                executable,
                revision,
            } => {
                page_of.err = format!(
                    "dsh {build}: version {version}, revision {revision}, {}…\n    {}\n",
                    &hash[..hash.len().min(16)],
                    executable.display()
                );
            }
            Event::Plumb {
                program,
                version,
                isolation,
            } => {
                page_of.err = format!(
                    "plumb binary {}, {version}; isolation {isolation}\n",
                    program.display()
                );
            }
            Event::Admitted { .. } => page_of.err = admitted(event),
            Event::Certificate { certificate } => page_of.out = self.certified(certificate),
            Event::Started {
                runs,
                jobs,
                results,
            } => {
                page_of.err = format!(
                    "{runs} runs, {jobs} at a time; evidence in {}\n\n",
                    results.display()
                );
            }
            Event::Begun { .. } => {}
            Event::Judged {
                verdict,
                folder,
                again,
                ..
            } => self.judged(verdict, &mut page_of, folder, again),
            Event::Broken {
                id,
                build,
                what,
                folder,
            } => {
                self.unexpected.push(format!("{build}: {id}"));
                page_of.out = format!(
                    " FAIL {}: the harness broke: {what}\n       evidence: {}\n",
                    stem(id),
                    folder.display()
                );
            }
            Event::Review { build, what } => {
                self.unexpected.push(format!("{build}: deviations"));
                page_of.out = format!(" FAIL deviations: {build}: {what}\n");
            }
            Event::Stopped { why } => {
                self.unexpected.push(format!("the run was stopped: {why}"));
                page_of.out = format!("e2e: STOPPED: {why}\n");
            }
            Event::Over {
                wall_us,
                cpu_us,
                results,
                assumes,
            } => {
                page_of.out = self.sum(*wall_us, *cpu_us);
                if !assumes.is_empty() {
                    let _ = writeln!(
                        page_of.out,
                        "verdicts on namespaces, proofs and previews rest on what is assumed of plumb: {}",
                        assumes.join(", ")
                    );
                }
                let _ = writeln!(page_of.out, "evidence: {}", results.display());
            }
        }
        page_of
    }

    fn certified(&mut self, certificate: &Certificate) -> String {
        if !certificate.is_clean() {
            self.unexpected
                .push("the owner's plumb is not as it was found".to_owned());
        }
        format!("e2e: {}\n", certificate.lines().join("\ne2e: "))
    }

    fn judged(
        &mut self,
        verdict: &Verdict,
        page_of: &mut Page,
        folder: &std::path::Path,
        again: &str,
    ) {
        if self.build.as_deref() != Some(&verdict.build) {
            self.build = Some(verdict.build.clone());
            self.builds += 1;
            let _ = writeln!(page_of.out, "dsh {}", verdict.build);
        }
        self.scenarios += usize::from(verdict.flips.is_empty());
        self.controls += usize::from(!verdict.flips.is_empty());
        self.checks += verdict
            .findings
            .iter()
            .filter(|finding| finding.outcome == Outcome::Pass)
            .count();
        self.not_applicable += verdict
            .findings
            .iter()
            .filter(|finding| finding.outcome == Outcome::NotApplicable)
            .count();
        page_of.out.push_str(&page(verdict));
        for finding in &verdict.findings {
            // A control repeats what the plain run says already.
            if finding.outcome == Outcome::Deviates && verdict.flips.is_empty() {
                self.deviates += 1;
                let class = finding.class.map(Class::code).unwrap_or_default();
                let _ = writeln!(
                    page_of.out,
                    "       deviates: {} ({class}), {}",
                    finding.check,
                    finding.symptoms.join("; ").replace('\n', " ")
                );
            }
        }
        if verdict.standing == Standing::Unexpected {
            self.unexpected
                .push(format!("{}: {}", verdict.build, verdict.scenario));
            for surprise in &verdict.surprises {
                let _ = writeln!(page_of.out, "       {}", surprise.replace('\n', " "));
            }
            let _ = writeln!(page_of.out, "       evidence: {}", folder.display());
            let _ = writeln!(page_of.out, "       again:    {again}");
        }
    }

    fn sum(&self, wall_us: u64, cpu_us: u64) -> String {
        let mut text = String::from("\n");
        let seconds = |us: u64| format!("{}.{} s", us / 1_000_000, us % 1_000_000 / 100_000);
        let _ = writeln!(
            text,
            "{} scenarios and {} controls, {} checks passed{}{}; {} of wall time, {} of processor time",
            self.scenarios,
            self.controls,
            self.checks,
            if self.not_applicable == 0 {
                String::new()
            } else {
                format!(", {} not applicable", self.not_applicable)
            },
            if self.deviates == 0 {
                String::new()
            } else {
                format!(", {} deviate as known", self.deviates)
            },
            seconds(wall_us),
            seconds(cpu_us)
        );
        if self.unexpected.is_empty() {
            text.push_str("everything is as expected\n");
        } else {
            let _ = writeln!(text, "{} not as expected:", self.unexpected.len());
            for one in &self.unexpected {
                let _ = writeln!(text, "  {one}");
            }
        }
        text
    }
}
