//! The body of a streamed reply: one frame, one write on the socket. Handed to axum by the server.
//! After each frame it is pending once, which makes hyper flush; without that hyper joins ready frames into one write.
//! It never waits for anything but its own scripted end.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::Stream;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::delivery::{Delivery, Ending, Stage};
use crate::reply::{End, StreamPlan};

/// A stream of frames with a scripted end.
pub(crate) struct Frames {
    left: std::vec::IntoIter<Bytes>,
    end: End,
    ending: Option<Ending>,
    delivery: Delivery,
    flush: Flush,
    stopped: Pin<Box<WaitForCancellationFutureOwned>>,
}

/// Whether hyper still has to write what it was given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flush {
    Due,
    Done,
}

/// The body of a reply whose connection is to end before any header: hyper polls a body before it writes the head,
/// and an error then ends the connection with nothing written (pinned by a test).
pub(crate) fn dropped() -> impl Stream<Item = io::Result<Bytes>> {
    futures::stream::iter([Err(scripted_end())])
}

impl Frames {
    pub(crate) fn new(plan: StreamPlan, delivery: Delivery, stop: CancellationToken) -> Self {
        let ending = Ending {
            status: Some(200),
            finish: plan.finish,
            fault: plan.fault,
        };
        Self {
            // With no frame at all it is the headers that must be flushed.
            flush: if plan.frames.is_empty() {
                Flush::Due
            } else {
                Flush::Done
            },
            left: plan.frames.into_iter(),
            end: plan.end,
            ending: Some(ending),
            delivery,
            stopped: Box::pin(stop.cancelled_owned()),
        }
    }

    /// Journals the end, once, when no frame is left.
    fn settle(&mut self) {
        if self.left.len() == 0
            && let Some(ending) = self.ending.take()
        {
            let stage = if self.end == End::Hang {
                Stage::Hanging
            } else {
                Stage::Over
            };
            self.delivery.replied(ending, stage);
        }
    }
}

impl Stream for Frames {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.flush == Flush::Due {
            self.flush = Flush::Done;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Some(frame) = self.left.next() {
            self.delivery.count(frame.len());
            // A clean end goes out with the last frame: clients close right after it.
            if self.left.len() > 0 || self.end != End::Clean {
                self.flush = Flush::Due;
            }
            self.settle();
            return Poll::Ready(Some(Ok(frame)));
        }
        self.settle();
        match self.end {
            End::Clean => Poll::Ready(None),
            End::Drop => Poll::Ready(Some(Err(scripted_end()))),
            End::Hang => {
                ready!(self.stopped.as_mut().poll(context));
                self.delivery.end_by_server();
                Poll::Ready(Some(Err(scripted_end())))
            }
        }
    }
}

fn scripted_end() -> io::Error {
    io::Error::new(
        io::ErrorKind::ConnectionAborted,
        "the script ends the connection here",
    )
}

#[cfg(test)]
mod tests {
    use futures::task::noop_waker_ref;
    use tokio::sync::mpsc;

    use super::*;
    use crate::event::Clock;
    use crate::journal::journal;

    /// What a stream of two frames does, poll by poll.
    fn polls(end: End) -> Vec<&'static str> {
        let (journal, _events) = journal(None, Clock::start());
        let (desk, _commands) = mpsc::unbounded_channel();
        let delivery = Delivery {
            n: 0,
            place: None,
            journal,
            desk,
            frames: 0,
            bytes: 0,
            stage: Stage::Owed,
        };
        let frames = vec![Bytes::from_static(b"a"), Bytes::from_static(b"b")];
        let plan = StreamPlan {
            content_type: String::new(),
            frames,
            end,
            finish: None,
            fault: None,
        };
        let mut stream = Box::pin(Frames::new(plan, delivery, CancellationToken::new()));
        let mut context = Context::from_waker(noop_waker_ref());
        (0..5)
            .map(|_| match stream.as_mut().poll_next(&mut context) {
                Poll::Ready(Some(Ok(_))) => "frame",
                Poll::Ready(Some(Err(_))) => "cut",
                Poll::Ready(None) => "end",
                Poll::Pending => "pending",
            })
            .collect()
    }

    #[test]
    fn each_frame_is_flushed_and_a_clean_end_goes_with_the_last() {
        assert_eq!(polls(End::Clean)[..4], ["frame", "pending", "frame", "end"]);
        assert_eq!(
            polls(End::Drop),
            ["frame", "pending", "frame", "pending", "cut"]
        );
        assert_eq!(
            polls(End::Hang),
            ["frame", "pending", "frame", "pending", "pending"]
        );
    }
}
