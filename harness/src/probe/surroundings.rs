//! What a process sees of itself: environment, parents, folder.
//!
//! Called for the verb `probe`; read by the evidence. The environment is the one the kernel was given at exec,
//! entry by entry: a map would hide a name that is there twice, or an entry without `=`.

use std::{
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::Path,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};

use super::{ProbeError, appear};
use crate::{
    clock::Moment,
    supervise::process::{ProcessId, argv_of, id_of, stat_of},
};

/// How far parents are followed; a deeper chain is a loop of the reader, not of processes.
const PARENTS: usize = 128;

/// One probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surroundings {
    /// When, in microseconds of `CLOCK_MONOTONIC`.
    pub t_us: Moment,
    /// The probe itself.
    pub process: ProcessId,
    /// Its words.
    pub argv: Vec<Bytes>,
    /// Its folder.
    pub cwd: Bytes,
    /// The entries of its environment, in their order.
    pub environ: Vec<Bytes>,
    /// The entries as the standard library sees them, when they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub std_environ: Option<Vec<Bytes>>,
    /// From the parent up to pid 1.
    pub parents: Vec<Parent>,
}

/// A process above.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// Pid and start time.
    pub process: ProcessId,
    /// Its command line.
    pub argv: Vec<String>,
}

/// Bytes that are nearly always text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bytes {
    /// UTF-8.
    Text(String),
    /// Anything else, in base64.
    Base64(String),
}

impl Bytes {
    /// Takes bytes as they are.
    pub fn new(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64(STANDARD.encode(bytes)),
        }
    }
}

/// Writes what this process sees to `to`, all at once.
pub fn probe(to: &Path) -> Result<(), ProbeError> {
    let mut json = serde_json::to_vec(&read()?).map_err(|source| ProbeError::File {
        verb: "write",
        path: to.display().to_string(),
        source: source.into(),
    })?;
    json.push(b'\n');
    appear(to, &json)
}

/// Reads what this process sees.
pub fn read() -> Result<Surroundings, ProbeError> {
    let environ = proc_self("environ")?;
    let argv = proc_self("cmdline")?;
    let std_environ: Vec<Bytes> = std::env::vars_os()
        .map(|(name, value)| Bytes::new(&[name.as_bytes(), b"=", value.as_bytes()].concat()))
        .collect();
    let pid = std::process::id();
    Ok(Surroundings {
        t_us: Moment::now(),
        process: ProcessId::of(pid).unwrap_or(ProcessId { pid, start: 0 }),
        argv,
        cwd: Bytes::new(
            &std::env::current_dir()
                .map(|path| path.into_os_string().into_vec())
                .unwrap_or_default(),
        ),
        std_environ: (std_environ != environ).then_some(std_environ),
        environ,
        parents: parents(pid),
    })
}

/// The entries of a file of `/proc/self` that holds NUL-ended text.
fn proc_self(name: &str) -> Result<Vec<Bytes>, ProbeError> {
    let path = format!("/proc/self/{name}");
    let bytes = std::fs::read(&path).map_err(|source| ProbeError::File {
        verb: "read",
        path,
        source,
    })?;
    let entries = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    if entries.is_empty() && bytes.is_empty() {
        return Ok(Vec::new());
    }
    Ok(entries.split(|&byte| byte == 0).map(Bytes::new).collect())
}

fn parents(pid: u32) -> Vec<Parent> {
    let above = |pid: u32| {
        stat_of(pid)
            .and_then(|stat| u32::try_from(stat.ppid).ok())
            .filter(|&parent| parent != 0)
    };
    std::iter::successors(above(pid), |&pid| above(pid))
        .take(PARENTS)
        .filter_map(|pid| {
            let stat = stat_of(pid)?;
            let argv = argv_of(pid).unwrap_or_else(|| vec![format!("[{}]", stat.comm)]);
            Some(Parent {
                process: id_of(&stat),
                argv,
            })
        })
        .collect()
}
