//! A pinned build of dsh, as its folder below `agents/dsh` describes it.
//!
//! Loaded by [`builds`](mod@super::builds) from what is compiled in, and by tests from text. It must
//! never touch the disk.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::profile::Profile;
use super::recipe::{Boot, Child, Launch, Log, Tools};
use super::reviewed::{Deviation, DeviationsFile, NotApplicable, NotApplicableFile};

/// The files of a build's folder, by their path in it.
pub type Files = BTreeMap<String, Cow<'static, [u8]>>;

/// A build: what it is, how it gets here, how it is driven.
#[derive(Debug, Clone)]
pub struct Build {
    /// What stands in `build.toml`.
    pub facts: Facts,
    /// What stands in `profile.toml`.
    pub profile: Profile,
    /// What stands in `not-applicable.toml`.
    pub not_applicable: Vec<NotApplicable>,
    /// What stands in `deviations.toml`.
    pub deviations: Vec<Deviation>,
    files: Files,
}

/// The whole of `build.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Facts {
    /// The version of this file's own format.
    pub format: Format,
    /// What the command line calls it.
    pub name: String,
    /// What it calls itself.
    pub version: String,
    /// The revision of the contract that it claims.
    pub revision: Revision,
    /// The package client's part.
    pub fetch: Fetch,
    /// Where things lie in the package, for each platform that has one.
    pub platform: BTreeMap<String, Payload>,
    /// How it is started.
    pub launch: Launch,
    /// What happens between its start and its end.
    pub boot: Boot,
    /// What its bash commands find.
    pub child: Child,
    /// How its session log lies on the disk.
    pub log: Log,
    /// The names of its tools.
    pub tools: Tools,
}

/// The formats of `build.toml` that this program reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u32")]
pub enum Format {
    /// The first.
    One,
}

/// A revision of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Revision {
    /// The older text.
    Rfc,
    /// The newer note's registry with the older text's location.
    Located,
    /// The newer note.
    Note,
}

impl std::fmt::Display for Revision {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Rfc => "rfc",
            Self::Located => "located",
            Self::Note => "note",
        })
    }
}

/// How a build gets here.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Fetch {
    /// A Python wheel, through pip.
    Wheel(Wheel),
    /// Node packages from a lock file, through pnpm, itself through npm.
    NpmLock(NpmLock),
}

/// A Python wheel.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Wheel {
    /// The requirements file: one exact pin and the hashes of its wheels.
    pub requirements: String,
    /// The SHA-256 of each platform's wheel.
    pub sha256: BTreeMap<String, String>,
}

/// Node packages from a lock file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct NpmLock {
    /// What pnpm reads.
    pub files: Vec<String>,
    /// What npm reads to fetch pnpm.
    pub client_files: Vec<String>,
    /// The script of pnpm, where npm puts it.
    pub client: String,
}

/// Where things lie in the package of one platform.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Payload {
    /// The dynamic loader of the C library it was built for, an absolute path of the machine.
    pub loader: String,
    /// What is started.
    pub executable: String,
    /// What else must be there and executable.
    pub programs: Vec<String>,
    /// Folders that must come first on its PATH.
    pub path_dirs: Vec<String>,
}

/// Why a build's folder cannot be used.
#[derive(Debug, Error)]
pub enum BuildError {
    /// It names a file that is not there.
    #[error("the folder of build `{build}` has no `{file}`")]
    NoFile {
        /// The folder's name.
        build: String,
        /// The missing file.
        file: String,
    },
    /// A file is not what its format asks for.
    #[error("read `{file}` of build `{build}`: {reason}")]
    Malformed {
        /// The folder's name.
        build: String,
        /// The file.
        file: String,
        /// What is wrong with it, and where.
        reason: String,
    },
}

impl TryFrom<u32> for Format {
    type Error = String;

    fn try_from(number: u32) -> Result<Self, Self::Error> {
        match number {
            1 => Ok(Self::One),
            other => Err(format!("format {other} is not known here, only 1 is")),
        }
    }
}

impl Build {
    /// Reads a build from the files of its folder.
    pub fn from_files(folder: &str, files: Files) -> Result<Self, BuildError> {
        let facts: Facts = parse(folder, &files, "build.toml")?;
        let profile = parse(folder, &files, "profile.toml")?;
        let NotApplicableFile {
            clause: not_applicable,
        } = parse(folder, &files, "not-applicable.toml")?;
        let DeviationsFile {
            deviation: deviations,
        } = parse(folder, &files, "deviations.toml")?;
        let contradiction = |reason: String| {
            Err(BuildError::Malformed {
                build: folder.into(),
                file: "build.toml".into(),
                reason,
            })
        };
        if facts.name != folder {
            return contradiction(format!(
                "its name is `{}`, its folder's `{folder}`",
                facts.name
            ));
        }
        for file in facts.fetch.files().chain([&facts.tools.bash_pin]) {
            text_of(folder, &files, file)?;
        }
        if let Fetch::Wheel(wheel) = &facts.fetch
            && !wheel.sha256.keys().eq(facts.platform.keys())
        {
            return contradiction(
                "`fetch.wheel.sha256` and `platform` name different platforms".into(),
            );
        }
        Ok(Self {
            facts,
            profile,
            not_applicable,
            deviations,
            files,
        })
    }

    /// Gives what the command line calls it.
    pub fn name(&self) -> &str {
        &self.facts.name
    }

    /// Gives the bytes of a file of its folder.
    pub fn file(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(AsRef::as_ref)
    }

    /// Gives the hash that identifies what a platform gets: the wheel's own, or that of every file
    /// the clients read.
    pub fn hash(&self, platform: &str) -> Option<String> {
        match &self.facts.fetch {
            Fetch::Wheel(wheel) => wheel.sha256.get(platform).cloned(),
            Fetch::NpmLock(_) => {
                let mut sum = Sha256::new();
                for path in self.facts.fetch.files() {
                    let bytes = self.file(path)?;
                    // Lengths keep two different sets of files from running into one.
                    sum.update(format!("{path} {}\n", bytes.len()));
                    sum.update(bytes);
                }
                Some(format!("{:x}", sum.finalize()))
            }
        }
    }
}

impl Fetch {
    /// Names the files that the package clients read.
    pub fn files(&self) -> impl Iterator<Item = &String> {
        let (first, second) = match self {
            Self::Wheel(wheel) => (std::slice::from_ref(&wheel.requirements), &[][..]),
            Self::NpmLock(lock) => (&lock.files[..], &lock.client_files[..]),
        };
        first.iter().chain(second)
    }
}

/// Reads a TOML file of the folder.
fn parse<T: DeserializeOwned>(build: &str, files: &Files, file: &str) -> Result<T, BuildError> {
    toml::from_str(text_of(build, files, file)?).map_err(|error| BuildError::Malformed {
        build: build.into(),
        file: file.into(),
        reason: error.to_string(),
    })
}

/// Gives a file of the folder as text.
fn text_of<'a>(build: &str, files: &'a Files, file: &str) -> Result<&'a str, BuildError> {
    let bytes = files.get(file).ok_or_else(|| BuildError::NoFile {
        build: build.into(),
        file: file.into(),
    })?;
    str::from_utf8(bytes).map_err(|error| BuildError::Malformed {
        build: build.into(),
        file: file.into(),
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::dsh::{builds, find};

    /// Reads the first build again, with one of its files changed.
    fn changed(file: &str, change: impl Fn(&str) -> String) -> Result<Build, String> {
        let mut files = find("0.2.1").unwrap().files;
        let text = change(str::from_utf8(&files[file]).unwrap());
        files.insert(file.into(), Cow::Owned(text.into_bytes()));
        Build::from_files("0.2.1", files).map_err(|error| error.to_string())
    }

    #[test]
    fn an_unknown_word_is_shown_where_it_stands() {
        let error = changed("build.toml", |text| text.replace("json_flag", "jason_flag"));
        let error = error.unwrap_err();
        assert!(error.starts_with("read `build.toml` of build `0.2.1`: TOML parse error at line"));
        assert!(
            error.contains("unknown field `jason_flag`, expected one of"),
            "{error}"
        );
    }

    #[test]
    fn a_day_that_does_not_exist_is_refused() {
        let error = changed("deviations.toml", |text| text.replace("-05-31", "-05-32"));
        assert!(error.unwrap_err().contains("`deviations.toml`"));
    }

    #[test]
    fn a_build_under_another_name_than_its_folder_is_refused() {
        let error = changed("build.toml", |text| {
            text.replace("name = \"0.2.1\"", "name = \"x\"")
        });
        assert!(
            error
                .unwrap_err()
                .ends_with("its name is `x`, its folder's `0.2.1`")
        );
    }

    #[test]
    fn a_file_that_build_toml_names_must_be_there() {
        let mut files = find("rc8").unwrap().files;
        files.remove("pnpm/package-lock.json");
        let error = Build::from_files("rc8", files).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the folder of build `rc8` has no `pnpm/package-lock.json`"
        );
    }

    #[test]
    fn every_wheel_that_is_accepted_here_is_one_that_pip_accepts() {
        let build = find("0.2.1").unwrap();
        let Fetch::Wheel(wheel) = &build.facts.fetch else {
            panic!("0.2.1 is a wheel")
        };
        let pinned = str::from_utf8(build.file(&wheel.requirements).unwrap()).unwrap();
        assert_eq!(wheel.sha256.len(), 2);
        for hash in wheel.sha256.values() {
            assert!(pinned.contains(&format!("--hash=sha256:{hash}")), "{hash}");
        }
    }

    #[test]
    fn a_change_in_any_file_that_a_client_reads_is_another_hash() {
        let build = find("rc8").unwrap();
        let names: Vec<_> = build.facts.fetch.files().cloned().collect();
        assert_eq!(names.len(), 5);
        for name in names {
            let mut other = build.clone();
            other.files.insert(name.clone(), Cow::Borrowed(b"{}"));
            assert_ne!(other.hash("linux-x64"), build.hash("linux-x64"), "{name}");
        }
    }

    #[test]
    fn the_pinned_bash_tool_of_every_build_has_the_arguments_that_build_toml_names() {
        for build in builds().unwrap() {
            let bash = &build.facts.tools.bash;
            let pin = build.file(&build.facts.tools.bash_pin).unwrap();
            let pin: serde_json::Value = serde_json::from_slice(pin).unwrap();
            assert_eq!(pin["function"]["name"], *bash.name);
            let properties = &pin["function"]["parameters"]["properties"];
            let arguments = [
                &bash.command,
                &bash.description,
                &bash.background,
                &bash.workdir,
                &bash.timeout_ms,
            ];
            for argument in arguments {
                assert!(
                    properties.get(argument).is_some(),
                    "{}: {argument}",
                    build.name()
                );
            }
        }
    }
}
