//! The reference agent seen from outside, and each of its faults against the honest run.

mod command_line;
mod faults;
mod mcp;
mod model;
mod observe;
mod room;
mod sessions;
