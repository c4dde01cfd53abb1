//! One tenant's script and how far it has come: which reply a request gets, and what is wrong with the request.
//! Owned by the tenant's task (`room`), which hands it one request at a time. It does no IO and waits for nothing;
//! a request that the script does not know changes nothing here but a count.

mod progress;
mod received;
mod refusal;

use axum::http::{HeaderMap, Method};

use crate::chat::{Chat, tool_names};
use crate::echo::{self, Arrival, Sent};
use crate::event::{Breach, Kind, Law, What};
use crate::history;
use crate::journal::Journal;
use crate::recognise::{nearest, recognise};
use crate::reply::{self, Asked, Plan, Unsayable};
use crate::report::{Report, StepRef};
use crate::script::{Fault, Reply, Script, Step, Turn};
use progress::{Digest, Progress};
pub(crate) use received::Received;
use refusal::{Miss, Why, exhausted, unmatched};

/// The one path, below the tenant's base URL, that a model is asked on.
const COMPLETIONS: &str = "/chat/completions";

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
    /// The session's place in the script.
    index: usize,
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
            Err(miss) => {
                self.write_request(n, received, Kind::Refused, miss.place.as_ref());
                self.counts.refused += 1;
                let (code, message) = miss.message();
                self.journal.write(Some(n), miss.event());
                Answer::Refused(Refused { n, code, message })
            }
        }
    }

    /// A reply was handed to the connection, all of it: the client's history must hold it from now on.
    pub(crate) fn delivered(&mut self, place: &Place) {
        if let Some(progress) = self.progress.get_mut(place.index) {
            progress.delivered(place.step);
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
            return Err(unmatched(format!(
                "method {} (POST is right), path `{}` (the base URL and `{COMPLETIONS}` is right)",
                received.method, received.target
            )));
        }
        let chat = Chat::parse(&received.body)
            .map_err(|error| unmatched(format!("the body is no chat request: {error}")))?;
        let Some(tools) = chat.tools else {
            return self.title(&chat, received, n);
        };
        let found = recognise(&chat.messages, &self.script.sessions)
            .ok_or_else(|| unmatched(nearest(&chat.messages, &self.script.sessions)))?;
        let session = &self.script.sessions[found.session];
        let progress = &mut self.progress[found.session];

        let digest = Digest::of(&received.body);
        let (index, kind) = progress.due(digest, &session.steps);
        let Some(step) = session.steps.get(index) else {
            return Err(unmatched(exhausted(session, received.body.len())));
        };
        let place = Place {
            index: found.session,
            session: session.name.clone(),
            step: index,
        };
        let miss = |why| Miss {
            place: Some(place.clone()),
            why,
        };
        let names = match progress.tools(tools.get()) {
            Some(names) => names.to_vec(),
            None => tool_names(tools).map_err(|error| {
                miss(Why::Unmatched(format!(
                    "`tools` is no list of tools: {error}"
                )))
            })?,
        };
        let asked = Asked {
            chat: &chat,
            tools: &names,
            id: format!("chatcmpl-{}-{index}", session.name),
            created: self.journal.clock().created(),
            length: received.body.len(),
            cached: progress.length_before(index),
        };
        let (plan, sent) = render(step, index, &asked).map_err(|why| miss(Why::Unsayable(why)))?;

        let mut breaches = Vec::new();
        if kind == Kind::Main {
            breaches = history::breaches(&chat.messages);
            let own = chat.messages.get(found.message + 1..).unwrap_or_default();
            let difference = echo::difference(own, progress.sent());
            breaches.extend(difference.map(|detail| Breach {
                law: Law::FalseHistory,
                detail,
            }));
            breaches.extend(envelope(&chat, &received.headers));
            breaches.extend(progress.tools_breach(tools.get(), &names));
        }
        progress.commit(index, digest, received.body.len());
        progress.keep_tools(tools.get(), names);
        if let Some(sent) = sent {
            progress.keep_sent(sent);
        }
        Ok(Considered {
            kind,
            place: Some(place),
            gates: step.gates.clone(),
            plan,
            breaches,
        })
    }

    fn title(&self, chat: &Chat<'_>, received: &Received, n: u64) -> Result<Considered, Miss> {
        let title = self.script.title.clone().ok_or_else(|| {
            unmatched(
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
            why: Why::Unsayable(why),
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

/// The plan of a step, and the turn that the history must repeat.
fn render(step: &Step, index: usize, asked: &Asked<'_>) -> Result<(Plan, Option<Sent>), Unsayable> {
    match &step.reply {
        Reply::Fail(fail, _) => Ok((reply::fail(fail), None)),
        Reply::Turn(turn, fault) => {
            let said = reply::say(turn, asked)?;
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
                    Arrival::UnderWay
                } else {
                    Arrival::Broken
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
        let detail = format!(
            "`stream` is {:?}; it is answered as a stream all the same",
            chat.stream
        );
        breaches.push(Breach {
            law: Law::NotStreaming,
            detail,
        });
    }
    if !headers.contains_key("authorization") {
        let detail = "there is no `authorization` header".to_owned();
        breaches.push(Breach {
            law: Law::NoAuthorization,
            detail,
        });
    }
    breaches
}
