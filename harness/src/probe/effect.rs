//! An effect that can be counted.
//!
//! Called for the verb `effect`. One write of one line in append mode: two at once never mix, and a tool call that
//! was carried out twice leaves two lines.

use std::{fs::File, io::Write as _, path::Path};

use serde::{Deserialize, Serialize};

use super::ProbeError;
use crate::clock::Moment;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// Which effect.
    pub n: String,
    /// When, in microseconds of `CLOCK_MONOTONIC`.
    pub t: Moment,
    /// By whom.
    pub pid: u32,
}

/// Appends one line for effect `name`.
pub fn effect(to: &Path, name: &str) -> Result<(), ProbeError> {
    let failed = |source| ProbeError::File {
        verb: "append to",
        path: to.display().to_string(),
        source,
    };
    let effect = Effect {
        n: name.to_owned(),
        t: Moment::now(),
        pid: std::process::id(),
    };
    let mut line = serde_json::to_vec(&effect).map_err(|error| failed(error.into()))?;
    line.push(b'\n');
    let mut file = File::options()
        .append(true)
        .create(true)
        .open(to)
        .map_err(failed)?;
    file.write_all(&line).map_err(failed)
}
