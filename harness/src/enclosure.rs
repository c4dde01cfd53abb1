//! A room of its own for a whole run: a sandbox made of kernel namespaces, or a container that somebody else made.
//!
//! Called by the hidden verb `enclosed`, which is the first process of the sandbox and the entry of the container. It
//! lays the floor ([`floor`]), counts plumb's daemons while the run lasts ([`census`]) and carries signals to the
//! run and its exit out ([`keeper`]). It must never be called in the process that drives scenarios.

pub mod census;
pub mod floor;
pub mod keeper;
pub mod loopback;
