//! A session: its header, which never changes, and its events, which are only ever appended.
//!
//! The events are the one source: what the model is sent, what is persisted and what an operation reports are all read
//! off them. A session must never be given its parent's id.

pub mod event;
pub mod header;
pub mod id;

use event::Event;
use header::Header;

/// A live session.
#[derive(Debug, Clone)]
pub struct Session {
    header: Header,
    events: Vec<Event>,
}

impl Session {
    /// A session without events.
    pub fn fresh(header: Header) -> Self {
        Self {
            header,
            events: Vec::new(),
        }
    }

    /// A session as it was stored.
    pub fn stored(header: Header, events: Vec<Event>) -> Self {
        Self { header, events }
    }

    /// A session that starts with the completed turns of another one, marked as inherited; without any, a plain one.
    pub fn seeded(header: Header, source: &Session) -> Self {
        let events = source.completed().to_vec();
        let is_seeded = !events.is_empty();
        let mut session = Self {
            header: Header {
                is_seeded,
                ..header
            },
            events,
        };
        if is_seeded {
            session.append(event::end_seed());
        }
        session
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// All events, in order.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The events up to the end of the last completed turn.
    pub fn completed(&self) -> &[Event] {
        let end = self
            .events
            .iter()
            .rposition(|event| event.kind == event::TURN_END);
        &self.events[..end.map_or(0, |at| at + 1)]
    }

    /// Whether it had a turn and is in none: the states that are made durable.
    pub fn is_between_turns(&self) -> bool {
        let last = self
            .events
            .iter()
            .rfind(|event| event.kind == event::TURN_START || event.kind == event::TURN_END);
        last.is_some_and(|event| event.kind == event::TURN_END)
    }

    /// How many turns were started.
    pub fn turns(&self) -> u64 {
        self.events
            .iter()
            .filter_map(|event| event.data.get("turn")?.as_u64())
            .max()
            .unwrap_or(0)
    }

    /// Appends an event; its number and time are set here.
    pub fn append(&mut self, mut event: Event) -> u64 {
        event.seq = self.events.len() as u64;
        event.time = header::now_ms();
        self.events.push(event);
        self.events.len() as u64 - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use id::SessionId;

    fn session() -> Session {
        let header = Header::root(SessionId::from("s-1".to_owned()), Some("/w".to_owned()));
        let mut session = Session::fresh(header);
        session.append(event::turn_start(1));
        session.append(event::turn_end(1, &event::TurnReason::Completed));
        session.append(event::turn_start(2));
        session
    }

    #[test]
    fn a_fork_inherits_completed_turns_and_not_the_one_under_way() {
        let parent = session();
        let header = Header::fork_of(parent.header(), SessionId::from("s-2".to_owned()), None);
        let fork = Session::seeded(header, &parent);
        let kinds: Vec<&str> = fork
            .events()
            .iter()
            .map(|event| event.kind.as_str())
            .collect();
        assert_eq!(kinds, ["turn/start", "turn/end", "session/end-seed"]);
        assert_eq!(fork.turns(), 1);
    }

    #[test]
    fn numbers_are_contiguous_from_zero() {
        let numbers: Vec<u64> = session().events().iter().map(|event| event.seq).collect();
        assert_eq!(numbers, [0, 1, 2]);
    }
}
