//! `judge`: a verdict again, from the evidence alone.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use harness::agent::dsh::find;
use harness::evidence::Evidence;
use harness::exit::Exit;
use harness::judge::{BuildFacts, judge};
use harness::plan::{self, Subject};
use harness::report::{Account, Judged, page};
use harness::scenario;
use harness::verdict::{Standing, Verdict};

use crate::cli::{JudgeFormat, JudgeOptions};
use crate::refusal::Refusal;
use crate::run::reports::Kind;

/// Judges every scenario whose evidence lies below the folder.
pub(crate) fn main(options: &JudgeOptions) -> Result<Exit, Refusal> {
    let mut folders = Vec::new();
    find_evidence(&options.folder, &mut folders);
    folders.sort();
    if folders.is_empty() {
        return Err(Refusal {
            what: format!(
                "{}: there is no evidence (no facts.json below it)",
                options.folder.display()
            ),
            hint: Some("name a folder that `run` has written, such as e2e-results/latest".into()),
            exit: Exit::NothingChecked,
        });
    }
    let mut account = Account::default();
    for folder in folders {
        account.judged.push(Judged {
            verdict: again(&folder)?,
            wall: None,
            folder,
        });
    }
    let text = match options.format {
        JudgeFormat::Plain => account.verdicts().map(page).collect::<String>(),
        JudgeFormat::Json => Kind::Json.text(&account)?,
        JudgeFormat::Junit => Kind::Junit.text(&account)?,
        JudgeFormat::Github => Kind::Github.text(&account)?,
        JudgeFormat::Verdict => match account.judged.as_slice() {
            [judged] => written(&judged.verdict)?,
            _ => {
                return Err(Refusal::new(
                    format!(
                        "{}: {} scenarios lie here",
                        options.folder.display(),
                        account.judged.len()
                    ),
                    "`--format verdict` wants the folder of one scenario",
                ));
            }
        },
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(Refusal::broken)?;
    let as_expected = account
        .verdicts()
        .all(|verdict| verdict.standing == Standing::AsExpected);
    Ok(if as_expected {
        Exit::AsExpected
    } else {
        Exit::Unexpected
    })
}

pub(crate) fn find_evidence(folder: &Path, found: &mut Vec<PathBuf>) {
    if folder.join("facts.json").exists() {
        found.push(folder.to_owned());
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            find_evidence(&entry.path(), found);
        }
    }
}

/// A verdict as `verdict.json` has it.
pub(crate) fn written(verdict: &Verdict) -> Result<String, Refusal> {
    let text = serde_json::to_string_pretty(verdict).map_err(Refusal::broken)?;
    Ok(format!("{text}\n"))
}

/// The verdict on one folder.
pub(crate) fn again(folder: &Path) -> Result<Verdict, Refusal> {
    let (run, evidence, build) = read(folder)?;
    Ok(judge(&run, &evidence, &build))
}

/// What a verdict is made of, as one folder has it.
pub(crate) fn read(folder: &Path) -> Result<(plan::Run, Evidence, BuildFacts), Refusal> {
    let damaged = |what: String| {
        Refusal::new(
            format!("{}: {what}", folder.display()),
            "the evidence is damaged; run the scenario again",
        )
    };
    let evidence = Evidence::read(folder).map_err(|error| damaged(error.to_string()))?;
    let path = folder.join("scenario.toml");
    let text = std::fs::read_to_string(&path).map_err(|error| damaged(error.to_string()))?;
    let scenario = scenario::read(&evidence.facts.scenario, &text)
        .map_err(|mistake| damaged(mistake.to_string()))?;
    let subject = Subject {
        build: evidence.facts.build.clone(),
        revision: evidence.facts.revision.clone(),
    };
    let run = plan::again(
        &scenario,
        &subject,
        evidence.facts.case.as_deref(),
        evidence.facts.control,
    )
    .ok_or_else(|| damaged("its case or control is not in its scenario".into()))?;
    let build = find(&evidence.facts.build).map_err(|error| damaged(error.to_string()))?;
    Ok((run, evidence, BuildFacts::of(&build)))
}
