//! Parse, plan, stage, drive and judge session identity scenarios.

pub mod clock;
pub mod gate;
pub mod plumb;
pub mod probe;
pub mod supervise;
pub mod tap;
