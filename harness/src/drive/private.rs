//! The end of a private daemon: stopped by its pidfile once everything else has ended by itself, and shown gone after.
//!
//! Called by `drive` in daemon isolation. It signals nobody but what a pidfile below the scenario's own home names.

use super::Live;
use super::host::Apart;
use crate::evidence::facts::PrivateDaemon;
use crate::gate;
use crate::plumb::{gone, private};

/// Stops the scenario's own daemon, if it has one; what went wrong.
pub(super) async fn stop(live: &Live<'_>) -> Option<Result<(), String>> {
    let plumb = live.plumb.as_ref()?;
    match &plumb.apart {
        Apart::Namespace => None,
        Apart::Home(home) => Some(private::stop(home, &plumb.program).await),
    }
}

/// Watches its home after everything has ended.
pub(super) async fn shown_gone(
    live: &Live<'_>,
    stopped: Option<Result<(), String>>,
) -> Option<PrivateDaemon> {
    let plumb = live.plumb.as_ref()?;
    let Apart::Home(home) = &plumb.apart else {
        return None;
    };
    let look = || private::look(home, &plumb.program);
    let shown = gone::shown(look, gate::pause).await;
    let said = [
        stopped.and_then(Result::err),
        shown.as_ref().err().map(ToString::to_string),
    ];
    Some(PrivateDaemon {
        gone: shown.is_ok(),
        detail: said.into_iter().flatten().collect::<Vec<_>>().join("; "),
    })
}
