//! Faults of a command's environment: of the managed values, and of what is put around them.
//!
//! Asked for every command, after the honest values have been made. `Memory` is what a faulty harness knows of earlier
//! calls and of other sessions; nothing honest reads it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{Fault, Faults};
use crate::environment::{
    self, Environment, HOME, Layers, Overlay, SESSION_ID, SESSION_JSONL, SHELL, TERMINAL,
};
use crate::revision::Revision;
use crate::session::header::Header;
use crate::session::id::SessionId;
use crate::store::Store;
use crate::store::jsonl::{Compression, Jsonl};

/// How a command is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Waited for.
    Foreground,
    /// As a job.
    Background,
}

/// A call whose managed values are made.
#[derive(Debug, Clone, Copy)]
pub struct Dispatch<'a> {
    /// The session that calls.
    pub agent: Option<&'a Header>,
    /// How.
    pub mode: Mode,
    /// The revision in force.
    pub revision: Revision,
    /// Where sessions are kept.
    pub store: &'a Store,
    /// The environment of this process.
    pub process: &'a Environment,
    /// Where sessions lie by default.
    pub default_root: &'a Path,
    /// The working directory of this process.
    pub cwd: &'a Path,
}

/// What a faulty harness remembers.
#[derive(Debug, Default)]
pub struct Memory {
    made_here: BTreeSet<SessionId>,
    resumed: BTreeMap<SessionId, Resumed>,
    last_made: Option<Header>,
    headers: BTreeMap<SessionId, Header>,
    last_turn: Option<SessionId>,
    last_call: Option<SessionId>,
    locations: BTreeMap<SessionId, Option<String>>,
    called: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resumed {
    Here,
    Elsewhere,
}

impl Memory {
    /// A session was created.
    pub fn made(&mut self, header: &Header) {
        self.made_here.insert(header.id.clone());
        self.known(header);
    }

    /// A session was resumed.
    pub fn resumed(&mut self, header: &Header) {
        let here = self.made_here.contains(&header.id);
        let resumed = if here {
            Resumed::Here
        } else {
            Resumed::Elsewhere
        };
        self.resumed.insert(header.id.clone(), resumed);
        self.known(header);
    }

    /// A turn began.
    pub fn turn(&mut self, id: &SessionId) {
        self.last_turn = Some(id.clone());
    }

    fn known(&mut self, header: &Header) {
        self.headers.insert(header.id.clone(), header.clone());
        self.last_made = Some(header.clone());
    }

    /// The managed values that a faulty harness gives.
    pub fn overlay(
        &mut self,
        faults: &Faults,
        honest: Overlay,
        dispatch: &Dispatch<'_>,
    ) -> Overlay {
        let mut overlay = honest;
        if let Some(id) = self.id(faults, dispatch) {
            overlay.insert(SESSION_ID.to_owned(), id.to_string());
        }
        match self.location(faults, &overlay, dispatch) {
            Some(path) => overlay.insert(SESSION_JSONL.to_owned(), path),
            None => overlay.remove(SESSION_JSONL),
        };
        facts(faults, &mut overlay, dispatch);
        let first = !std::mem::replace(&mut self.called, true);
        let no_id = (first && faults.has(Fault::IdLate))
            || (dispatch.store.backend().is_none() && faults.has(Fault::UnloadDropsId));
        if no_id {
            overlay.remove(SESSION_ID);
        }
        if let Some(header) = dispatch.agent {
            self.last_call = Some(header.id.clone());
        }
        let bare = match dispatch.mode {
            Mode::Foreground => Fault::ForegroundBare,
            Mode::Background => Fault::BackgroundBare,
        };
        if faults.has(bare) {
            Overlay::new()
        } else {
            overlay
        }
    }

    fn id(&self, faults: &Faults, dispatch: &Dispatch<'_>) -> Option<SessionId> {
        let Some(header) = dispatch.agent else {
            return self
                .last_call
                .clone()
                .filter(|_| faults.has(Fault::AgentlessLastId));
        };
        let resumed = self.resumed.get(&header.id);
        let renamed = (resumed == Some(&Resumed::Here) && faults.has(Fault::ResumeNewIdHere))
            || (resumed == Some(&Resumed::Elsewhere) && faults.has(Fault::ResumeNewIdElsewhere));
        if renamed {
            return Some(format!("{}-resumed", header.id).into());
        }
        let ambient = || {
            Some(
                dispatch
                    .process
                    .get(OsStr::new(SESSION_ID))?
                    .to_str()?
                    .to_owned()
                    .into(),
            )
        };
        let nested = dispatch
            .process
            .get(OsStr::new(SHELL))
            .is_some_and(|mark| mark == "1");
        if (resumed.is_some() && faults.has(Fault::ResumeAmbientId))
            || (nested && faults.has(Fault::NestedInherits))
        {
            return ambient();
        }
        if faults.has(Fault::GlobalId) {
            return self.last_turn.clone();
        }
        let from_parent = faults.has(Fault::ChildParentId)
            || (header.is_seeded && faults.has(Fault::ForkKeepsId));
        header.parent_session.clone().filter(|_| from_parent)
    }

    fn location(
        &mut self,
        faults: &Faults,
        overlay: &Overlay,
        dispatch: &Dispatch<'_>,
    ) -> Option<String> {
        let honest = overlay.get(SESSION_JSONL).cloned();
        let Some(header) = dispatch.agent else {
            return honest;
        };
        if faults.has(Fault::LocationAlways) {
            return honest.or_else(|| default_location(dispatch.default_root, header));
        }
        if faults.has(Fault::LocationAnyKind) && dispatch.revision.has_location() {
            return dispatch
                .store
                .locate(header)
                .map(|location| location.path.display().to_string());
        }
        if faults.has(Fault::LocationCached) {
            return self
                .locations
                .entry(header.id.clone())
                .or_insert(honest)
                .clone();
        }
        let honest = honest?;
        let of = |header: &Header| Some(dispatch.store.locate(header)?.path.display().to_string());
        if faults.has(Fault::LocationOfAnother) {
            return self.last_made.as_ref().and_then(of);
        }
        if faults.has(Fault::SpawnKeepsLocation) {
            let parent = header
                .parent_session
                .as_ref()
                .and_then(|id| self.headers.get(id));
            return parent.and_then(of).or(Some(honest));
        }
        if faults.has(Fault::LocationUnescaped) {
            return unescaped(&honest, header);
        }
        if faults.has(Fault::LocationRelative) {
            return Some(
                relative(Path::new(&honest), dispatch.cwd)
                    .display()
                    .to_string(),
            );
        }
        Some(honest)
    }
}

/// What a faulty harness makes of a command's environment.
pub fn command(
    faults: &Faults,
    mut made: Environment,
    layers: &Layers<'_>,
    typed: &Environment,
) -> Environment {
    for (name, value) in layers.ambient {
        let managed = environment::is_managed(name, layers.revision);
        let fault = if managed {
            leak(name, value)
        } else {
            Fault::LeakCredential
        };
        let hidden = managed || environment::is_credential(name);
        if hidden && faults.has(fault) && !made.contains_key(name) {
            made.insert(name.clone(), value.clone());
        }
    }
    if faults.has(Fault::TerminalMissing) {
        for name in TERMINAL.map(|(name, _)| OsStr::new(name)) {
            if layers.explicit.contains_key(name) {
                continue;
            }
            match layers.ambient.get(name) {
                Some(value) => made.insert(name.to_owned(), value.clone()),
                None => made.remove(name),
            };
        }
    }
    if faults.has(Fault::ManagedScrubbed) {
        made.retain(|name, _| {
            !(environment::is_managed(name, layers.revision) && environment::is_credential(name))
        });
    }
    if faults.has(Fault::EnvBeatsManaged) {
        made.extend(layers.explicit.clone());
    }
    if faults.has(Fault::ModelEnv) {
        made.extend(typed.clone());
    }
    made
}

/// The command that is run: with a prelude that reads what a faulty harness keeps in files.
pub fn script(faults: &Faults, command: &str, folder: &Path) -> String {
    let mut prelude = Vec::new();
    if faults.has(Fault::OverlayNotFrozen) {
        let file = folder.join("overlay.sh");
        prelude.push(format!("trap '. {}' DEBUG\n", file.display()));
    }
    if faults.has(Fault::OverrideStays) {
        let (file, start) = (folder.join("override.sh"), folder.join("start.sh"));
        let (file, start) = (file.display(), start.display());
        prelude.push(format!(
            "[ -f {file} ] && . {file}\nexport -p | grep DSH_ > {start}.$$\n"
        ));
        prelude.push(format!(
            "trap 'export -p | grep DSH_ | grep -vxFf {start}.$$ > {file}' EXIT\n"
        ));
    }
    prelude.concat() + command
}

/// What a faulty harness does with the values of a call besides giving them to it.
pub fn dispatched(faults: &Faults, overlay: &Overlay, folder: &Path, process: &mut Environment) {
    if faults.has(Fault::OverlayNotFrozen) {
        let quoted = |value: &str| format!("'{}'", value.replace('\'', "'\\''"));
        let lines: Vec<String> = overlay
            .iter()
            .map(|(name, value)| format!("export {name}={}\n", quoted(value)))
            .collect();
        std::fs::create_dir_all(folder).ok();
        std::fs::write(folder.join("overlay.sh"), lines.concat()).ok();
    }
    if faults.has(Fault::OverrideStays) {
        std::fs::create_dir_all(folder).ok();
    }
    if faults.has(Fault::ProcessChanged) {
        process.extend(
            overlay
                .iter()
                .map(|(name, value)| (name.into(), value.into())),
        );
    }
}

/// The path that a hook is told instead of the honest one.
pub fn hook_path(
    faults: &Faults,
    honest: Option<PathBuf>,
    header: &Header,
    default_root: &Path,
) -> Option<PathBuf> {
    if !faults.has(Fault::HookOtherPath) {
        return honest;
    }
    match honest {
        Some(_) => None,
        None => default_location(default_root, header).map(PathBuf::from),
    }
}

fn facts(faults: &Faults, overlay: &mut Overlay, dispatch: &Dispatch<'_>) {
    if faults.has(Fault::ShellMissing) {
        overlay.remove(SHELL);
    }
    if faults.has(Fault::ShellZero)
        && let Some(mark) = overlay.get_mut(SHELL)
    {
        "0".clone_into(mark);
    }
    let is_child = dispatch
        .agent
        .is_some_and(|header| header.parent_session.is_some());
    if is_child
        && faults.has(Fault::HomePerSession)
        && let Some(home) = overlay.get_mut(HOME)
    {
        home.push_str("-child");
    }
}

fn leak(name: &OsStr, value: &OsStr) -> Fault {
    let known = [SESSION_ID, SESSION_JSONL, SHELL, HOME]
        .iter()
        .any(|known| name == *known);
    let text = name.to_string_lossy();
    if known {
        Fault::LeakKnown
    } else if value.is_empty() {
        Fault::LeakEmpty
    } else if text.chars().any(|letter| letter.is_ascii_lowercase()) {
        Fault::LeakMixedCase
    } else if value.to_string_lossy().contains('\n') {
        Fault::LeakLines
    } else {
        Fault::LeakStale
    }
}

fn default_location(root: &Path, header: &Header) -> Option<String> {
    let jsonl = Jsonl {
        root,
        compression: Compression::Zstd,
    };
    jsonl.path(header).map(|path| path.display().to_string())
}

fn unescaped(honest: &str, header: &Header) -> Option<String> {
    let path = Path::new(honest);
    let bucket = path.parent()?.parent()?;
    Some(
        bucket
            .join(header.id.as_str())
            .join(path.file_name()?)
            .display()
            .to_string(),
    )
}

/// A path from the working directory, with as many `..` as it takes.
fn relative(path: &Path, cwd: &Path) -> PathBuf {
    let shared = path
        .components()
        .zip(cwd.components())
        .take_while(|(one, other)| one == other)
        .count();
    let up = cwd.components().skip(shared).map(|_| Path::new(".."));
    up.chain(
        path.components()
            .skip(shared)
            .map(|part| Path::new(part.as_os_str())),
    )
    .collect()
}
