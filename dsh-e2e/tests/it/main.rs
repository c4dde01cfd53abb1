//! End-to-end tests of the shipped binary. They drive real dsh wherever dsh is meant.

mod ends;
mod main_job;
mod red_control;
mod refusals;
mod room;
mod tripwire;
