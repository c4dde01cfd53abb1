//! One tenant's script and how far it has come: which reply a request gets, and what is wrong with the request.
//! Owned by the tenant's task (`room`), which hands it one request at a time. It does no IO and waits for nothing;
//! a request that the script does not know changes nothing here but a count.

mod progress;

use axum::http::{HeaderMap, Method};
use bytes::Bytes;

use crate::chat::{Chat, tool_names};
use crate::echo::{self, Arrival, Sent};
use crate::event::{Breach, Kind, Law, RequestSeen, What};
use crate::history;
use crate::journal::Journal;
use crate::recognise::{nearest, quote, recognise};
use crate::reply::{self, Asked, Plan, Unsayable};
use crate::report::{Report, StepRef};
use crate::script::{Fault, Reply, Script, Step, Turn};
use progress::{Digest, Progress};

/// The one path, below the tenant's base URL, that a model is asked on.
const COMPLETIONS: &str = "/chat/completions";

/// A request, whole.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) method: Method,
    /// Path and query as they were sent.
    pub(crate) target: String,
    /// The path below the tenant's base URL.
    pub(crate) below: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// What is to be done with a request.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Refuse it.
    Refused(Refused),
    /// Carry out the plan once the gates are open.
    Planned(Planned),
}

/// A refusal, ready for the client.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) n: u64,
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

/// A reply that is due.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) n: u64,
    /// Session and step; absent for a title.
    pub(crate) place: Option<Place>,
    pub(crate) gates: Vec<String>,
    pub(crate) plan: Plan,
}

/// Where in the script a reply stands.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) session: String,
    pub(crate) step: usize,
}

/// The state of one tenant.
#[derive(Debug)]
pub(crate) struct Desk {
    script: Script,
    progress: Vec<Progress>,
    journal: Journal,
    counts: Report,
}

/// A request that found its place, and what it is to get.
struct Considered {
    kind: Kind,
    place: Option<Place>,
    gates: Vec<String>,
    plan: Plan,
    breaches: Vec<Breach>,
}

/// A request that cannot be answered.
struct Miss {
    place: Option<Place>,
    why: What,
}

impl Desk {
    pub(crate) fn new(script: Script, journal: Journal) -> Self {
        let progress = script
            .sessions
            .iter()
            .map(|_| Progress::default())
            .collect();
        Self {
            script,
            progress,
            journal,
            counts: Report::default(),
        }
    }

    /// Places a request in the script, writes down what was seen, and says what to do.
    pub(crate) fn answer(&mut self, received: &Received) -> Answer {
        let n = self.counts.requests;
        self.counts.requests += 1;
        match self.consider(received, n) {
            Ok(Considered {
                kind,
                place,
                gates,
                plan,
                breaches,
            }) => {
                self.write_request(n, received, kind, place.as_ref());
                self.counts.retries += u64::from(kind == Kind::Retry);
                self.counts.titles += u64::from(kind == Kind::Title);
                for breach in breaches {
                    self.counts.violations += 1;
                    self.journal.write(Some(n), What::Violation(breach));
                }
                Answer::Planned(Planned {
                    n,
                    place,
                    gates,
                    plan,
                })
            }
            Err(Miss { place, why }) => {
                self.write_request(n, received, Kind::Refused, place.as_ref());
                self.counts.refused += 1;
                let (code, message) = refusal(&why, place.as_ref());
                self.journal.write(Some(n), why);
                Answer::Refused(Refused { n, code, message })
            }
        }
    }

    /// The client left before a reply was complete, so its history need not hold it.
    pub(crate) fn interrupted(&mut self, place: &Place) {
        let session = self
            .script
            .sessions
            .iter()
            .position(|session| session.name == place.session);
        if let Some(progress) = session.and_then(|index| self.progress.get_mut(index)) {
            progress.interrupted(place.step);
        }
    }

    /// How the tenant stands.
    pub(crate) fn report(&self) -> Report {
        let left =
            self.script
                .sessions
                .iter()
                .zip(&self.progress)
                .flat_map(|(session, progress)| {
                    (progress.served()..session.steps.len()).map(|step| StepRef {
                        session: session.name.clone(),
                        step,
                    })
                });
        Report {
            unused: left.collect(),
            ..self.counts.clone()
        }
    }

    fn consider(&mut self, received: &Received, n: u64) -> Result<Considered, Miss> {
        if received.method != Method::POST || received.below != COMPLETIONS {
            return Err(unmatched(
                None,
                format!(
                    "method {} (POST is right), path `{}` (the base URL and `{COMPLETIONS}` is right)",
                    received.method, received.target
                ),
            ));
        }
        let chat = Chat::parse(&received.body)
            .map_err(|error| unmatched(None, format!("the body is no chat request: {error}")))?;
        let Some(tools) = chat.tools else {
            return self.title(&chat, received, n);
        };
        let found = recognise(&chat.messages, &self.script.sessions)
            .ok_or_else(|| unmatched(None, nearest(&chat.messages, &self.script.sessions)))?;
        let session = &self.script.sessions[found.session];
        let progress = &mut self.progress[found.session];
        let place_at = |step: usize| {
            Some(Place {
                session: session.name.clone(),
                step,
            })
        };

        let digest = Digest::of(&received.body);
        let (step_index, kind) = progress.due(digest, &session.steps);
        let Some(step) = session.steps.get(step_index) else {
            return Err(unmatched(
                None,
                exhausted(&session.name, &session.steps, &received.body),
            ));
        };
        let tools_digest = Digest::of(tools.get().as_bytes());
        let names = match progress.tools(tools_digest) {
            Some(names) => names.to_vec(),
            None => tool_names(tools).map_err(|error| {
                unmatched(
                    place_at(step_index),
                    format!("`tools` is no list of tools: {error}"),
                )
            })?,
        };
        let asked = Asked {
            chat: &chat,
            tools: &names,
            id: format!("chatcmpl-{}-{step_index}", session.name),
            created: self.journal.clock().created(),
            length: received.body.len(),
            cached: progress.length_before(step_index),
        };
        let (plan, sent) = render(step, step_index, &asked).map_err(|why| Miss {
            place: place_at(step_index),
            why,
        })?;

        let mut breaches = Vec::new();
        if kind == Kind::Main {
            breaches = history::breaches(&chat.messages);
            let own = chat.messages.get(found.message + 1..).unwrap_or_default();
            breaches.extend(echo::difference(own, progress.sent()).map(|detail| Breach {
                law: Law::FalseHistory,
                detail,
            }));
            breaches.extend(envelope(&chat, &received.headers));
            breaches.extend(progress.tools_breach(tools_digest, &names));
        }
        progress.commit(step_index, digest, received.body.len());
        progress.keep_tools(tools_digest, names);
        if let Some(sent) = sent {
            progress.keep_sent(sent);
        }
        Ok(Considered {
            kind,
            place: place_at(step_index),
            gates: step.gates.clone(),
            plan,
            breaches,
        })
    }

    fn title(&self, chat: &Chat<'_>, received: &Received, n: u64) -> Result<Considered, Miss> {
        let title = self.script.title.clone().ok_or_else(|| {
            unmatched(
                None,
                "a request without `tools` asks for a title, and the script's `title` is null"
                    .to_owned(),
            )
        })?;
        let turn = Turn {
            reasoning: None,
            text: Some(title),
            calls: Vec::new(),
        };
        let asked = Asked {
            chat,
            tools: &[],
            id: format!("chatcmpl-title-{n}"),
            created: self.journal.clock().created(),
            length: received.body.len(),
            cached: 0,
        };
        let said = reply::say(&turn, &asked).map_err(|why| Miss {
            place: None,
            why: unsayable(why),
        })?;
        let plan = reply::stream(&said, None, &asked);
        Ok(Considered {
            kind: Kind::Title,
            place: None,
            gates: Vec::new(),
            plan,
            breaches: Vec::new(),
        })
    }

    fn write_request(&self, n: u64, received: &Received, kind: Kind, place: Option<&Place>) {
        let session = place.map(|place| place.session.clone());
        let step = place.map(|place| place.step);
        self.journal
            .write(Some(n), What::Request(received.seen(kind, session, step)));
    }
}

impl Received {
    /// What the journal keeps of it.
    pub(crate) fn seen(
        &self,
        kind: Kind,
        session: Option<String>,
        step: Option<usize>,
    ) -> Box<RequestSeen> {
        Box::new(RequestSeen {
            kind,
            session,
            step,
            method: self.method.to_string(),
            path: self.target.clone(),
            headers: self
                .headers
                .iter()
                .map(|(name, value)| (name.to_string(), shown(name.as_str(), value.as_bytes())))
                .collect(),
            body: String::from_utf8_lossy(&self.body).into_owned(),
            body_bytes: self.body.len(),
        })
    }
}

/// The plan of a step, and the turn that the history must repeat.
fn render(step: &Step, index: usize, asked: &Asked<'_>) -> Result<(Plan, Option<Sent>), What> {
    match &step.reply {
        Reply::Fail(fail, _) => Ok((reply::fail(fail), None)),
        Reply::Turn(turn, fault) => {
            let said = reply::say(turn, asked).map_err(unsayable)?;
            let plan = reply::stream(&said, fault.as_ref(), asked);
            let is_whole = fault.as_ref().is_none_or(Fault::is_harmless);
            let sent = Sent {
                step: index,
                text: said.text,
                calls: said
                    .calls
                    .into_iter()
                    .map(|call| (call.id, call.name))
                    .collect(),
                arrival: if is_whole {
                    Arrival::Whole
                } else {
                    Arrival::Uncertain
                },
            };
            Ok((plan, Some(sent)))
        }
    }
}

/// What must be true of a main request beside its messages and tools.
fn envelope(chat: &Chat<'_>, headers: &HeaderMap) -> Vec<Breach> {
    let mut breaches = Vec::new();
    if chat.stream != Some(true) {
        breaches.push(Breach {
            law: Law::NotStreaming,
            detail: format!(
                "`stream` is {:?}; only true is answered as asked",
                chat.stream
            ),
        });
    }
    if !headers.contains_key("authorization") {
        breaches.push(Breach {
            law: Law::NoAuthorization,
            detail: "there is no `authorization` header".to_owned(),
        });
    }
    breaches
}

fn unmatched(place: Option<Place>, reason: String) -> Miss {
    Miss {
        place,
        why: What::Unmatched { reason },
    }
}

fn exhausted(session: &str, steps: &[Step], body: &Bytes) -> String {
    let last = match steps.last() {
        None => "it has no reply".to_owned(),
        Some(step) => format!(
            "its {} replies are all used; nearest is step {}, {}",
            steps.len(),
            steps.len() - 1,
            match &step.reply {
                Reply::Turn(turn, _) if turn.calls.is_empty() =>
                    format!("say {}", quote(turn.text.as_deref().unwrap_or_default())),
                Reply::Turn(turn, _) => format!("{} calls", turn.calls.len()),
                Reply::Fail(fail, _) => format!("fail {}", fail.name()),
            }
        ),
    };
    format!(
        "session `{session}` is recognised, but {last}; this body of {} bytes repeats no earlier one",
        body.len()
    )
}

fn unsayable(why: Unsayable) -> What {
    match why {
        Unsayable::ToolDrift(drift) => What::ToolDrift {
            wanted: drift.wanted,
            near: drift.near,
        },
        Unsayable::CaptureMiss(missed) => What::CaptureMiss {
            pattern: missed.pattern,
        },
    }
}

/// Code and message of a refusal.
fn refusal(why: &What, place: Option<&Place>) -> (&'static str, String) {
    let place = place.map_or_else(String::new, |place| {
        format!("session `{}` step {}: ", place.session, place.step)
    });
    match why {
        What::ToolDrift { wanted, near } => (
            "tool_drift",
            format!(
                "{place}the script wants the tool `{wanted}` and the request does not offer exactly one; near: {near:?}"
            ),
        ),
        What::CaptureMiss { pattern } => (
            "capture_miss",
            format!(
                "{place}the pattern `{pattern}` matches no user message and no tool result of the request"
            ),
        ),
        What::Unmatched { reason } => ("unmatched", format!("{place}{reason}")),
        other => ("unmatched", format!("{place}{other:?}")),
    }
}

/// A header value for the journal; whatever may hold a key is masked.
fn shown(name: &str, value: &[u8]) -> String {
    if matches!(
        name,
        "authorization" | "proxy-authorization" | "api-key" | "x-api-key" | "cookie"
    ) {
        return "…".to_owned();
    }
    String::from_utf8_lossy(value).into_owned()
}
