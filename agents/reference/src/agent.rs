//! An agent: one live session, its inbox, and the one task that runs its turns.
//!
//! Whoever has something to say puts it into the inbox; the task takes it from there. An agent must never run two turns
//! at once, and nothing but its task appends to its conversation.

use std::cell::{Cell, Ref, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use crate::host::Host;
use crate::session::Session;
use crate::session::event::{Event, TurnReason, Writer};
use crate::session::header::Header;
use crate::turn;

/// Something said to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who says it.
    pub writer: Writer,
    /// What.
    pub text: String,
}

/// An agent.
#[derive(Debug)]
pub struct Agent {
    session: RefCell<Session>,
    header: Header,
    activity: watch::Sender<()>,
    inbox: RefCell<VecDeque<Message>>,
    busy: Cell<bool>,
    wake: Notify,
    last_end: RefCell<Option<TurnReason>>,
    task: RefCell<Option<AbortHandle>>,
}

impl Agent {
    /// An agent over a session, idle; its task runs on the current local set.
    pub fn start(host: &Rc<Host>, session: Session) -> Rc<Self> {
        let agent = Rc::new(Self {
            header: session.header().clone(),
            activity: host.activity(),
            session: RefCell::new(session),
            inbox: RefCell::default(),
            busy: Cell::new(false),
            wake: Notify::new(),
            last_end: RefCell::default(),
            task: RefCell::default(),
        });
        let task = tokio::task::spawn_local(run(Rc::clone(host), Rc::clone(&agent)));
        *agent.task.borrow_mut() = Some(task.abort_handle());
        agent
    }

    /// Its session, as it is now.
    pub fn session(&self) -> Ref<'_, Session> {
        self.session.borrow()
    }

    /// Appends an event to its session, and gives the number of it.
    pub fn record(&self, event: Event) -> u64 {
        let seq = self.session.borrow_mut().append(event);
        self.activity.send_replace(());
        seq
    }

    /// The header of its session.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Says something to it. It answers in a turn of its own, or at the next step of the one under way.
    pub fn say(&self, writer: Writer, text: &str) {
        self.inbox.borrow_mut().push_back(Message {
            writer,
            text: text.to_owned(),
        });
        self.busy.set(true);
        self.wake.notify_one();
    }

    /// Everything that was said and not yet heard.
    pub fn heard(&self) -> Vec<Message> {
        self.inbox.borrow_mut().drain(..).collect()
    }

    /// Whether it has nothing to do and nothing to hear.
    pub fn is_idle(&self) -> bool {
        !self.busy.get()
    }

    /// Why its last turn ended.
    pub fn last_end(&self) -> Option<TurnReason> {
        self.last_end.borrow().clone()
    }

    /// The last text that its model said.
    pub fn last_text(&self) -> String {
        turn::last_text(self.session.borrow().events())
    }

    /// Waits until it is idle.
    pub async fn idle(&self, host: &Host) {
        host.until(|| self.is_idle()).await;
    }

    /// Ends its task, in the middle of a turn if there is one.
    pub fn stop(&self) {
        if let Some(task) = self.task.borrow_mut().take() {
            task.abort();
        }
        self.busy.set(false);
    }
}

async fn run(host: Rc<Host>, agent: Rc<Agent>) {
    loop {
        agent.wake.notified().await;
        while !agent.inbox.borrow().is_empty() {
            let end = turn::run(&host, &agent).await;
            *agent.last_end.borrow_mut() = Some(end);
        }
        agent.busy.set(false);
        host.changed();
    }
}
