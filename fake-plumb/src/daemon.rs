//! The daemon: everything that one plumb knows, on one thread.
//!
//! Started by `daemon` (in the foreground), which serve and restart spawn. Every other process reaches it through
//! its two sockets only.

pub(crate) mod call;
pub(crate) mod conn;
pub(crate) mod control;
mod handshake;
pub(crate) mod listen;
pub(crate) mod second;
pub(crate) mod session;
pub(crate) mod takeover;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::effects::Ledger;
use crate::fault::Fault;
use crate::generation::Generation;
use crate::log::Log;
use crate::mail::Mailroom;
use crate::mcp::schema::Tool;
use crate::namespace::{Book, NamespaceError};
use crate::record::registry::Registry;
use crate::setting::Setting;
use crate::state_db::StateDb;

use conn::Conn;

/// The state of one daemon; each part has one owner, and it is this.
#[derive(Debug)]
pub(crate) struct Daemon {
    setting: Setting,
    pub(crate) log: Rc<Log>,
    pub(crate) records: Registry,
    pub(crate) state_db: StateDb,
    pub(crate) book: RefCell<Book>,
    pub(crate) mail: Mailroom,
    pub(crate) ledger: Ledger,
    conns: RefCell<BTreeMap<u64, Rc<Conn>>>,
    next_conn: Cell<u64>,
    /// Every tool of this generation.
    tools: Vec<Tool>,
    /// Tells one run of the daemon from the next.
    instance: String,
}

impl Daemon {
    pub(crate) fn generation(&self) -> Generation {
        self.setting.generation
    }

    pub(crate) fn has_fault(&self, fault: Fault) -> bool {
        self.setting.faults.has(fault)
    }

    fn conns(&self) -> Vec<Rc<Conn>> {
        self.conns.borrow().values().cloned().collect()
    }

    /// Lets the namespaces' time pass and cuts the connections of those that ended.
    pub(crate) fn tick_namespaces(&self) -> Result<(), NamespaceError> {
        self.book.borrow_mut().tick()?;
        let book = self.book.borrow();
        for conn in self.conns() {
            if conn
                .state()
                .namespace
                .as_ref()
                .is_some_and(|id| !book.is_active(id))
            {
                conn.cut();
            }
        }
        Ok(())
    }
}
