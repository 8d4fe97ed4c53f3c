//! The in-process suite: our crates against the embedded API server over loopback HTTP.
//!
//! Real time with short configured delays; tests wait for conditions (what a handler was
//! told, the server's log of requests), never for time to pass.

#[cfg(test)]
mod support;

#[cfg(test)]
mod factory;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod representations;
#[cfg(test)]
mod resources;
#[cfg(test)]
mod sync;
#[cfg(test)]
mod tombstones;
