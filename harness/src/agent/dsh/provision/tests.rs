//! Provisioning against clients that are shell scripts: every failure, no network.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use tempfile::TempDir;

use super::super::builds::find;
use super::*;

mod cache;
mod clients;
mod interrupted;
mod refusals;

/// SHA-256 of the five letters `wheel`, which is the whole wheel of the stand-in.
const WHEEL: &str = "ba59926159d2aa256eb8739b8da7e2b574b960e1202c6d624cbe981cef996c91";

/// A machine with a cache and stand-ins for the clients, all in one folder.
struct Lab {
    folder: TempDir,
    surroundings: Surroundings,
    build: Build,
}

/// What a run gave and said.
struct Run {
    result: Result<Installed, ProvisionError>,
    events: Vec<Event>,
}

impl Lab {
    /// A build that is a wheel, with stand-ins that behave as told.
    fn wheel(behaviour: &str) -> Self {
        let mut build = find("0.2.1").unwrap();
        build.facts.fetch = Fetch::Wheel(super::super::build::Wheel {
            requirements: "requirements.txt".into(),
            sha256: [("linux-x64".into(), WHEEL.into())].into(),
        });
        let payload = Payload {
            loader: "/lib/loader".into(),
            executable: "bin/dsh".into(),
            programs: vec!["bin/rg".into()],
            path_dirs: vec![],
        };
        build.facts.platform = [("linux-x64".into(), payload)].into();
        Self::with(build, behaviour)
    }

    /// The real lock build, with stand-ins that behave as told.
    fn lock(behaviour: &str) -> Self {
        let mut build = find("rc8").unwrap();
        for payload in build.facts.platform.values_mut() {
            payload.loader = "/lib/loader".into();
        }
        Self::with(build, behaviour)
    }

    fn with(build: Build, behaviour: &str) -> Self {
        let folder = TempDir::new().unwrap();
        for name in ["lib", "notes"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("lib/loader"), "").unwrap();
        let clients =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("src/agent/dsh/provision/tests/stand-ins");
        let env: BTreeMap<_, _> = [
            ("PATH", clients.into_os_string()),
            ("NOTES", folder.path().join("notes").into()),
            ("STAND_IN", behaviour.into()),
            ("HTTPS_PROXY", "http://proxy.example:8080".into()),
            ("PIP_INDEX_URL", "https://index.example/simple".into()),
            ("DSH_HOME", "/never".into()),
            ("PLUMB_NAMESPACE", "secret".into()),
            ("E2E_MODE", "never".into()),
        ]
        .into_iter()
        .map(|(name, value)| (name.into(), value))
        .collect();
        let surroundings = Surroundings {
            env,
            platform: "linux-x64".into(),
            root: folder.path().into(),
        };
        Self {
            folder,
            surroundings,
            build,
        }
    }

    fn behave(&mut self, behaviour: &str) {
        self.surroundings
            .env
            .insert("STAND_IN".into(), behaviour.into());
    }

    /// Leaves only some of the clients on PATH.
    fn only_on_path(&mut self, names: &[&str]) {
        let from = PathBuf::from(&self.surroundings.env[std::ffi::OsStr::new("PATH")]);
        let path = self.folder.path().join("path");
        fs::create_dir(&path).unwrap();
        for name in names {
            symlink(from.join(name), path.join(name)).unwrap();
        }
        self.surroundings.env.insert("PATH".into(), path.into());
    }

    fn cache(&self) -> Cache {
        Cache::at(&self.folder.path().join("cache")).unwrap()
    }

    fn run(&self) -> Run {
        self.run_as(Network::Allowed, Check::Quick)
    }

    fn run_as(&self, network: Network, check: Check) -> Run {
        let mut events = Vec::new();
        let result = self.provision(network, check, &mut |event| events.push(event));
        Run { result, events }
    }

    /// Tells each event while the run goes on.
    fn run_telling(&self, listener: &mpsc::Sender<Event>) -> Result<Installed, ProvisionError> {
        self.provision(Network::Allowed, Check::Quick, &mut |event| {
            listener.send(event).unwrap();
        })
    }

    fn provision(
        &self,
        network: Network,
        check: Check,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<Installed, ProvisionError> {
        let request = Request {
            build: &self.build,
            cache: &self.cache(),
            surroundings: &self.surroundings,
            network,
            check,
        };
        provision(&request, on_event)
    }

    fn calls(&self) -> String {
        fs::read_to_string(self.folder.path().join("notes/calls")).unwrap_or_default()
    }

    /// What lies in the cache, locks aside.
    fn in_cache(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.cache().root()) else {
            return vec![];
        };
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.retain(|name| !name.starts_with(".lock-"));
        names.sort();
        names
    }

    /// The text of a failure with its hint, machine paths replaced.
    fn refusal(&self, run: Run) -> String {
        let error = run.result.unwrap_err();
        format!("{error}\nhint: {}", error.hint())
            .replace(&*self.folder.path().to_string_lossy(), "[LAB]")
    }
}
