//! The host: everything that the agents of one process share, composed once.
//!
//! It makes the managed values of every call, from that call's own agent; nothing here is written by one session for
//! another to read. It must never change the environment of its own process.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tokio::sync::watch;

use crate::environment::{Environment, HOME, Overlay, SESSION_ID, SESSION_JSONL, SHELL};
use crate::fault::environment::{Dispatch, Memory, Mode};
use crate::fault::{self, Faults};
use crate::home::{self, HomeError, HomeSources};
use crate::hook::{HookError, Hooks};
use crate::model::client::{Client, ModelError};
use crate::registry::refusal::RegistryError;
use crate::registry::{Declaration, Execution, Registry, Variable};
use crate::revision::Revision;
use crate::session::header::Header;
use crate::session::id::SessionId;
use crate::settings::{Persistence, Settings};
use crate::store::jsonl::Compression;
use crate::store::{Backend, Location, Store, StoreError};
use crate::tool::job::Jobs;
use crate::tool::mcp::{McpError, Server};
use crate::{agent::Agent, tool};

/// The contributor that owns the location under the `located` revision.
const LOCATION_OWNER: &str = "session-persistence";

/// A host that cannot be composed.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// No home, or two.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// No model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A server of tools did not come up.
    #[error(transparent)]
    Mcp(#[from] McpError),
    /// The hooks cannot be read.
    #[error(transparent)]
    Hooks(#[from] HookError),
    /// The location has no owner.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A session cannot be had.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A stored session works elsewhere.
    #[error(
        "session `{id}` was recorded in `{recorded}`, not in `{asked}`: leave --cwd out, or give that one"
    )]
    OtherCwd {
        /// The session.
        id: SessionId,
        /// Where it was recorded.
        recorded: String,
        /// Where it was to go on.
        asked: String,
    },
    /// A session is live already.
    #[error("cannot prepare session `{id}` while it is live: dispose of it first")]
    Live {
        /// The session.
        id: SessionId,
    },
}

impl HostError {
    /// The kind of failure, in capitals, as it stands on standard error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Home(HomeError::Conflict { .. }) => "HOME_CONFLICT",
            Self::Home(_) => "HOME",
            Self::Model(error) => error.code(),
            Self::Mcp(_) => "MCP",
            Self::Hooks(_) => "HOOKS",
            Self::Registry(_) => "REGISTRY",
            Self::Store(_) | Self::OtherCwd { .. } | Self::Live { .. } => "SESSION",
        }
    }
}

/// The host.
#[derive(Debug)]
pub struct Host {
    /// The revision in force.
    pub revision: Revision,
    /// The faults that are switched on.
    pub faults: Faults,
    /// The model.
    pub model: Client,
    /// The home.
    pub home: PathBuf,
    /// Where skills are discovered.
    pub skills: PathBuf,
    /// Where sessions are kept.
    pub store: Rc<RefCell<Store>>,
    /// Who contributes managed values.
    pub registry: RefCell<Registry>,
    /// The live agents.
    pub agents: RefCell<BTreeMap<SessionId, Rc<Agent>>>,
    /// Commands that run.
    pub jobs: Jobs,
    /// Servers of tools.
    pub servers: Vec<Server>,
    /// Hooks.
    pub hooks: Option<Hooks>,
    /// The environment of this process, as it was found.
    pub process: RefCell<Environment>,
    /// The working directory of sessions that name none.
    pub cwd: PathBuf,
    told_home: PathBuf,
    default_root: PathBuf,
    memory: RefCell<Memory>,
    watchers: Cell<usize>,
    activity: watch::Sender<()>,
}

/// Composes a host, or nothing at all.
pub async fn compose(settings: Settings) -> Result<Rc<Host>, HostError> {
    let faults = settings.faults.clone();
    let value = |name: &str| {
        settings
            .environment
            .get(OsStr::new(name))
            .map(std::ffi::OsString::as_os_str)
    };
    let sources = HomeSources {
        explicit: settings.home.as_deref(),
        ambient: value(HOME),
        user: value("HOME"),
        cwd: &settings.cwd,
    };
    let home = home::resolve(&sources)?;
    if let Some(spelling) = settings
        .skills_home
        .as_deref()
        .filter(|spelling| !home::is_blank(spelling))
    {
        fault::home::agree(
            &faults,
            spelling,
            &home,
            &home::spelled(Some(spelling), &sources)?,
        )?;
    }
    let told_home = fault::home::told(&faults, &sources, &home);
    let default_root = home.join("sessions");
    let root = settings
        .sessions_root
        .as_ref()
        .map_or_else(|| default_root.clone(), |root| settings.cwd.join(root));
    let store = Rc::new(RefCell::new(Store::new(
        backend(settings.persistence, home::normal(&root)),
        faults.clone(),
    )));
    let mut registry = Registry::new(faults.clone());
    if settings.revision == Revision::Located {
        registry.register(location_contributor(&store))?;
    }
    let hooks = settings.hooks.as_ref().map(Hooks::read).transpose()?;
    let model = Client::new(settings.endpoint)?;
    let mut servers = Vec::new();
    for row in &settings.mcp {
        servers.push(
            Server::start(row, &settings.environment, settings.revision, &settings.cwd).await?,
        );
    }
    Ok(Rc::new(Host {
        revision: settings.revision,
        model,
        skills: fault::home::skills(&faults, &home),
        told_home,
        default_root,
        home,
        store,
        registry: RefCell::new(registry),
        agents: RefCell::default(),
        jobs: Jobs::default(),
        servers,
        hooks,
        process: RefCell::new(settings.environment),
        cwd: settings.cwd,
        memory: RefCell::default(),
        watchers: Cell::new(0),
        activity: watch::Sender::new(()),
        faults,
    }))
}

/// A backend by its name.
pub fn backend(persistence: Persistence, root: PathBuf) -> Option<Backend> {
    match persistence {
        Persistence::Jsonl => Some(Backend::Jsonl {
            root,
            compression: Compression::Zstd,
        }),
        Persistence::JsonlPlain => Some(Backend::Jsonl {
            root,
            compression: Compression::None,
        }),
        Persistence::Shared => Some(Backend::Shared { root }),
        Persistence::None => None,
    }
}

fn location_contributor(store: &Rc<RefCell<Store>>) -> Declaration {
    let store = Rc::clone(store);
    let variable = Variable {
        key: SESSION_JSONL.to_owned(),
        description: Some("The JSONL log of the current session, where there is one.".to_owned()),
    };
    Declaration {
        name: Some(LOCATION_OWNER.to_owned()),
        variables: vec![variable],
        resolver: Some(Rc::new(move |execution: Execution<'_>| {
            let location = execution
                .agent
                .and_then(|header| jsonl_path(&store.borrow(), header));
            Ok(location
                .into_iter()
                .map(|path| (SESSION_JSONL.to_owned(), path.into()))
                .collect())
        })),
    }
}

/// The path that commands are told: of a jsonl log and of nothing else.
fn jsonl_path(store: &Store, header: &Header) -> Option<String> {
    let location = store
        .locate(header)
        .filter(|location| location.kind == "jsonl")?;
    Some(location.path.display().to_string())
}

impl Host {
    /// The managed values of one call. They are made now, and belong to that call alone.
    pub fn overlay(&self, agent: Option<&Header>, mode: Mode) -> Result<Overlay, RegistryError> {
        let mut overlay = Overlay::new();
        if self.revision.has_registry() {
            overlay = self.registry.borrow_mut().resolve(Execution { agent })?;
            overlay.insert(HOME.to_owned(), self.told_home.display().to_string());
            overlay.insert(SHELL.to_owned(), "1".to_owned());
        } else if let Some(path) = agent.and_then(|header| jsonl_path(&self.store.borrow(), header))
        {
            overlay.insert(SESSION_JSONL.to_owned(), path);
        }
        if let Some(header) = agent {
            overlay.insert(SESSION_ID.to_owned(), header.id.to_string());
        }
        let store = self.store.borrow();
        let process = self.process.borrow();
        let dispatch = Dispatch {
            agent,
            mode,
            revision: self.revision,
            store: &store,
            process: &process,
            default_root: &self.default_root,
            cwd: &self.cwd,
        };
        Ok(self
            .memory
            .borrow_mut()
            .overlay(&self.faults, overlay, &dispatch))
    }

    /// Where the log of a session is; nothing under a revision that does not ask.
    pub fn location(&self, header: &Header) -> Option<Location> {
        if !self.revision.has_location() {
            return None;
        }
        let location = self.store.borrow().locate(header);
        fault::log::located(&self.faults, location.as_ref());
        location
    }

    /// The path that a hook is told.
    pub fn hook_path(&self, header: &Header) -> Option<PathBuf> {
        let honest = self
            .location(header)
            .filter(|location| location.kind == "jsonl")
            .map(|location| location.path);
        let path = fault::environment::hook_path(&self.faults, honest, header, &self.default_root);
        let would_be = self
            .store
            .borrow()
            .locate(header)
            .map(|location| location.path);
        fault::log::hooked(&self.faults, would_be.as_deref());
        path
    }

    /// A folder for what faults keep in files; nothing honest writes there.
    pub fn fault_folder(&self) -> PathBuf {
        self.home
            .join("faults")
            .join(std::process::id().to_string())
    }

    /// A session was created, resumed, or began a turn: only faults want to know.
    pub fn notes(&self) -> std::cell::RefMut<'_, Memory> {
        self.memory.borrow_mut()
    }

    /// The live agent of a session.
    pub fn agent(&self, id: &SessionId) -> Option<Rc<Agent>> {
        self.agents.borrow().get(id).cloned()
    }

    /// The tools that a session is offered.
    pub fn tools(&self, header: &Header) -> Vec<serde_json::Value> {
        let remote = self.servers.iter().flat_map(Server::tools);
        let tools = tool::own(self.revision).into_iter().chain(remote).collect();
        fault::wire::tools(&self.faults, self.revision, header, tools)
    }

    /// Where everything that happens is announced.
    pub fn activity(&self) -> watch::Sender<()> {
        self.activity.clone()
    }

    /// Something happened that somebody may wait for.
    pub fn changed(&self) {
        self.activity.send_replace(());
    }

    /// Waits until something is so; looked at after everything that happens.
    pub async fn until(&self, mut is_so: impl FnMut() -> bool) {
        let mut activity = self.activity.subscribe();
        while !is_so() {
            // The sender is a part of the host, so it cannot be gone.
            if activity.changed().await.is_err() {
                return;
            }
        }
    }

    /// Runs something beside the agents; the process does not end before it is done.
    pub fn beside(self: &Rc<Self>, work: impl Future<Output = ()> + 'static) {
        self.watchers.set(self.watchers.get() + 1);
        let host = Rc::clone(self);
        tokio::task::spawn_local(async move {
            work.await;
            host.watchers.set(host.watchers.get() - 1);
            host.changed();
        });
    }

    /// Waits until no agent has anything to do.
    pub async fn quiet(&self) {
        self.until(|| {
            self.watchers.get() == 0 && self.agents.borrow().values().all(|agent| agent.is_idle())
        })
        .await;
    }

    /// Ends everything: agents, commands and servers. What ended commands left in the log of a session that is between
    /// two turns becomes durable; a turn that is cut short does not.
    pub async fn close(&self) -> Result<(), StoreError> {
        for agent in self.agents.borrow().values() {
            agent.stop();
        }
        self.jobs.stop_all().await;
        let mut kept = Ok(());
        for agent in self
            .agents
            .borrow()
            .values()
            .filter(|agent| agent.session().is_between_turns())
        {
            kept = kept.and(self.store.borrow_mut().flush(&agent.session()));
        }
        for server in &self.servers {
            server.stop().await;
        }
        let folder = self.fault_folder();
        if folder.exists() {
            std::fs::remove_dir_all(&folder).ok();
        }
        kept
    }

    /// A path as a session means it: from its working directory.
    pub fn place(&self, header: &Header, path: Option<&str>) -> PathBuf {
        let base = header.cwd.as_deref().map_or(self.cwd.as_path(), Path::new);
        path.map_or_else(|| base.to_owned(), |path| base.join(path))
    }
}
