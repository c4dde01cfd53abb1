//! The journal: a thread that puts chunks together to lines and appends them to a file.
//!
//! Fed by the copiers over an unbounded channel, so that they never wait for a disk; what waits in it is bounded by
//! dropping, which is counted and told in the last line. Must never be waited for but at the very end.

use std::{
    fs::File,
    io::Write as _,
    path::Path,
    process::ExitStatus,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread::JoinHandle,
};

use super::{
    TapError,
    line::Line,
    record::{Direction, Eof, Exit, Frame, Record, Why, token},
};
use crate::{clock::Moment, plumb::secret::Secret, supervise::status_of_exit};

/// Bytes that may wait for the disk.
const WAITING: u64 = 64 << 20;

/// Bytes gathered for one write while more is waiting.
const BATCH: usize = 256 << 10;

/// What the journal is told.
#[derive(Debug)]
pub(super) enum Note {
    /// A finished line of the journal.
    Record(Box<Record>),
    /// Bytes of a stream.
    Chunk {
        direction: Direction,
        at: Moment,
        bytes: Vec<u8>,
    },
    /// A stream ended.
    End {
        direction: Direction,
        at: Moment,
        why: Why,
        bytes: u64,
    },
}

/// The open journal.
#[derive(Debug)]
pub(super) struct Journal {
    writer: Writer,
    thread: JoinHandle<()>,
}

/// One copier's hold on the journal.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    notes: mpsc::Sender<Note>,
    load: Arc<Load>,
}

/// What waits and what was dropped.
#[derive(Debug, Default)]
struct Load {
    waiting: AtomicU64,
    lost: AtomicU64,
}

impl Journal {
    /// Opens the journal of this process.
    pub(super) fn open(dir: &Path, at: Moment) -> Result<Self, TapError> {
        use std::os::unix::fs::OpenOptionsExt as _;
        let path = dir.join(format!("{}-{}.jsonl", at.0, std::process::id()));
        let file = File::options()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(|source| TapError::Journal { path, source })?;
        let (notes, told) = mpsc::channel();
        let load = Arc::new(Load::default());
        let pages = Pages {
            file,
            errors: 0,
            token: token(),
            load: Arc::clone(&load),
            lines: Default::default(),
        };
        let thread = std::thread::spawn(move || pages.keep(&told));
        Ok(Self {
            writer: Writer { notes, load },
            thread,
        })
    }

    pub(super) fn writer(&self) -> Writer {
        self.writer.clone()
    }

    pub(super) fn note(&self, note: Note) {
        self.writer.note(note);
    }

    /// Writes the last line and waits until it is in the file.
    pub(super) fn close(self, status: ExitStatus) {
        let exit = Exit {
            t_us: Moment::now(),
            status: status_of_exit(status),
            lost_bytes: 0,
            write_errors: 0,
        };
        self.writer.note(Note::Record(Box::new(Record::Exit(exit))));
        // The client's copier may hold a writer for ever, so the last line, not the last writer, ends the thread.
        drop(self.thread.join());
    }
}

impl Writer {
    pub(super) fn note(&self, note: Note) {
        // The thread ends with the last line only.
        drop(self.notes.send(note));
    }

    /// Notes bytes that were delivered.
    pub(super) fn chunk(&self, direction: Direction, at: Moment, bytes: &[u8]) {
        let size = bytes.len() as u64;
        if self.load.waiting.fetch_add(size, Ordering::Relaxed) > WAITING {
            self.load.waiting.fetch_sub(size, Ordering::Relaxed);
            self.load.lost.fetch_add(size, Ordering::Relaxed);
            return;
        }
        self.note(Note::Chunk {
            direction,
            at,
            bytes: bytes.to_vec(),
        });
    }
}

/// What the thread works on.
struct Pages {
    file: File,
    errors: u64,
    token: Secret,
    load: Arc<Load>,
    lines: [Line; 3],
}

impl Pages {
    fn keep(mut self, told: &mpsc::Receiver<Note>) {
        let mut batch = Vec::new();
        while let Ok(note) = told.recv() {
            let mut is_last = self.take(note, &mut batch);
            while !is_last && batch.len() < BATCH {
                match told.try_recv() {
                    Ok(note) => is_last = self.take(note, &mut batch),
                    Err(_) => break,
                }
            }
            if !batch.is_empty() && self.file.write_all(&batch).is_err() {
                self.errors += 1;
            }
            batch.clear();
            if is_last {
                return;
            }
        }
    }

    /// Adds what a note makes to the batch; true after the last line.
    fn take(&mut self, note: Note, batch: &mut Vec<u8>) -> bool {
        match note {
            Note::Record(mut record) => {
                let is_last = match &mut *record {
                    Record::Exit(exit) => {
                        self.flush_partial(exit.t_us, batch);
                        exit.lost_bytes = self.load.lost.load(Ordering::Relaxed);
                        exit.write_errors = self.errors;
                        true
                    }
                    _ => false,
                };
                self.put(&record, batch);
                is_last
            }
            Note::Chunk {
                direction,
                at,
                bytes,
            } => {
                self.load
                    .waiting
                    .fetch_sub(bytes.len() as u64, Ordering::Relaxed);
                let mut rest = bytes.as_slice();
                while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
                    self.lines[direction as usize].push(&rest[..end]);
                    let frame = self.lines[direction as usize].finish(direction, at);
                    self.put(&Record::Frame(self.marked(frame)), batch);
                    rest = &rest[end + 1..];
                }
                self.lines[direction as usize].push(rest);
                false
            }
            Note::End {
                direction,
                at,
                why,
                bytes,
            } => {
                self.partial(direction, at, batch);
                self.put(
                    &Record::Eof(Eof {
                        dir: direction,
                        t_us: at,
                        why,
                        bytes,
                    }),
                    batch,
                );
                false
            }
        }
    }

    fn flush_partial(&mut self, at: Moment, batch: &mut Vec<u8>) {
        for direction in [Direction::C2s, Direction::S2c, Direction::Err] {
            self.partial(direction, at, batch);
        }
    }

    /// Writes a line that will not be finished.
    fn partial(&mut self, direction: Direction, at: Moment, batch: &mut Vec<u8>) {
        let line = &mut self.lines[direction as usize];
        if !line.is_empty() {
            let frame = Frame {
                partial: true,
                ..line.finish(direction, at)
            };
            self.put(&Record::Frame(self.marked(frame)), batch);
        }
    }

    /// The frame, which says of itself whether the token has to be taken out of it.
    fn marked(&self, frame: Frame) -> Frame {
        let spelt = serde_json::Value::from(frame.text.as_str()).to_string();
        Frame {
            masked: self.token.is_in(&spelt),
            ..frame
        }
    }

    fn put(&mut self, record: &Record, batch: &mut Vec<u8>) {
        match serde_json::to_string(record) {
            Ok(line) => {
                let line = if self.token.is_in(&line) {
                    self.token.mask(&line)
                } else {
                    line
                };
                batch.extend_from_slice(line.as_bytes());
                batch.push(b'\n');
            }
            Err(_) => self.errors += 1,
        }
    }
}
