//! The folders of one scenario and everything generated in them: commands, homes, rows, environments.
//!
//! Called by `drive` before anything starts. It writes only below the scenario's root; it starts nothing.

mod commands;
mod environment;
mod home;
mod operations;
mod patch;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

pub use commands::{Tapping, Wrapper};
pub use environment::{Planted, WITNESS, planted};
pub use home::{RowError, Rows, headless_rows};
pub use patch::PatchError;

use crate::agent::dsh::{Build, Installed};
use crate::plan::Run;
use crate::scenario::{self, Home, Launch};

/// The folders of one scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// The scenario's own root; short, because plumb's sockets allow 103 bytes.
    pub root: PathBuf,
    /// Generated commands.
    pub bin: PathBuf,
    /// What generated commands write.
    pub caught: PathBuf,
    /// Folders of each launch.
    pub launches: BTreeMap<String, Place>,
}

/// The folders of one launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its `HOME`.
    pub user: PathBuf,
    /// Its `TMPDIR`.
    pub tmp: PathBuf,
    /// The folder that really is its home, whatever spelling it is told.
    pub home: PathBuf,
    /// The name of its profile.
    pub profile: String,
    /// The home that its explicit row names, if it has one.
    pub explicit_home: Option<PathBuf>,
    /// Its working directory.
    pub workspace: PathBuf,
    /// A second folder to work in.
    pub elsewhere: PathBuf,
    /// Its standard streams, operations and outcomes.
    pub out: PathBuf,
    /// Where its transcripts have to be.
    pub sessions: PathBuf,
}

/// How one process of the agent is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Its whole environment.
    pub env: BTreeMap<String, String>,
    /// Its working directory.
    pub cwd: PathBuf,
}

/// What the stage has to know of the world.
#[derive(Debug, Clone)]
pub struct World<'a> {
    /// Our own program, for the generated commands.
    pub program: &'a Path,
    /// The build's data.
    pub build: &'a Build,
    /// The build as it lies in the cache.
    pub installed: &'a Installed,
    /// Folder with the plugins that rows name: `identity`, `driver`, `saboteurs`.
    pub plugins: &'a Path,
    /// Folder of the identity plugin; our own, or somebody's checkout.
    pub identity: &'a Path,
    /// The model's base URL, by launch.
    pub models: BTreeMap<String, String>,
}

/// A stage that cannot be set.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// A file or folder cannot be written.
    #[error("stage `{path}` cannot be written: {source}")]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A row cannot be made.
    #[error(transparent)]
    Row(#[from] RowError),
    /// A worse copy of the plugin cannot be made.
    #[error(transparent)]
    Patch(#[from] PatchError),
}

impl Stage {
    /// Makes the folders of `run` below `root`, and the generated commands.
    pub fn set(root: &Path, run: &Run, world: &World<'_>) -> Result<Self, StageError> {
        let mut stage = Self {
            root: root.to_owned(),
            bin: root.join("bin"),
            caught: root.join("caught"),
            launches: BTreeMap::new(),
        };
        for folder in ["probes", "holds", "mcp"] {
            make(&stage.caught.join(folder))?;
        }
        make(&stage.bin)?;
        for (name, launch) in &run.launches {
            let place = place(root, name, launch, &stage.launches);
            for folder in [
                &place.user,
                &place.tmp,
                &place.home,
                &place.workspace,
                &place.elsewhere,
                &place.out,
            ] {
                make(folder)?;
            }
            stage.launches.insert(name.clone(), place);
        }
        if let Some(name) = &run.plugin_patch {
            let faults = world.plugins.join("identity-faults");
            patch::apply(name, &faults, world.identity, &stage.worse_identity())?;
        }
        commands::write(&stage, run, world)?;
        Ok(stage)
    }

    /// Writes the home of a launch and says how to start it.
    pub fn launch(&self, run: &Run, name: &str, world: &World<'_>) -> Result<Start, StageError> {
        let launch = run.launches.get(name).cloned().unwrap_or_default();
        let Some(place) = self.launches.get(name) else {
            return Err(StageError::Write {
                path: self.root.clone(),
                source: std::io::Error::other(format!("no folders for `{name}`")),
            });
        };
        home::write(self, run, name, &launch, place, world)?;
        let start = environment::start(self, run, name, &launch, place, world);
        if launch.start == Some(scenario::Start::InBash) {
            commands::nested(self, name, place, &start)?;
        }
        Ok(start)
    }

    /// The path of a folder of the scenario.
    pub fn folder(&self, place: &scenario::Place) -> Option<String> {
        let of = self
            .launches
            .get(place.launch.as_deref().unwrap_or("main"))?;
        let path = match place.what {
            scenario::Folder::Home => &of.home,
            scenario::Folder::Workspace => &of.workspace,
            scenario::Folder::Elsewhere => &of.elsewhere,
            scenario::Folder::User => &of.user,
            scenario::Folder::ExplicitHome => of.explicit_home.as_ref()?,
        };
        let path = match &place.below {
            Some(below) => path.join(below),
            None => path.clone(),
        };
        Some(path.display().to_string())
    }

    /// Where a worse copy of the plugin lies.
    pub(crate) fn worse_identity(&self) -> PathBuf {
        self.root.join("identity")
    }

    /// The wrapper through which every plumb process of the scenario starts.
    pub fn wrapper(&self) -> PathBuf {
        self.bin.join("plumb")
    }

    /// Where a probe writes.
    pub fn probe(&self, name: &str) -> PathBuf {
        self.caught.join("probes").join(format!("{name}.json"))
    }

    /// The file that a hold makes when it stands, and the one that it waits for.
    pub fn hold(&self, name: &str) -> (PathBuf, PathBuf) {
        let folder = self.caught.join("holds");
        (
            folder.join(format!("{name}.ready")),
            folder.join(format!("{name}.open")),
        )
    }
}

/// The folders of one launch, below the root or shared with another launch.
fn place(root: &Path, name: &str, launch: &Launch, earlier: &BTreeMap<String, Place>) -> Place {
    let own = root.join(name);
    let shared = launch.shares.as_ref().and_then(|other| earlier.get(other));
    let user = shared.map_or_else(|| own.join("user"), |place| place.user.clone());
    let home = match (shared, launch.home.unwrap_or(Home::Ambient)) {
        (Some(place), _) => place.home.clone(),
        (None, Home::User | Home::Tilde | Home::Blank) => user.join(".dsh"),
        (None, _) => own.join("home"),
    };
    let workspace = match (&launch.workspace, shared) {
        (Some(name), _) => root.join(name),
        (None, Some(place)) => place.workspace.clone(),
        (None, None) => root.join("ws"),
    };
    let sessions = match &launch.sessions_root {
        Some(at) => home.join(at),
        None => home.join("sessions"),
    };
    Place {
        // A profile is written for one launch: two that share a home must not write over each other.
        profile: shared.map_or_else(|| "e2e".to_owned(), |_| format!("e2e-{name}")),
        tmp: own.join("tmp"),
        out: own.join("out"),
        explicit_home: (launch.home == Some(Home::Explicit)).then(|| own.join("explicit-home")),
        user,
        home,
        workspace,
        elsewhere: root.join("elsewhere"),
        sessions,
    }
}

/// Makes a private folder with its parents.
fn make(path: &Path) -> Result<(), StageError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|source| StageError::Write {
            path: path.to_owned(),
            source,
        })
}

/// Writes a private file; `executable` ones can be started.
fn put(path: &Path, text: &str, mode: u32) -> Result<(), StageError> {
    let failed = |source| StageError::Write {
        path: path.to_owned(),
        source,
    };
    if let Some(parent) = path.parent() {
        make(parent)?;
    }
    fs::write(path, text).map_err(failed)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(failed)
}
