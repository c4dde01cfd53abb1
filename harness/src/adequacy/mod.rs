//! Proof that green means something: green evidence with one fact changed, judged again; and what the named faults came to.
//!
//! Called by `dsh-e2e adequacy`. It must never start a process, and never change a verdict.

mod change;
mod faults;
mod part;
mod report;
mod survey;
mod whole;

pub use change::Change;
pub use faults::{Fault, Faults, faults};
pub use report::{Report, Reviewed, ReviewedError, page, reviewed, weigh};
pub use survey::{Sight, Survey, Tally, survey};
