//! Parse, plan, stage, drive and judge session identity scenarios.
//!
//! The library behind `dsh-e2e`. It knows plumb and the model only as programs behind a command line and a trait; it
//! must never depend on the fakes or on the reference agent.

pub mod adequacy;
pub mod agent;
pub mod clock;
pub mod contract;
pub mod drive;
pub mod enclosure;
pub mod event;
pub mod evidence;
pub mod exit;
pub mod explain;
pub mod gate;
pub mod guard;
pub mod host;
pub mod judge;
pub mod library;
pub mod plan;
pub mod plumb;
pub mod probe;
pub mod report;
pub mod requirements;
pub mod scenario;
pub mod stage;
pub mod supervise;
pub mod tap;
pub mod verdict;
