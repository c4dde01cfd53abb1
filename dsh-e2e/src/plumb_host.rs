//! The plumbs of a run: one that is there already, or the built-in one, with a daemon for the run and one more for
//! each other way a scenario wants it to behave.
//!
//! For the built-in one the command line plays the part that a container plays for a real plumb: it installs the service, starts the
//! daemon under the warden, and leaves its end to the warden. The harness is told a program and an account, no more.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness::drive::{Apart, HostError, PlumbHost, PlumbProgram};
use harness::gate::{self, Gate, Waiting};
use harness::plumb::cli::Plumb;
use harness::plumb::dialect::Dialect;
use harness::plumb::private;
use harness::plumb::real::RealPlumb;
use harness::scenario::Peer;
use harness::supervise::order::{Launch, OUTPUT_LIMIT, Stdin};
use harness::supervise::{Supervisor, Warden};

/// How long a fake daemon may take until it answers: it was measured at a few milliseconds, on a loaded machine less
/// than a second.
const UP_WITHIN: Duration = Duration::from_secs(20);

/// Where the scenarios' plumbs come from.
pub(crate) enum Plumbs {
    /// The built-in one.
    Fake(FakePlumbs),
    /// One that is there already.
    Real(Box<RealPlumb>),
    /// One that is there already, with a daemon for each scenario.
    Private(PrivatePlumbs),
}

impl Plumbs {
    /// The built-in one that most scenarios use, if that is what is used.
    pub(crate) fn built_in(&self) -> Option<Plumb> {
        match self {
            Self::Fake(fakes) => fakes.first(),
            Self::Real(_) | Self::Private(_) => None,
        }
    }

    /// Whether scenarios may run side by side.
    pub(crate) fn is_one_at_a_time(&self) -> bool {
        matches!(self, Self::Private(_)) || self.is_the_owners()
    }

    /// Whether the daemon in use is the one of the owner's own sessions.
    pub(crate) fn is_the_owners(&self) -> bool {
        matches!(self, Self::Real(real) if real.owner().is_some())
    }

    /// Gives the daemons of the built-in one up; keeps one that is there, which nobody here may end.
    pub(crate) fn into_real(self) -> Option<Box<RealPlumb>> {
        match self {
            Self::Fake(_) | Self::Private(_) => None,
            Self::Real(real) => Some(real),
        }
    }

    fn host(&self) -> &dyn PlumbHost {
        match self {
            Self::Fake(fakes) => fakes,
            Self::Real(real) => real.as_ref(),
            Self::Private(private) => private,
        }
    }
}

impl PlumbHost for Plumbs {
    fn plumb(&self, peer: &Peer, root: &Path) -> Result<PlumbProgram, HostError> {
        self.host().plumb(peer, root)
    }

    fn made(&self, namespace: &str, root: &Path) {
        self.host().made(namespace, root);
    }

    fn stopped(&self) -> Option<String> {
        self.host().stopped()
    }
}

/// A plumb that is there, under a private home for each scenario.
#[derive(Debug)]
pub(crate) struct PrivatePlumbs {
    /// The program.
    pub(crate) program: PathBuf,
    /// What it says of its version.
    pub(crate) version: String,
    /// Why it may be used.
    pub(crate) why: String,
}

impl PlumbHost for PrivatePlumbs {
    /// Where plumb keeps things below a home is measured (facts, section 1); `service show` would tell only what the
    /// account's own plumb was installed with.
    fn plumb(&self, peer: &Peer, root: &Path) -> Result<PlumbProgram, HostError> {
        if *peer != Peer::default() {
            return Err(HostError {
                what: format!("a plumb that is there cannot be made to behave like {peer:?}"),
            });
        }
        let home = root.join("h");
        let run = home.join("run");
        std::fs::create_dir_all(&run)
            .and_then(|()| std::fs::set_permissions(&run, Permissions::from_mode(0o700)))
            .map_err(|error| HostError {
                what: format!("{}: {error}", run.display()),
            })?;
        let state = home.join(".local/state/plumb");
        let sessions = home.join(".local/share/plumb/sessions");
        std::fs::create_dir_all(&sessions).map_err(|error| HostError {
            what: format!("{}: {error}", sessions.display()),
        })?;
        Ok(PlumbProgram {
            program: self.program.clone(),
            account: private::environment(&home),
            sessions,
            log: state.join("daemon.log"),
            state,
            assumes: Vec::new(),
            apart: Apart::Home(home),
        })
    }
}

/// Every built-in plumb of the run.
pub(crate) struct FakePlumbs {
    by_peer: Vec<(Peer, PlumbProgram)>,
    /// Dropped with the run, which ends the daemons.
    _daemons: Vec<Supervisor>,
}

/// What the fakes need.
pub(crate) struct Ground<'a> {
    /// Our own program.
    pub(crate) program: &'a Path,
    /// The run's root.
    pub(crate) root: &'a Path,
    /// The run's warden.
    pub(crate) warden: &'a Warden,
    /// How plumb is spoken to.
    pub(crate) dialect: &'a Dialect,
}

impl FakePlumbs {
    /// Starts one daemon for each way of behaving.
    pub(crate) async fn start(peers: &[Peer], ground: &Ground<'_>) -> Result<Self, HostError> {
        let mut by_peer = Vec::new();
        let mut daemons = Vec::new();
        for (idx, peer) in peers.iter().enumerate() {
            let (plumb, daemon) = start(idx, peer, ground).await?;
            by_peer.push((peer.clone(), plumb));
            daemons.push(daemon);
        }
        Ok(Self {
            by_peer,
            _daemons: daemons,
        })
    }

    /// The plumb that most scenarios use.
    pub(crate) fn first(&self) -> Option<Plumb> {
        let (_, plumb) = self.by_peer.first()?;
        Some(Plumb {
            program: plumb.program.clone(),
            account: plumb.account.clone(),
        })
    }
}

impl PlumbHost for FakePlumbs {
    fn plumb(&self, peer: &Peer, _root: &Path) -> Result<PlumbProgram, HostError> {
        self.by_peer
            .iter()
            .find(|(other, _)| other == peer)
            .map(|(_, plumb)| plumb.clone())
            .ok_or_else(|| HostError {
                what: format!("no plumb was started that behaves like {peer:?}"),
            })
    }
}

async fn start(
    idx: usize,
    peer: &Peer,
    ground: &Ground<'_>,
) -> Result<(PlumbProgram, Supervisor), HostError> {
    let failed = |what: String| HostError {
        what: format!("the built-in plumb: {what}"),
    };
    let at = ground.root.join(format!("p{idx}"));
    let home = at.join("home");
    std::fs::create_dir_all(&home)
        .map_err(|error| failed(format!("{}: {error}", home.display())))?;
    let program = at.join(crate::FAKE_PLUMB);
    symlink(ground.program, &program)
        .map_err(|error| failed(format!("{}: {error}", program.display())))?;
    let account = account(&home, peer);
    let plumb = Plumb {
        program: program.clone(),
        account: account.clone(),
    };
    plumb
        .succeed(&["service", "install"])
        .map_err(|error| failed(error.to_string()))?;
    let service = plumb
        .service(ground.dialect)
        .map_err(|error| failed(error.to_string()))?;
    let daemon = ground
        .warden
        .daemon(&format!("plumb-{idx}"), daemon(&program, &account, &at))
        .map_err(|error| failed(error.to_string()))?;
    let list: Vec<&str> = ground.dialect.list.iter().map(String::as_str).collect();
    let gate = Gate {
        what: "the built-in plumb's daemon answers",
        within: UP_WITHIN,
        every: Duration::from_millis(5),
    };
    gate::wait(gate, || {
        if !service.socket.exists() {
            return Waiting::NotYet(format!("no socket at {}", service.socket.display()));
        }
        match plumb.succeed(&list) {
            Ok(_) => Waiting::Ready(()),
            Err(error) => Waiting::NotYet(error.to_string()),
        }
    })
    .await
    .map_err(|error| failed(error.to_string()))?;
    let program = PlumbProgram {
        program,
        account,
        sessions: service.sessions,
        log: service.log,
        state: service.state,
        assumes: assumptions(&plumb).map_err(|error| failed(error.to_string()))?,
        apart: Apart::Namespace,
    };
    Ok((program, daemon))
}

/// The numbers of what the fake merely assumes of plumb, as it lists them itself.
fn assumptions(plumb: &Plumb) -> Result<Vec<String>, harness::plumb::cli::PlumbError> {
    let answer = plumb.succeed(&["assumptions", "--json"])?;
    let listed: Vec<serde_json::Value> = serde_json::from_slice(&answer).unwrap_or_default();
    Ok(listed
        .iter()
        .filter_map(|one| one.get("id")?.as_str().map(str::to_owned))
        .collect())
}

/// The account under which the fake lives: a private home, and how it is to behave.
fn account(home: &Path, peer: &Peer) -> BTreeMap<String, String> {
    let mut account: BTreeMap<String, String> = [
        ("HOME", home.display().to_string()),
        ("FAKE_PLUMB_ACCOUNT_HOME", home.display().to_string()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into();
    if let Some(generation) = &peer.generation {
        account.insert("FAKE_PLUMB_AS".into(), generation.clone());
    }
    if !peer.faults.is_empty() {
        account.insert("FAKE_PLUMB_FAULTS".into(), peer.faults.join(","));
    }
    account
}

fn daemon(program: &Path, account: &BTreeMap<String, String>, at: &Path) -> Launch {
    let mut env = account.clone();
    env.insert("PATH".into(), "/usr/bin:/bin".into());
    Launch {
        argv: vec![program.display().to_string(), "daemon".into()],
        env,
        cwd: PathBuf::from("/"),
        stdin: Stdin::Null,
        stdout: at.join("daemon.stdout"),
        stderr: at.join("daemon.stderr"),
        limit: OUTPUT_LIMIT,
    }
}
