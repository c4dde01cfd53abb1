//! Records on disk: written whole by rename under plumb's lock, read, touched, reaped.
//!
//! Called by the daemon's registry and by the listing commands, from several processes at once. plumb also syncs
//! to the disk; the fake does not, since rename alone keeps every reader whole and no power is lost in a test.

use std::fs::{self, File, FileTimes, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use nix::fcntl::{Flock, FlockArg};

use super::{Record, SessionId};
use crate::dirs::Dirs;
use crate::fault::{Fault, Faults};
use crate::process::Process;
use crate::time;

/// How long an ended record stays (facts, section 4).
pub(crate) const ENDED_STAYS: Duration = Duration::from_hours(24);

/// The sessions directory.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    dir: PathBuf,
    faults: Faults,
}

impl Store {
    /// Makes the directory if it is missing; the data folder above it is private.
    pub(crate) fn open(dirs: &Dirs, faults: &Faults) -> io::Result<Self> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&dirs.data)?;
        let dir = dirs.sessions();
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(&dir)?;
        Ok(Self {
            dir,
            faults: faults.clone(),
        })
    }

    fn path(&self, id: &SessionId) -> PathBuf {
        self.dir.join(format!("{id}.json"))
    }

    fn lock(&self) -> io::Result<Flock<File>> {
        let path = self.dir.join(".sessions.lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)?;
        Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, errno)| errno.into())
    }

    /// Writes a record so that a reader sees the old text or the new one, never a part.
    pub(crate) fn save(&self, record: &Record) -> io::Result<()> {
        let mut text = if self.faults.has(Fault::RecordOutsideNamespace) {
            serde_json::to_string_pretty(&Record {
                namespace: None,
                ..record.clone()
            })?
        } else {
            serde_json::to_string_pretty(record)?
        };
        text.push('\n');
        let _lock = self.lock()?;
        if self.faults.has(Fault::TornRecord) {
            return self.save_torn(&record.id, &text);
        }
        let mut temp = tempfile::Builder::new()
            .prefix(".session-")
            .suffix(".json.tmp")
            .permissions(Permissions::from_mode(0o600))
            .tempfile_in(&self.dir)?;
        temp.write_all(text.as_bytes())?;
        temp.persist(self.path(&record.id))
            .map_err(|error| error.error)?;
        Ok(())
    }

    /// The fault: truncates in place and stops half-way long enough for a poll of 50 ms to see it.
    fn save_torn(&self, id: &SessionId, text: &str) -> io::Result<()> {
        let mut file = File::create(self.path(id))?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        let (first, second) = text.as_bytes().split_at(text.len() / 2);
        file.write_all(first)?;
        std::thread::sleep(Duration::from_millis(60));
        file.write_all(second)
    }

    /// Marks activity: the modification time moves, the file stays the same.
    pub(crate) fn touch(&self, id: &SessionId) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(self.path(id))?;
        file.set_times(FileTimes::new().set_modified(SystemTime::now()))
    }

    pub(crate) fn remove(&self, id: &SessionId) -> io::Result<()> {
        let _lock = self.lock()?;
        fs::remove_file(self.path(id))
    }

    /// Every record that can be read; dotfiles and strangers are none.
    pub(crate) fn read_all(&self) -> io::Result<Vec<Record>> {
        let mut records = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let name = entry?.file_name();
            let Some(name) = name.to_str() else { continue };
            let is_json = Path::new(name).extension().is_some_and(|end| end == "json");
            if name.starts_with('.') || !is_json {
                continue;
            }
            // A record may be reaped between the listing and the reading.
            let Ok(text) = fs::read(self.dir.join(name)) else {
                continue;
            };
            records.extend(serde_json::from_slice::<Record>(&text).ok());
        }
        records.sort_by(|a, b| (a.started_at, &a.id).cmp(&(b.started_at, &b.id)));
        Ok(records)
    }

    /// What any listing does first: deletes old ended records, ends those whose daemon is gone.
    pub(crate) fn reap(&self) -> io::Result<Vec<Record>> {
        let mut kept = Vec::new();
        for mut record in self.read_all()? {
            if record.is_live() && Process::look(record.pid).is_none() {
                record.ended_at = Some(Timestamp::now());
                self.save(&record)?;
            }
            if is_old(&record) {
                self.remove(&record.id)?;
            } else {
                kept.push(record);
            }
        }
        Ok(kept)
    }
}

/// Ended longer ago than plumb keeps it.
pub(crate) fn is_old(record: &Record) -> bool {
    record
        .ended_at
        .is_some_and(|ended| time::since(ended) > ENDED_STAYS)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::setting::Setting;

    fn store(home: &tempfile::TempDir) -> Store {
        let home = home.path().to_str().unwrap();
        let dirs = Dirs::resolve(&Setting::for_test(&[(crate::dirs::ACCOUNT_HOME, home)])).unwrap();
        Store::open(&dirs, &Faults::default()).unwrap()
    }

    #[test]
    fn a_listing_deletes_what_is_a_day_old_and_ends_what_a_dead_daemon_left() {
        let home = tempfile::tempdir().unwrap();
        let store = store(&home);
        let mut old = Record::accepted("old-oak".into(), "dev");
        old.ended_at = Some("2020-01-01T00:00:00Z".parse().unwrap());
        let mut orphan = Record::accepted("lone-elm".into(), "dev");
        orphan.pid = u32::MAX >> 1;
        let live = Record::accepted("calm-fern".into(), "dev");
        for record in [&old, &orphan, &live] {
            store.save(record).unwrap();
        }
        let kept: Vec<_> = store
            .reap()
            .unwrap()
            .into_iter()
            .map(|r| (r.name.clone(), r.is_live()))
            .collect();
        assert_eq!(
            kept,
            [
                ("lone-elm".to_owned(), false),
                ("calm-fern".to_owned(), true)
            ]
        );
        assert_eq!(store.read_all().unwrap().len(), 2);
    }

    #[test]
    fn a_touch_moves_the_time_and_keeps_the_file() {
        let home = tempfile::tempdir().unwrap();
        let store = store(&home);
        let record = Record::accepted("calm-fern".into(), "dev");
        store.save(&record).unwrap();
        let path = store.path(&record.id);
        let past = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_times(FileTimes::new().set_modified(past)).unwrap();
        let before = fs::metadata(&path).unwrap();
        store.touch(&record.id).unwrap();
        let after = fs::metadata(&path).unwrap();
        assert_eq!(before.ino(), after.ino());
        assert!(after.modified().unwrap() > past);
        assert_eq!(after.mode() & 0o777, 0o600);
    }
}
