//! A tenant's task: the one owner of its desk. Spoken to by the server and the tenant's handle, in messages.
//! It ends when the tenant is finished or when nobody can speak to it any more.

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::desk::{Answer, Desk, Place, Received};
use crate::gate::Gates;
use crate::journal::Journal;
use crate::report::Report;
use crate::script::Script;

/// What a tenant's task is asked.
#[derive(Debug)]
pub(crate) enum Command {
    /// What does this request get?
    Answer(Box<Received>, oneshot::Sender<Answer>),
    /// The reply of that step is sent, all of it.
    Delivered(Place),
    /// How does the tenant stand?
    Report(oneshot::Sender<Report>),
    /// The same, and that was all.
    Finish(oneshot::Sender<Report>),
}

/// What the server knows of a live tenant.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) desk: mpsc::UnboundedSender<Command>,
    pub(crate) gates: Gates,
    pub(crate) journal: Journal,
    pub(crate) stop: CancellationToken,
}

/// Starts the task of a tenant. Must be called inside a tokio runtime.
pub(crate) fn open(script: Script, journal: Journal, stop: CancellationToken) -> Room {
    let (desk, commands) = mpsc::unbounded_channel();
    let gates = Gates::new(script.gates.clone());
    tokio::spawn(serve(Desk::new(script, journal.clone()), commands));
    Room {
        desk,
        gates,
        journal,
        stop,
    }
}

impl Room {
    /// Asks the desk; `None` when the tenant is finished.
    pub(crate) async fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<T>) -> Command,
    ) -> Option<T> {
        let (sender, answer) = oneshot::channel();
        self.desk.send(command(sender)).ok()?;
        answer.await.ok()
    }
}

async fn serve(mut desk: Desk, mut commands: mpsc::UnboundedReceiver<Command>) {
    // Whoever asked may have left; then nobody misses the answer.
    while let Some(command) = commands.recv().await {
        match command {
            Command::Answer(received, to) => drop(to.send(desk.answer(&received))),
            Command::Delivered(place) => desk.delivered(&place),
            Command::Report(to) => drop(to.send(desk.report())),
            Command::Finish(to) => return drop(to.send(desk.report())),
        }
    }
}
