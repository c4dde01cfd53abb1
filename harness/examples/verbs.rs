//! The hidden verbs without the rest of the binary, for this crate's own tests.
//!
//! Called by `tests/it`; the shipped binary has the same verbs with a real command line.

use std::{ffi::OsString, path::PathBuf, process::ExitCode, time::Duration};

use harness::{
    probe::{
        effect::effect,
        hold::{Held, Hold, hold},
        surroundings::probe,
    },
    supervise::{supervisor, warden},
    tap::{self, Tap},
};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let path = |index: usize| words.get(index).map(PathBuf::from).unwrap_or_default();
    match words.first().and_then(|word| word.to_str()) {
        Some("warden") => warden::main()?,
        Some("supervise") => supervisor::main()?,
        Some("tap") => {
            let command = words.iter().skip(2).cloned().collect();
            return Ok(ExitCode::from(tap::main(&Tap {
                dir: path(1),
                name: None,
                command,
            })?));
        }
        Some("probe") => probe(&path(1))?,
        Some("hold") => {
            let limit = Duration::from_millis(path(3).to_string_lossy().parse()?);
            return Ok(
                match hold(&Hold {
                    ready: path(1),
                    until: path(2),
                    limit,
                })? {
                    Held::LetGo => ExitCode::SUCCESS,
                    Held::Forgotten => ExitCode::from(3),
                },
            );
        }
        Some("effect") => effect(&path(1), &path(2).to_string_lossy())?,
        _ => return Err("no such verb".into()),
    }
    Ok(ExitCode::SUCCESS)
}
