//! Placeholder until the first slice lands.
pub mod agent;
