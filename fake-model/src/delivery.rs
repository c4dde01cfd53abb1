//! One reply on its way out: counted, journaled once, and noticed when it is cut short.
//! Held by the server while a reply waits for its gates, then by its stream. Dropping it unfinished is how a client's leaving shows:
//! hyper drops the handler, or the body, of a connection that is gone.

use tokio::sync::mpsc;

use crate::desk::Place;
use crate::event::{Replied, Side, What};
use crate::journal::Journal;
use crate::room::Command;

/// A reply that is owed to a request.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) n: u64,
    pub(crate) place: Option<Place>,
    pub(crate) journal: Journal,
    pub(crate) desk: mpsc::UnboundedSender<Command>,
    pub(crate) frames: usize,
    pub(crate) bytes: usize,
    pub(crate) stage: Stage,
}

/// How far a delivery is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Something is still to be sent.
    Owed,
    /// Everything is sent, but the reply is scripted never to end.
    Hanging,
    /// Nothing is owed any more.
    Over,
}

/// How a reply ended, for the journal.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    pub(crate) status: Option<u16>,
    pub(crate) finish: Option<String>,
    pub(crate) fault: Option<&'static str>,
}

impl Delivery {
    /// Writes an event about this request.
    pub(crate) fn write(&self, what: What) {
        self.journal.write(Some(self.n), what);
    }

    /// One more frame is handed to the connection.
    pub(crate) fn count(&mut self, bytes: usize) {
        self.frames += 1;
        self.bytes += bytes;
    }

    /// All that will be sent is sent.
    pub(crate) fn replied(&mut self, ending: Ending, stage: Stage) {
        self.stage = stage;
        if let Some(place) = &self.place {
            // Before the last frame is written, so the desk hears of it before any request that repeats the turn.
            // The desk may be gone: then no history will be compared any more.
            drop(self.desk.send(Command::Delivered(place.clone())));
        }
        self.write(What::Replied(Box::new(Replied {
            session: self.place.as_ref().map(|place| place.session.clone()),
            step: self.place.as_ref().map(|place| place.step),
            status: ending.status,
            frames: self.frames,
            bytes: self.bytes,
            finish: ending.finish,
            fault: ending.fault,
        })));
    }

    /// The server itself ends the reply.
    pub(crate) fn end_by_server(&mut self) {
        if self.stage != Stage::Over {
            self.stage = Stage::Over;
            self.write(What::Disconnected {
                frames: self.frames,
                by: Side::Server,
            });
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if self.stage != Stage::Over {
            self.write(What::Disconnected {
                frames: self.frames,
                by: Side::Client,
            });
        }
    }
}
