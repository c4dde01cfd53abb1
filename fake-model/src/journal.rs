//! The way events take from the server to their one reader, bounded by bytes.
//! Written to by the desk, the gates and the streams. It never blocks and never drops an event:
//! when the reader is too far behind, request bodies are left out, and the event says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc;

use crate::event::{At, BodyText, Clock, Event, What};

/// How many bytes of bodies may wait to be read: over two hundred requests of a long history (250 KB each).
const WAITING_BYTES: usize = 64 << 20;

/// The writing end.
#[derive(Debug, Clone)]
pub(crate) struct Journal {
    tenant: Option<Arc<str>>,
    clock: Clock,
    waiting: Arc<AtomicUsize>,
    written: Arc<AtomicUsize>,
    events: mpsc::UnboundedSender<Event>,
}

/// The reading end: the events of one tenant, or the stray ones of the server, in order.
/// It ends when the tenant is finished and its last reply is over.
#[derive(Debug)]
pub struct Events {
    waiting: Arc<AtomicUsize>,
    events: mpsc::UnboundedReceiver<Event>,
}

/// Opens a journal.
pub(crate) fn journal(tenant: Option<&str>, clock: Clock) -> (Journal, Events) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let journal = Journal {
        tenant: tenant.map(Arc::from),
        clock,
        waiting: Arc::clone(&waiting),
        written: Arc::new(AtomicUsize::new(0)),
        events: sender,
    };
    (
        journal,
        Events {
            waiting,
            events: receiver,
        },
    )
}

impl Journal {
    /// Writes that something happened now, to request `n`.
    pub(crate) fn write(&self, n: Option<u64>, mut what: What) {
        if let What::Request(seen) = &mut what {
            let waiting = self
                .waiting
                .fetch_add(seen.body.as_bytes().len(), Ordering::Relaxed);
            if waiting + seen.body.as_bytes().len() > WAITING_BYTES {
                self.waiting
                    .fetch_sub(seen.body.as_bytes().len(), Ordering::Relaxed);
                seen.body = BodyText::default();
            }
        }
        let t_us = self.clock.now_us();
        let at = At {
            t_us,
            wall_ms: self.clock.wall_ms(t_us),
            tenant: self.tenant.clone(),
            n,
        };
        // Nobody may be reading any more; then nobody misses it.
        drop(self.events.send(Event { at, what }));
        self.written.fetch_add(1, Ordering::Relaxed);
    }

    /// How many events were written so far.
    pub(crate) fn written(&self) -> usize {
        self.written.load(Ordering::Relaxed)
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }
}

impl Events {
    /// The next event; `None` when there will be no more.
    pub async fn recv(&mut self) -> Option<Event> {
        let event = self.events.recv().await?;
        self.settle(&event);
        Some(event)
    }

    /// The next event if there is one already.
    pub fn try_recv(&mut self) -> Option<Event> {
        let event = self.events.try_recv().ok()?;
        self.settle(&event);
        Some(event)
    }

    fn settle(&self, event: &Event) {
        if let What::Request(seen) = &event.what {
            self.waiting
                .fetch_sub(seen.body.as_bytes().len(), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Kind, RequestSeen};

    fn request(bytes: usize) -> What {
        What::Request(Box::new(RequestSeen {
            kind: Kind::Main,
            session: None,
            step: None,
            method: "POST".to_owned(),
            path: "/".to_owned(),
            headers: Vec::new(),
            body: BodyText("x".repeat(bytes).into()),
            body_bytes: bytes,
        }))
    }

    #[test]
    fn bodies_past_the_bound_are_left_out_until_the_reader_catches_up() {
        let (journal, mut events) = journal(None, Clock::start());
        let body = |event: Event| match event.what {
            What::Request(seen) => seen.body.as_bytes().len(),
            other => panic!("{other:?}"),
        };
        journal.write(None, request(WAITING_BYTES));
        journal.write(None, request(1));
        assert_eq!(events.try_recv().map(body), Some(WAITING_BYTES));
        assert_eq!(events.try_recv().map(body), Some(0));
        journal.write(None, request(1));
        assert_eq!(events.try_recv().map(body), Some(1));
        assert!(events.try_recv().is_none());
    }
}
