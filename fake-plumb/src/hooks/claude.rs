//! `hooks run-claude`: stamps and proves plumb calls, greets, and reports mail at a stop.
//!
//! Called by whatever agent runs the hook. From 0.24 on it answers `PreToolUse`; the measured build says nothing.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::daemon::control;
use crate::dirs::Dirs;
use crate::fault::Fault;
use crate::logo;
use crate::mail::{Mailroom, Reader};
use crate::mcp::key;
use crate::record::file::Store;
use crate::resume::{ProofKey, key_path};
use crate::setting::Setting;
use crate::time;

/// The largest event (facts, section 6).
const LONGEST: u64 = 64 * 1024;
/// How long the daemon may take to name its keys (facts, section 6).
const LIMIT: Duration = Duration::from_millis(300);
/// How long its answer is kept (facts, section 6: about a minute).
const KEPT: Duration = Duration::from_mins(1);
/// How long the fault slow-proof takes at the most: far beyond the longest bound that a caller sets.
const SLOW_MS: u16 = 60_000;
const PREFIX: &str = "mcp__plumb__";

/// The keys that the daemon takes, as they were last told.
#[derive(Debug, Serialize, Deserialize)]
struct Channel {
    socket: PathBuf,
    at: String,
    keys: Vec<String>,
}

pub(super) fn run(setting: &Setting) -> io::Result<ExitCode> {
    let mut text = String::new();
    let is_read = io::stdin()
        .lock()
        .take(LONGEST)
        .read_to_string(&mut text)
        .is_ok();
    let Some(Value::Object(event)) = is_read.then(|| serde_json::from_str(&text).ok()).flatten()
    else {
        return Ok(ExitCode::SUCCESS);
    };
    let text = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default();
    match text("hook_event_name") {
        "SessionStart" if !text("session_id").is_empty() => {
            let id = text("session_id");
            logo::plain(&format!(
                "Call plumb's session_start with session_id \"{id}\" before any other plumb tool.\n"
            ))?;
        }
        "PreToolUse" => {
            if setting.faults.has(Fault::SlowProof) {
                wait_until_nobody_listens();
            }
            if setting.faults.has(Fault::OddProof) {
                logo::plain("a proof, of a sort\n")?;
            } else if let Some(answer) = pre_tool_use(setting, &event) {
                logo::plain(&format!("{answer}\n"))?;
            }
        }
        "Stop" => return stop(setting, text("session_id"), Path::new(text("cwd"))),
        _ => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Stands still until whoever waits for the answer has gone.
fn wait_until_nobody_listens() {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd as _;
    let out = io::stdout();
    // A pipe without a reader is an error condition, which is told unasked.
    let mut answers = [PollFd::new(out.as_fd(), PollFlags::empty())];
    poll(&mut answers, PollTimeout::from(SLOW_MS)).ok();
}

fn pre_tool_use(setting: &Setting, event: &Map<String, Value>) -> Option<Value> {
    let text = |name: &str| {
        event
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    let session = text("session_id")?;
    let tool = text("tool_name")?.strip_prefix(PREFIX)?;
    let input = event.get("tool_input")?.as_object()?;
    if setting.var("PLUMB_IDENTITY_HOOK") == Some("off") || !setting.generation.has_resume() {
        return None;
    }
    let dirs = Dirs::resolve(setting).ok()?;
    let keys = keys(setting, &dirs)?;
    let stamp =
        text("agent_id").map_or_else(|| session.to_owned(), |agent| format!("{session}/{agent}"));
    let has = |name: &str| keys.iter().any(|key| key == name);
    let stamp_key = if has(key::ARGUMENT_STAMP) {
        key::ARGUMENT_STAMP
    } else {
        key::AGENT
    };
    let mut updated = input.clone();
    if has(key::PROOF) {
        let proof = ProofKey::read_or_create(&key_path(&dirs.state))
            .ok()?
            .prove(&stamp);
        updated.insert(key::PROOF.to_owned(), json!(proof));
    }
    if tool == "session_start" {
        updated.insert("session_id".to_owned(), json!(stamp));
    }
    updated.insert(stamp_key.to_owned(), json!(stamp));
    if setting.faults.has(Fault::MeddlingProof) {
        updated.insert("purpose".to_owned(), json!("meddled"));
        updated.insert("mail".to_owned(), json!("claim"));
    }
    updated.sort_keys();
    Some(
        json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "updatedInput": updated } }),
    )
}

/// Asks the daemon which identity keys it takes, or remembers what it said.
fn keys(setting: &Setting, dirs: &Dirs) -> Option<Vec<String>> {
    let cache = wake_dir(setting, dirs).join("daemon-identity-channel.json");
    let kept = fs::read(&cache)
        .ok()
        .and_then(|text| serde_json::from_slice::<Channel>(&text).ok());
    let is_fresh = |kept: &Channel| {
        kept.socket == dirs.control() && kept.at.parse().is_ok_and(|at| time::since(at) < KEPT)
    };
    if let Some(kept) = kept.filter(is_fresh) {
        return Some(kept.keys);
    }
    let answer = control::ask(&dirs.control(), "identity-keys", LIMIT).ok()?;
    let keys: Vec<_> = answer
        .split(' ')
        .filter(|key| !key.starts_with("version="))
        .map(str::to_owned)
        .collect();
    let channel = Channel {
        socket: dirs.control(),
        at: jiff::Timestamp::now().to_string(),
        keys,
    };
    // Without a cache the next hook asks again, which is slower and nothing else.
    if let Some(text) = cache
        .parent()
        .and_then(|folder| fs::create_dir_all(folder).ok())
        .and(serde_json::to_vec(&channel).ok())
    {
        drop(fs::write(&cache, text));
    }
    Some(channel.keys)
}

/// Where the hook keeps its cache. plumb's default is in the account's home, which a stand-in leaves alone.
fn wake_dir(setting: &Setting, dirs: &Dirs) -> PathBuf {
    setting
        .var("PLUMB_WAKE_DIR")
        .map_or_else(|| dirs.state.join("wake"), PathBuf::from)
}

/// Exit 2 and one line on stderr if mail waits: a count and an age, no text of it.
fn stop(setting: &Setting, session: &str, folder: &Path) -> io::Result<ExitCode> {
    if !folder.join(".plumb").is_dir() || session.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let Ok(dirs) = Dirs::resolve(setting) else {
        return Ok(ExitCode::SUCCESS);
    };
    let records = Store::open(&dirs, &setting.faults)?.read_all()?;
    let own = records
        .into_iter()
        .rfind(|record| record.is_live() && record.external_id.as_deref() == Some(session));
    let Some(record) = own else {
        return Ok(ExitCode::SUCCESS);
    };
    let room = Mailroom::new(setting.clock, &setting.faults);
    let reader = Reader {
        id: record.id,
        name: record.name,
        namespace: record.namespace,
    };
    let ages = room
        .waiting(Path::new(&record.folder), &reader)
        .unwrap_or_default();
    let Some(oldest) = ages.first() else {
        return Ok(ExitCode::SUCCESS);
    };
    logo::say(&format!(
        "plumb: {} message(s) waiting, the oldest for {oldest}s; call check_messages\n",
        ages.len()
    ))?;
    Ok(ExitCode::from(2))
}
