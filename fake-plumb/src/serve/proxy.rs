//! The proxy itself: one owner of all state, fed by one channel.
//!
//! Run by [`super::run`]. A line that needs no change is passed on byte for byte. When the daemon goes away it
//! redials, replays the handshake and reports what was in flight; it never sends a call twice.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::credential::{Conversation, Keeper};
use super::streams::{self, Event};
use super::{Options, Reconnect, ServeError, spawn};
use crate::assumed;
use crate::dirs::Dirs;
use crate::fault::Fault;
use crate::mcp::frame::{self, SERVER_ERROR};
use crate::mcp::key;
use crate::resume::random;
use crate::setting::Setting;

/// The id of the replayed initialize; its answer is not for the client.
const REPLAY_ID: &str = "plumb-replay";

/// How long the fault slow-initialize holds the answer back.
const SLOW: Duration = Duration::from_secs(3);

/// A request that the daemon has and has not answered.
#[derive(Debug)]
enum Pending {
    Initialize,
    Declaration { conversation: Option<Conversation> },
    Tool,
    Other,
}

#[derive(Debug)]
struct Proxy<'a> {
    setting: &'a Setting,
    dirs: &'a Dirs,
    options: Options,
    events: Sender<Event>,
    link: u64,
    daemon: UnixStream,
    id: String,
    /// The client's initialize parameters, as they went to the daemon.
    handshake: Option<Map<String, Value>>,
    /// Keyed by the JSON text of the request's id.
    in_flight: BTreeMap<String, (Value, Pending)>,
    keeper: Keeper,
    session: Option<Value>,
    pinned: Option<Value>,
    owes_note: bool,
}

/// Passes lines on until the client ends.
pub(super) fn run(
    setting: &Setting,
    dirs: &Dirs,
    options: Options,
    stream: UnixStream,
) -> Result<(), ServeError> {
    let (events, happened) = channel();
    streams::watch_signals(events.clone())?;
    streams::read_daemon(0, BufReader::new(stream.try_clone()?), events.clone());
    streams::read_client(events.clone());
    let keeper = Keeper::new(dirs, options.token.as_ref());
    let mut proxy = Proxy {
        setting,
        dirs,
        options,
        events,
        link: 0,
        daemon: stream,
        id: uuid(),
        handshake: None,
        in_flight: BTreeMap::new(),
        keeper,
        session: None,
        pinned: None,
        owes_note: false,
    };
    for event in happened {
        match event {
            Event::Client(line) => proxy.on_client(&line),
            Event::ClientTooLong => {
                write_client(&frame::parse_error("the line is longer than 4 MiB"))?;
            }
            Event::Daemon { link, line } if link == proxy.link => proxy.on_daemon(line)?,
            Event::DaemonEnd { link } if link == proxy.link => proxy.on_daemon_end()?,
            Event::Daemon { .. } | Event::DaemonEnd { .. } => {}
            Event::ClientEnd | Event::Terminate => return Ok(()),
        }
    }
    Ok(())
}

impl Proxy<'_> {
    fn on_client(&mut self, line: &[u8]) {
        let Ok(Value::Object(mut object)) = serde_json::from_slice(line) else {
            return self.write_daemon(line);
        };
        let method = object
            .get("method")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let id = object.get("id").filter(|id| !id.is_null()).cloned();
        let (Some(id), false) = (id, method.is_empty()) else {
            return self.write_daemon(line);
        };
        let params = object.get_mut("params").and_then(Value::as_object_mut);
        let (pending, has_changed) = match (method.as_str(), params) {
            ("initialize", _) => {
                let params = object.entry("params").or_insert_with(|| json!({}));
                if let Value::Object(params) = params {
                    self.introduce(params);
                    self.handshake = Some(params.clone());
                }
                (Pending::Initialize, true)
            }
            ("tools/call", Some(params)) => {
                let is_declaration = params
                    .get("name")
                    .is_some_and(|name| name == "session_start");
                let proves = self.setting.generation.has_resume();
                let conversation = if proves {
                    self.keeper.prepare(params)
                } else {
                    None
                };
                let pending = if is_declaration {
                    Pending::Declaration { conversation }
                } else {
                    Pending::Tool
                };
                (pending, proves)
            }
            _ => (Pending::Other, false),
        };
        self.in_flight.insert(id.to_string(), (id, pending));
        if has_changed {
            self.write_daemon(Value::Object(object).to_string().as_bytes());
        } else {
            self.write_daemon(line);
        }
    }

    /// Says who this serve is, where it stands and which namespace it joins.
    fn introduce(&self, params: &mut Map<String, Value>) {
        let generation = self.setting.generation;
        let meta = frame::meta_of(params);
        meta.insert(key::PROXY.to_owned(), json!(self.id));
        let here = if generation.hints_working_directory() {
            std::env::current_dir().ok()
        } else {
            None
        };
        if let Some(workspace) = self.options.workspace.clone().or(here) {
            meta.insert(key::WORKSPACE.to_owned(), json!(workspace));
        }
        meta.insert(key::ALLOW_DIRS.to_owned(), json!(self.options.allow_dirs));
        if generation.has_resume() {
            meta.insert(key::PROXY_VERSION.to_owned(), json!(generation.version()));
            meta.insert(key::CONSUMER.to_owned(), json!(1));
        }
        if let Some(token) = &self.options.token {
            meta.insert(assumed::NAMESPACE_META.to_owned(), json!(token.reveal()));
        }
    }

    /// A write that fails means the daemon is gone; its reader reports that, and the call counts as in flight.
    fn write_daemon(&self, line: &[u8]) {
        let mut whole = Vec::with_capacity(line.len() + 1);
        whole.extend_from_slice(line);
        whole.push(b'\n');
        drop((&self.daemon).write_all(&whole));
    }

    fn on_daemon(&mut self, line: Vec<u8>) -> Result<(), ServeError> {
        let answered = serde_json::from_slice::<Value>(&line)
            .ok()
            .and_then(|answer| {
                let pending = answer
                    .get("method")
                    .is_none()
                    .then(|| self.in_flight.remove(&answer["id"].to_string()));
                Some((answer, pending.flatten()?.1))
            });
        let Some((mut answer, pending)) = answered else {
            return Ok(write_client_bytes(line)?);
        };
        match &pending {
            Pending::Initialize => {
                if self.setting.faults.has(Fault::SlowInitialize) {
                    std::thread::sleep(SLOW);
                }
                self.keep(&mut answer, None)?;
            }
            Pending::Declaration { conversation } => {
                self.keep(&mut answer, conversation.as_ref())?;
                self.add_note(&mut answer);
            }
            Pending::Tool if self.setting.faults.has(Fault::DeathMidCall) => {
                return Err(ServeError::DeathMidCall);
            }
            Pending::Tool if self.owes_note => self.add_note(&mut answer),
            Pending::Tool | Pending::Other => return Ok(write_client_bytes(line)?),
        }
        Ok(write_client(&answer.to_string())?)
    }

    /// Remembers what a replay will need and takes out what the client must not see.
    fn keep(&mut self, answer: &mut Value, conversation: Option<&Conversation>) -> io::Result<()> {
        let Some(result) = answer.get_mut("result") else {
            return Ok(());
        };
        self.keeper.settle(result, conversation)?;
        let meta = &result["_meta"];
        let session = meta
            .get(key::SESSION)
            .or_else(|| meta.get(key::IDENTITY)?.get("session_id"));
        self.session = session.cloned().or(self.session.take());
        self.pinned = meta.get(key::RESOLVED).cloned().or(self.pinned.take());
        Ok(())
    }

    fn add_note(&mut self, answer: &mut Value) {
        let Some(Value::String(text)) = answer
            .pointer_mut("/result/content/0/text")
            .filter(|_| self.owes_note)
        else {
            return;
        };
        let now = self.setting.generation.version();
        *text = format!("{text}\n# plumb-note: plumb daemon reconnected (now {now})\n");
        self.owes_note = false;
    }

    fn on_daemon_end(&mut self) -> Result<(), ServeError> {
        for (id, _) in std::mem::take(&mut self.in_flight).into_values() {
            let message = "plumb daemon restarted mid-request; the call may have taken effect, look before you repeat it";
            write_client(&frame::error(&id, SERVER_ERROR, message))?;
        }
        if self.options.reconnect == Reconnect::No {
            return Err(ServeError::DaemonGone);
        }
        let deadline = Instant::now() + spawn::LIMIT;
        let lines = loop {
            self.daemon = spawn::connect(self.setting, self.dirs)?;
            let lines = BufReader::new(self.daemon.try_clone()?);
            match self.replay(lines)? {
                Some(lines) => break lines,
                None if Instant::now() > deadline => return Err(ServeError::DaemonGone),
                // A daemon that is being killed may still accept for a moment.
                None => {}
            }
        };
        self.link += 1;
        streams::read_daemon(self.link, lines, self.events.clone());
        Ok(())
    }

    /// Sends the handshake again, with the session and the pin that this serve had; nothing if the daemon has
    /// gone away again.
    fn replay(
        &mut self,
        mut lines: BufReader<UnixStream>,
    ) -> Result<Option<BufReader<UnixStream>>, ServeError> {
        let Some(mut params) = self.handshake.clone() else {
            return Ok(Some(lines));
        };
        let meta = frame::meta_of(&mut params);
        for (name, value) in [(key::SESSION, &self.session), (key::PINNED, &self.pinned)] {
            if let Some(value) = value {
                meta.insert(name.to_owned(), value.clone());
            }
        }
        let request =
            json!({ "jsonrpc": "2.0", "id": REPLAY_ID, "method": "initialize", "params": params });
        self.write_daemon(request.to_string().as_bytes());
        let Some(line) = streams::read_line(&mut lines).ok().flatten() else {
            return Ok(None);
        };
        let mut answer: Value = serde_json::from_slice(&line).unwrap_or_default();
        if answer.get("result").is_none() {
            let why = answer["error"]["message"]
                .as_str()
                .unwrap_or("without a reason");
            return Err(ServeError::ReplayRefused {
                why: why.to_owned(),
            });
        }
        self.keep(&mut answer, None)?;
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.write_daemon(initialized.to_string().as_bytes());
        self.owes_note = true;
        let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
        write_client(&changed.to_string())?;
        Ok(Some(lines))
    }
}

fn write_client(line: &str) -> io::Result<()> {
    write_client_bytes(line.as_bytes().to_vec())
}

fn write_client_bytes(mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}

/// A random version 4 UUID.
fn uuid() -> String {
    let mut bytes = random::<16>();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let number = u128::from_be_bytes(bytes);
    let hex = format!("{number:032x}");
    [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ]
    .join("-")
}
