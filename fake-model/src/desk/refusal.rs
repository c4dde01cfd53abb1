//! Why a request is refused, in words for the client and as an event for the journal. Used by the desk alone.
//! A reason names the nearest step and what differs; it never guesses what the client meant.

use crate::desk::Place;
use crate::event::What;
use crate::recognise::quote;
use crate::reply::Unsayable;
use crate::script::{Reply, Session};

/// A request that cannot be answered.
#[derive(Debug)]
pub(super) struct Miss {
    /// The step that it would have got.
    pub(super) place: Option<Place>,
    pub(super) why: Why,
}

/// The kinds of refusal.
#[derive(Debug)]
pub(super) enum Why {
    Unmatched(String),
    Unsayable(Unsayable),
}

/// A request that the script does not know.
pub(super) fn unmatched(reason: String) -> Miss {
    Miss {
        place: None,
        why: Why::Unmatched(reason),
    }
}

/// The reason when a session has no reply left.
pub(super) fn exhausted(session: &Session, body: usize) -> String {
    let name = &session.name;
    let Some((last, step)) = session.steps.iter().enumerate().next_back() else {
        return format!("session `{name}` is recognised, but the script has no reply for it");
    };
    let saying = match &step.reply {
        Reply::Turn(turn, _) if turn.calls.is_empty() => {
            format!("say {}", quote(turn.text.as_deref().unwrap_or_default()))
        }
        Reply::Turn(turn, _) => format!("{} calls", turn.calls.len()),
        Reply::Fail(fail, _) => format!("fail {}", fail.name()),
    };
    format!(
        "session `{name}` is recognised, but its steps 0 to {last} are all used; nearest is step {last}, {saying}; \
         this body of {body} bytes repeats no earlier one"
    )
}

impl Miss {
    /// The code and the message for the client.
    pub(super) fn message(&self) -> (&'static str, String) {
        let place = match &self.place {
            Some(place) => format!("session `{}` step {}: ", place.session, place.step),
            None => String::new(),
        };
        match &self.why {
            Why::Unmatched(reason) => ("unmatched", format!("{place}{reason}")),
            Why::Unsayable(Unsayable::ToolDrift(drift)) => (
                "tool_drift",
                format!(
                    "{place}the script wants the tool `{}` and the request does not offer exactly one; near: {:?}",
                    drift.wanted, drift.near
                ),
            ),
            Why::Unsayable(Unsayable::CaptureMiss(missed)) => (
                "capture_miss",
                format!(
                    "{place}the pattern `{}` matches no user message and no tool result of the request",
                    missed.pattern
                ),
            ),
        }
    }

    /// The event.
    pub(super) fn event(self) -> What {
        match self.why {
            Why::Unmatched(reason) => What::Unmatched { reason },
            Why::Unsayable(Unsayable::ToolDrift(drift)) => What::ToolDrift {
                wanted: drift.wanted,
                near: drift.near,
            },
            Why::Unsayable(Unsayable::CaptureMiss(missed)) => What::CaptureMiss {
                pattern: missed.pattern,
            },
        }
    }
}
