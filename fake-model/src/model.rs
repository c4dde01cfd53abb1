//! The library's face: a server and its tenants. Used by tests, by the end-to-end program and by the binary.
//! A handle only sends messages; the state is the tenant's task's.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use axum::serve::ListenerExt;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::event::{Clock, What};
use crate::gate::UnknownGate;
use crate::journal::{Events, journal};
use crate::report::Report;
use crate::room::{self, Command, Room};
use crate::script::{NAME_RULE, Script, ScriptError, is_name};
use crate::server::{House, Seat, router};

/// How long a shutdown waits for connections to end by themselves. Held and hanging replies end at once;
/// what may be left is a client that stopped in the middle of a request's head, or one that neither reads nor leaves.
const GRACE: Duration = Duration::from_secs(1);

/// A running server on a loopback port of its own.
#[derive(Debug)]
pub struct FakeModel {
    address: SocketAddr,
    house: Arc<House>,
    stray: Option<Events>,
    serving: JoinHandle<()>,
}

/// One script on a server, under a path of its own. It lives until it is finished or the server is shut down.
#[derive(Debug)]
pub struct Tenant {
    remote: Remote,
    address: SocketAddr,
    house: Arc<House>,
    events: Option<Events>,
}

/// A handle on a tenant for other tasks: it opens gates and reads the report, and keeps nothing alive.
#[derive(Debug, Clone)]
pub struct Remote {
    name: Arc<str>,
    room: Arc<Room>,
}

/// Why there is no such tenant.
#[derive(Debug, thiserror::Error)]
pub enum TenantError {
    /// The script is not sound.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The name cannot stand in a URL.
    #[error("tenant `{name}`: {NAME_RULE}")]
    Name {
        /// The name.
        name: String,
    },
    /// The name is or was in use on this server.
    #[error("tenant `{name}` is or was there already; take another name")]
    Taken {
        /// The name.
        name: String,
    },
}

impl FakeModel {
    /// Starts a server on a free loopback port. Must be called inside a tokio runtime, which then serves it.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let clock = Clock::start();
        let (stray, events) = journal(None, clock);
        let house = Arc::new(House {
            clock,
            seats: watch::Sender::new(HashMap::new()),
            stray,
            strays: AtomicU64::new(0),
            stop: CancellationToken::new(),
        });
        // Without TCP_NODELAY each stream on a kept connection costs 44 ms (Nagle and delayed acknowledgement, measured).
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let stop = house.stop.clone();
        let serve = axum::serve(listener, router(Arc::clone(&house)))
            .with_graceful_shutdown(stop.cancelled_owned());
        // axum's accept loop has no error of its own to report.
        let serving = tokio::spawn(async move { drop(serve.await) });
        Ok(Self {
            address,
            house,
            stray: Some(events),
            serving,
        })
    }

    /// Adds a tenant.
    pub fn tenant(&self, name: &str, script: &Value) -> Result<Tenant, TenantError> {
        if !is_name(name) {
            return Err(TenantError::Name {
                name: name.to_owned(),
            });
        }
        let script = Script::from_json(script)?;
        if self.house.seats.borrow().contains_key(name) {
            return Err(TenantError::Taken {
                name: name.to_owned(),
            });
        }
        let (journal, events) = journal(Some(name), self.house.clock);
        let room = Arc::new(room::open(script, journal, self.house.stop.child_token()));
        self.house.seats.send_modify(|seats| {
            seats.insert(name.to_owned(), Seat::Live(Arc::clone(&room)));
        });
        Ok(Tenant {
            remote: Remote {
                name: Arc::from(name),
                room,
            },
            address: self.address,
            house: Arc::clone(&self.house),
            events: Some(events),
        })
    }

    /// Where the server listens.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The journal of requests that belong to no tenant. It can be taken once.
    pub fn stray_events(&mut self) -> Option<Events> {
        self.stray.take()
    }

    /// Ends the server; replies that are held or hang end with it.
    pub async fn shutdown(self) {
        self.house.stop.cancel();
        // Connections that are still there then end with the runtime; nothing is accepted any more.
        drop(tokio::time::timeout(GRACE, self.serving).await);
    }
}

impl Tenant {
    /// The tenant's name.
    pub fn name(&self) -> &str {
        self.remote.name()
    }

    /// The base URL for an OpenAI client.
    pub fn base_url(&self) -> String {
        format!("http://{}/t/{}/v1", self.address, self.name())
    }

    /// Opens a gate for good; opening it again changes nothing.
    pub fn open(&self, gate: &str) -> Result<(), UnknownGate> {
        self.remote.open(gate)
    }

    /// A handle for other tasks.
    pub fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// The tenant's journal from its beginning. It can be taken once.
    pub fn take_events(&mut self) -> Option<Events> {
        self.events.take()
    }

    /// How the tenant stands.
    pub async fn report(&self) -> Report {
        self.remote.report().await
    }

    /// Closes the tenant: what is held ends, what comes later is refused, and the report says what was left over.
    pub async fn finish(self) -> Report {
        self.house.seats.send_modify(|seats| {
            seats.insert(self.name().to_owned(), Seat::Finished);
        });
        self.remote.room.stop.cancel();
        self.remote
            .room
            .ask(Command::Finish)
            .await
            .unwrap_or_default()
    }
}

impl Remote {
    /// The tenant's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Opens a gate for good; opening it again changes nothing.
    pub fn open(&self, gate: &str) -> Result<(), UnknownGate> {
        // The event first, so that no `released` stands before its `opened`.
        if self.room.gates.is_closed(gate)? {
            self.room.journal.write(
                None,
                What::Opened {
                    gate: gate.to_owned(),
                },
            );
        }
        self.room.gates.open(gate);
        Ok(())
    }

    /// How many events the journal has had.
    pub(crate) fn written(&self) -> usize {
        self.room.journal.written()
    }

    /// How the tenant stands; all zeros once it is finished.
    pub async fn report(&self) -> Report {
        self.room.ask(Command::Report).await.unwrap_or_default()
    }
}
