//! Reports: folds over events and verdicts. A reporter has no clock, no IO and no state of its own choosing.

mod json;
mod plain;

pub use json::json_report;
pub use plain::{Plain, page};
