//! The daemon's own view of the records: every one it knows, in memory, written through.
//!
//! Owned by one daemon, on one thread. A record that cannot be written is reported in the log; the session goes on.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use jiff::Timestamp;

use super::file::{Store, is_old};
use super::{Record, SessionId, name};
use crate::log::{Level, Log};
use crate::namespace::NamespaceId;

/// All records of one daemon.
#[derive(Debug)]
pub(crate) struct Registry {
    store: Store,
    log: Rc<Log>,
    known: RefCell<BTreeMap<SessionId, Record>>,
}

impl Registry {
    /// Reads what earlier daemons left, ended as a listing would end it.
    pub(crate) fn open(store: Store, log: Rc<Log>) -> io::Result<Self> {
        let known = store
            .reap()?
            .into_iter()
            .map(|record| (record.id.clone(), record))
            .collect();
        Ok(Self {
            store,
            log,
            known: RefCell::new(known),
        })
    }

    /// Writes the record of a connection that was just accepted; `is_reserved` names stay free.
    pub(crate) fn register(
        &self,
        version: &str,
        is_reserved: impl Fn(&Record) -> bool,
        fill: impl FnOnce(&mut Record),
    ) -> SessionId {
        self.drop_old();
        let name = self.fresh_name(is_reserved);
        let mut record = Record::accepted(name, version);
        fill(&mut record);
        let id = record.id.clone();
        self.write(&record);
        self.known.borrow_mut().insert(id.clone(), record);
        id
    }

    /// Changes a record and writes it, if that changed anything.
    pub(crate) fn update(&self, id: &SessionId, change: impl FnOnce(&mut Record)) {
        let mut known = self.known.borrow_mut();
        let Some(record) = known.get_mut(id) else {
            return;
        };
        let before = record.clone();
        change(record);
        if *record != before {
            self.write(record);
        }
    }

    /// Marks activity on a record.
    pub(crate) fn touch(&self, id: &SessionId) {
        if let Err(error) = self.store.touch(id) {
            self.report(id, &error);
        }
    }

    /// Ends a session and the rows of agents that hang on it.
    pub(crate) fn end(&self, id: &SessionId) {
        let rows: Vec<_> = {
            let known = self.known.borrow();
            let own = |record: &&Record| record.id == *id || record.parent_id.as_ref() == Some(id);
            known
                .values()
                .filter(own)
                .filter(|r| r.is_live())
                .map(|r| r.id.clone())
                .collect()
        };
        for row in rows {
            self.update(&row, |record| record.ended_at = Some(Timestamp::now()));
        }
    }

    pub(crate) fn get(&self, id: &SessionId) -> Option<Record> {
        self.known.borrow().get(id).cloned()
    }

    /// The records of one namespace (or of none) that `wanted` picks, oldest first.
    pub(crate) fn select(
        &self,
        namespace: Option<&NamespaceId>,
        wanted: impl Fn(&Record) -> bool,
    ) -> Vec<Record> {
        let known = self.known.borrow();
        let own = known
            .values()
            .filter(|record| record.namespace.as_ref() == namespace);
        let mut records: Vec<_> = own.filter(|record| wanted(record)).cloned().collect();
        records.sort_by(|a, b| (a.started_at, &a.id).cmp(&(b.started_at, &b.id)));
        records
    }

    /// Whether any live session of any namespace but `except` has this name, whatever its case.
    pub(crate) fn is_name_taken(&self, name: &str, except: &SessionId) -> bool {
        let known = self.known.borrow();
        known.values().any(|record| {
            record.is_live() && record.id != *except && record.name.eq_ignore_ascii_case(name)
        })
    }

    pub(crate) fn live_count(&self) -> usize {
        self.known
            .borrow()
            .values()
            .filter(|record| record.is_live())
            .count()
    }

    fn fresh_name(&self, is_reserved: impl Fn(&Record) -> bool) -> String {
        let known = self.known.borrow();
        // Whether a name is reserved is dear to ask, so it is asked of the few that have it.
        name::fresh(|name| {
            let mut namesakes = known
                .values()
                .filter(|record| record.name.eq_ignore_ascii_case(name));
            namesakes.any(|record| record.is_live() || is_reserved(record))
        })
    }

    /// Reaps what is a day old; called at each registration and by the daemon's timer.
    pub(crate) fn drop_old(&self) {
        let old: Vec<_> = {
            let known = self.known.borrow();
            known
                .values()
                .filter(|record| is_old(record))
                .map(|record| record.id.clone())
                .collect()
        };
        for id in old {
            self.known.borrow_mut().remove(&id);
            if let Err(error) = self.store.remove(&id) {
                self.report(&id, &error);
            }
        }
    }

    fn write(&self, record: &Record) {
        if let Err(error) = self.store.save(record) {
            self.report(&record.id, &error);
        }
    }

    fn report(&self, id: &SessionId, error: &io::Error) {
        // A listing in another process may have reaped the record first.
        if error.kind() != io::ErrorKind::NotFound {
            let error = error.to_string();
            self.log.of(
                id,
                Level::Error,
                "daemon: session record not written",
                &[("err", &error)],
            );
        }
    }
}
