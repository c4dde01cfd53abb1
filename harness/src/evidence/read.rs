//! Reads an evidence folder back. The judge's only source.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::model::ModelEvent;
use super::session::SessionLog;
use super::tap::{Direction, Frame, Tap};
use super::{Evidence, Hold, Probe};
use crate::plumb::records::Record as SessionRecord;
use crate::probe::surroundings::{Bytes, Surroundings};
use crate::tap::record::{self, Record};

/// Evidence that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file that must be there is not, or cannot be read.
    #[error("evidence `{path}`: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("evidence `{path}` is damaged: {source}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}

impl Evidence {
    /// Reads the folder of one run.
    pub fn read(folder: &Path) -> Result<Self, ReadError> {
        let mut evidence = Self {
            facts: json(&folder.join("facts.json"))?,
            records: json_files(folder, "records")?
                .into_values()
                .map(SessionRecord)
                .collect(),
            outside: json_files(folder, "outside")?
                .into_values()
                .map(SessionRecord)
                .collect(),
            torn_records: lines_of(&folder.join("torn-records.txt"))?,
            log: lines_of(&folder.join("daemon.log"))?,
            ..Self::default()
        };
        for (name, value) in json_files(folder, "probes")? {
            let path = folder.join(format!("probes/{name}.json"));
            let seen = serde_json::from_value(value)
                .map_err(|source| ReadError::Damaged { path, source })?;
            evidence
                .probes
                .insert(name.clone(), probe(format!("probes/{name}.json"), &seen));
        }
        for (name, value) in json_files(folder, "holds")? {
            let at = |key: &str| value.get(key).and_then(Value::as_u64);
            if let (Some(from_us), Some(to_us)) = (at("from_us"), at("to_us")) {
                evidence.holds.insert(name, Hold { from_us, to_us });
            }
        }
        evidence.model = journal(folder)?;
        evidence.taps = taps(folder)?;
        evidence.ledger = optional(&folder.join("effects.jsonl"), json_lines)?;
        evidence.pins = optional(&folder.join("pins.json"), json)?;
        for line in optional(&folder.join("counted.jsonl"), json_lines)?.unwrap_or_default() {
            let name = line.get("n").and_then(Value::as_str).unwrap_or_default();
            *evidence.counted.entry(name.to_owned()).or_default() += 1;
        }
        let names: Vec<String> = evidence.facts.launches.keys().cloned().collect();
        for launch in names {
            let at = folder.join("launch").join(&launch);
            if let Some(stderr) = optional(&at.join("stderr"), text)? {
                evidence.stderr.insert(launch.clone(), stderr);
            }
            if let Some(outcomes) = optional(&at.join("outcomes.jsonl"), json_lines)? {
                evidence.outcomes.insert(launch.clone(), outcomes);
            }
            let index: Vec<(String, String)> =
                optional(&at.join("sessions.json"), json)?.unwrap_or_default();
            for (name, file) in index {
                let log = text(&at.join("session").join(&name))?;
                evidence
                    .sessions
                    .push(SessionLog::parse(&launch, &file, &log));
            }
        }
        Ok(evidence)
    }
}

fn text(path: &Path) -> Result<String, ReadError> {
    let bytes = fs::read(path).map_err(|source| ReadError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, ReadError> {
    serde_json::from_str(&text(path)?).map_err(|source| ReadError::Damaged {
        path: path.to_owned(),
        source,
    })
}

fn json_lines(path: &Path) -> Result<Vec<Value>, ReadError> {
    text(path)?
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            serde_json::from_str(line).map_err(|source| ReadError::Damaged {
                path: path.to_owned(),
                source,
            })
        })
        .collect()
}

fn lines_of(path: &Path) -> Result<Vec<String>, ReadError> {
    Ok(optional(path, text)?
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect())
}

fn optional<T>(
    path: &Path,
    read: impl Fn(&Path) -> Result<T, ReadError>,
) -> Result<Option<T>, ReadError> {
    if path.exists() {
        read(path).map(Some)
    } else {
        Ok(None)
    }
}

fn json_files(folder: &Path, sub: &str) -> Result<BTreeMap<String, Value>, ReadError> {
    let mut found = BTreeMap::new();
    for path in files(&folder.join(sub))? {
        if let Some(stem) = path
            .file_name()
            .and_then(|name| name.to_str()?.strip_suffix(".json"))
        {
            found.insert(stem.to_owned(), json(&path)?);
        }
    }
    Ok(found)
}

/// The files of a folder, in the order of their names; none where there is no folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let unreadable = |source| ReadError::Unreadable {
        path: folder.to_owned(),
        source,
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(unreadable)?;
    paths.sort();
    Ok(paths)
}

/// A probe as our own verb writes it: the entries of the environment in order.
fn probe(file: String, seen: &Surroundings) -> Probe {
    let text = |bytes: &Bytes| match bytes {
        Bytes::Text(text) => text.clone(),
        Bytes::Base64(text) => format!("base64:{text}"),
    };
    let entries = seen
        .environ
        .iter()
        .map(|entry| {
            let entry = text(entry);
            match entry.split_once('=') {
                Some((name, value)) => (name.to_owned(), value.to_owned()),
                None => (entry, String::new()),
            }
        })
        .collect();
    Probe {
        file,
        entries,
        cwd: text(&seen.cwd),
    }
}

/// The fake model's journal, with the tool definitions put back.
fn journal(folder: &Path) -> Result<Vec<ModelEvent>, ReadError> {
    let mut stored: BTreeMap<String, Value> = BTreeMap::new();
    for (hash, tools) in json_files(folder, "tools")? {
        stored.insert(hash, tools);
    }
    let events = optional(&folder.join("model.jsonl"), json_lines)?.unwrap_or_default();
    Ok(events
        .into_iter()
        .map(|mut event| {
            let hash = event
                .pointer("/body/tools/stored")
                .and_then(Value::as_str)
                .map(str::to_owned);
            if let Some(tools) = hash.and_then(|hash| stored.get(&hash)) {
                event["body"]["tools"] = tools.clone();
            }
            ModelEvent(event)
        })
        .collect())
}

fn taps(folder: &Path) -> Result<Vec<Tap>, ReadError> {
    let mut taps = Vec::new();
    for path in files(&folder.join("mcp"))? {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let records = text(&path)?
            .lines()
            .map(|line| {
                serde_json::from_str(line).map_err(|source| ReadError::Damaged {
                    path: path.clone(),
                    source,
                })
            })
            .collect::<Result<Vec<Record>, _>>()?;
        taps.push(tap(format!("mcp/{name}"), records));
    }
    taps.sort_by_key(|tap| tap.started_us);
    Ok(taps)
}

/// One tap journal.
fn tap(file: String, records: Vec<Record>) -> Tap {
    let mut tap = Tap {
        file,
        words: Vec::new(),
        env: BTreeMap::new(),
        env_names: Vec::new(),
        started_us: 0,
        frames: Vec::new(),
        noise: Vec::new(),
        masked: false,
        exit: None,
    };
    for record in records {
        match record {
            Record::Start(start) => {
                tap.started_us = start.t_us.0;
                tap.words = start.argv.into_iter().skip(1).collect();
                tap.env_names = start.env_names;
                tap.env = start.env;
            }
            Record::Frame(frame) => {
                tap.masked |= frame.masked;
                let direction = match frame.dir {
                    record::Direction::C2s => Direction::ToServer,
                    record::Direction::S2c => Direction::ToClient,
                    record::Direction::Err => continue,
                };
                match serde_json::from_str(&frame.text) {
                    Ok(message) => tap.frames.push(Frame {
                        t_us: frame.t_us.0,
                        direction,
                        message,
                    }),
                    Err(_) => tap.noise.push(frame.text),
                }
            }
            Record::Exit(exit) => tap.exit = Some(exit.status),
            Record::Eof(_) => {}
        }
    }
    tap
}
