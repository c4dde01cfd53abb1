//! The jsonl backend: a directory for each session, in it the log and the lock of whoever writes to it.
//!
//! `<root>/--<cwd>--/<encoded id>/session.v4.jsonl[.zstd]`. The bucket is for people; the encoded id is injective. A log
//! is created by its first flush, and must never be created by a question about it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::StoreError;
use crate::session::Session;
use crate::session::event::Event;
use crate::session::header::Header;
use crate::session::id::SessionId;

/// The magic number of a zstd frame (RFC 8878, section 3.1.1).
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// How a log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// As text.
    None,
    /// As zstd frames, one for each flush.
    Zstd,
}

/// The backend over its configuration.
#[derive(Debug, Clone, Copy)]
pub struct Jsonl<'a> {
    /// Where the buckets lie.
    pub root: &'a Path,
    /// How logs are written.
    pub compression: Compression,
}

/// A session that this process writes to.
#[derive(Debug)]
pub struct Live {
    /// How many of its events are durable.
    pub events: usize,
    path: PathBuf,
    begun: bool,
    /// Held as long as the session lives.
    lock: Option<File>,
}

/// A log as it lies on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// The first line.
    pub header: Header,
    /// The other whole lines.
    pub events: Vec<Event>,
    /// How many bytes hold whole lines in whole frames.
    pub whole: u64,
    /// How many bytes follow them.
    pub torn: u64,
}

impl Live {
    /// A session whose backend gives it no file.
    pub fn without_file(events: usize) -> Self {
        Self {
            events,
            path: PathBuf::new(),
            begun: true,
            lock: None,
        }
    }
}

impl Drop for Live {
    /// Closing the file is not enough: a command that is being started may hold a copy of the descriptor.
    fn drop(&mut self) {
        if let Some(lock) = &self.lock {
            // The file is closed next, whatever the system says.
            lock.unlock().ok();
        }
    }
}

impl Jsonl<'_> {
    /// Where a session's log is or will be; nothing for an id that no file can carry.
    pub fn path(&self, header: &Header) -> Option<PathBuf> {
        let id = encoded(header.id.as_str())?;
        Some(
            self.root
                .join(bucket(header.cwd.as_deref()))
                .join(id)
                .join(self.file()),
        )
    }

    /// Takes the lock, and finds out what is durable already. A torn tail was never durable and is cut off.
    pub fn open(&self, header: &Header) -> Result<Live, StoreError> {
        let path = self.path(header).ok_or(StoreError::EmptyId)?;
        if is_unwritten(&path) {
            return Ok(Live {
                events: 0,
                path,
                begun: false,
                lock: None,
            });
        }
        let lock = lock(&path, &header.id)?;
        let log = read(&path)?;
        if log.torn > 0 {
            let file = OpenOptions::new()
                .write(true)
                .open(&path)
                .map_err(failed("open", &path))?;
            file.set_len(log.whole)
                .map_err(failed("cut the torn tail of", &path))?;
        }
        Ok(Live {
            events: log.events.len(),
            path,
            begun: true,
            lock: Some(lock),
        })
    }

    /// Appends what is not durable yet.
    pub fn append(&self, live: &mut Live, session: &Session) -> Result<(), StoreError> {
        let mut lines = Vec::new();
        if !live.begun {
            let folder = live.path.parent().unwrap_or(self.root);
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)
                .map_err(failed("create", folder))?;
            live.lock = Some(lock(&live.path, &session.header().id)?);
            push_line(&mut lines, session.header());
        }
        for event in session.events().get(live.events..).unwrap_or_default() {
            push_line(&mut lines, event);
        }
        if lines.is_empty() {
            return Ok(());
        }
        let bytes = match self.compression {
            Compression::None => lines,
            Compression::Zstd => {
                zstd::encode_all(lines.as_slice(), 0).map_err(failed("compress", &live.path))?
            }
        };
        let mut options = OpenOptions::new();
        let mut file = options
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&live.path)
            .map_err(failed("open", &live.path))?;
        file.write_all(&bytes)
            .map_err(failed("append to", &live.path))?;
        live.begun = true;
        live.events = live.events.max(session.events().len());
        Ok(())
    }

    /// The log whose header carries an id, whatever bucket it lies in and however it is written.
    pub fn find(&self, id: &SessionId) -> Result<Option<Log>, StoreError> {
        let folder = encoded(id.as_str()).ok_or(StoreError::EmptyId)?;
        let Ok(buckets) = std::fs::read_dir(self.root) else {
            return Ok(None);
        };
        let mut paths: Vec<PathBuf> = buckets
            .flatten()
            .map(|entry| entry.path().join(&folder))
            .collect();
        paths.sort();
        for path in paths
            .iter()
            .flat_map(|folder| [folder.join(PLAIN), folder.join(PACKED)])
        {
            if !is_unwritten(&path) {
                let log = read(&path)?;
                if log.header.id == *id {
                    return Ok(Some(log));
                }
            }
        }
        Ok(None)
    }

    fn file(&self) -> &'static str {
        match self.compression {
            Compression::None => PLAIN,
            Compression::Zstd => PACKED,
        }
    }
}

const PLAIN: &str = "session.v4.jsonl";
const PACKED: &str = "session.v4.jsonl.zstd";

/// The name of the directory for sessions of one working directory: readable, and not injective.
fn bucket(cwd: Option<&str>) -> String {
    cwd.map_or_else(
        || "_no-cwd".to_owned(),
        |cwd| format!("--{}--", cwd.trim_matches('/').replace('/', "-")),
    )
}

/// An id as a file name: every character outside of letters, digits, `-` and `_` becomes `~` and the four hex digits of
/// each of its UTF-16 units, so two ids never share a name.
fn encoded(id: &str) -> Option<String> {
    if id.is_empty() {
        return None;
    }
    let name = |unit: u16| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' => {
            char::from(byte).to_string()
        }
        _ => format!("~{unit:04X}"),
    };
    Some(id.encode_utf16().map(name).collect::<Vec<_>>().concat())
}

/// Whether nothing was written yet: no file, or one that was created and no more.
fn is_unwritten(path: &Path) -> bool {
    path.metadata().map_or(true, |about| about.len() == 0)
}

/// Reads a log.
pub fn read(path: &Path) -> Result<Log, StoreError> {
    let bytes = std::fs::read(path).map_err(failed("read", path))?;
    let (text, frames) = if bytes.starts_with(&ZSTD_MAGIC) {
        unpacked(&bytes)
    } else {
        (bytes.clone(), bytes.len())
    };
    let whole = text
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |at| at + 1);
    let lines: Vec<&[u8]> = text[..whole]
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .collect();
    let bad = |line: usize| {
        move |error: serde_json::Error| StoreError::Line {
            path: path.to_owned(),
            line,
            what: error.to_string(),
        }
    };
    let first = lines.first().copied().unwrap_or_default();
    let header = serde_json::from_slice(first).map_err(bad(1))?;
    let rest = lines.iter().skip(1).enumerate();
    let events = rest
        .map(|(at, line)| serde_json::from_slice(line).map_err(bad(at + 2)))
        .collect::<Result<_, _>>()?;
    // A frame is written whole or not at all, so only a plain log ends in the middle of a line.
    let kept = if bytes.starts_with(&ZSTD_MAGIC) {
        frames
    } else {
        whole
    };
    Ok(Log {
        header,
        events,
        whole: kept as u64,
        torn: (bytes.len() - kept) as u64,
    })
}

/// The text of whole frames, and where the last of them ends.
fn unpacked(bytes: &[u8]) -> (Vec<u8>, usize) {
    let mut text = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let Ok(decoder) = zstd::stream::read::Decoder::with_buffer(rest) else {
            break;
        };
        let mut decoder = decoder.single_frame();
        let mut frame = Vec::new();
        if decoder.read_to_end(&mut frame).is_err() {
            break;
        }
        text.extend(frame);
        rest = decoder.finish();
    }
    (text, bytes.len() - rest.len())
}

fn push_line(lines: &mut Vec<u8>, line: &impl serde::Serialize) {
    let text = serde_json::to_vec(line).expect("headers and events have text keys only");
    lines.extend(text);
    lines.push(b'\n');
}

/// The lock beside a log; the system drops it with the process.
fn lock(log: &Path, id: &SessionId) -> Result<File, StoreError> {
    let path = log.with_file_name("session.lock");
    let mut options = OpenOptions::new();
    let file = options
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(failed("open", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(StoreError::Owned { id: id.clone() }),
        Err(std::fs::TryLockError::Error(source)) => Err(failed("lock", &path)(source)),
    }
}

/// An error of the system on a path.
pub(super) fn failed(verb: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::File { verb, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::event;
    use proptest::prelude::*;

    fn session(id: &str, turns: u64) -> Session {
        let mut session = Session::fresh(Header::root(
            SessionId::from(id.to_owned()),
            Some("/w/here".to_owned()),
        ));
        for turn in 1..=turns {
            session.append(event::turn_start(turn));
        }
        session
    }

    fn written(root: &Path, compression: Compression) -> PathBuf {
        let jsonl = Jsonl { root, compression };
        let mut live = jsonl.open(session("s", 0).header()).unwrap();
        jsonl.append(&mut live, &session("s", 1)).unwrap();
        jsonl.append(&mut live, &session("s", 3)).unwrap();
        jsonl.path(session("s", 0).header()).unwrap()
    }

    #[test]
    fn what_was_appended_in_parts_is_read_whole() {
        for compression in [Compression::None, Compression::Zstd] {
            let root = tempfile::tempdir().unwrap();
            let log = read(&written(root.path(), compression)).unwrap();
            assert_eq!(log.events.len(), 3);
            assert_eq!(log.torn, 0);
        }
    }

    #[test]
    fn a_torn_tail_is_cut_off_and_what_follows_can_be_read() {
        for compression in [Compression::None, Compression::Zstd] {
            let root = tempfile::tempdir().unwrap();
            let path = written(root.path(), compression);
            let bytes = std::fs::read(&path).unwrap();
            std::fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
            let jsonl = Jsonl {
                root: root.path(),
                compression,
            };
            let mut live = jsonl.open(session("s", 0).header()).unwrap();
            let kept = live.events;
            assert!(kept < 3, "{kept} events of a torn log");
            jsonl.append(&mut live, &session("s", 4)).unwrap();
            assert_eq!(read(&path).unwrap().events.len(), 4);
        }
    }

    #[test]
    fn a_session_that_is_written_to_cannot_be_opened_a_second_time() {
        let root = tempfile::tempdir().unwrap();
        let jsonl = Jsonl {
            root: root.path(),
            compression: Compression::None,
        };
        let mut live = jsonl.open(session("s", 0).header()).unwrap();
        jsonl.append(&mut live, &session("s", 1)).unwrap();
        assert!(matches!(
            jsonl.open(session("s", 1).header()),
            Err(StoreError::Owned { .. })
        ));
        drop(live);
        assert!(jsonl.open(session("s", 1).header()).is_ok());
    }

    #[test]
    fn odd_ids_and_a_missing_cwd_have_a_path_of_their_own() {
        let header = Header::root(SessionId::from("fixed/id é".to_owned()), None);
        let jsonl = Jsonl {
            root: Path::new("/r"),
            compression: Compression::Zstd,
        };
        let path = jsonl.path(&header).unwrap();
        assert_eq!(
            path,
            Path::new("/r/_no-cwd/fixed~002Fid~0020~00E9/session.v4.jsonl.zstd")
        );
    }

    proptest! {
        #[test]
        fn two_ids_never_share_a_name(one in "\\PC{1,4}", other in "\\PC{1,4}") {
            prop_assert_eq!(one == other, encoded(&one) == encoded(&other));
            prop_assert!(encoded(&one).unwrap().bytes().all(|byte| byte != b'/' && byte != b'.'));
        }
    }
}
