//! The replication protocol as a small model, to be checked in its whole state space.
//!
//! In:  a [`Scope`]: what may happen, and how often. A [`Rule`] that is taken out, or none. Out: how many states
//! there are, and the shortest way to one in which a claim does not hold, if there is one.
//!
//! ```text
//! Scope ─► actions: writes, frames, adopted maps, views, crashes ... ─► state ─► claims (judge.rs)
//!                        ▲ without a rule: what it forbids as well
//! ```
//! The model is the protocol of docs/protocol.md, for one partition on three bricks: the same messages, in the
//! same order, with the same decisions. docs/model.md maps each action to the functions that do it in the
//! product. It is small because what the protocol does not depend on is left out: keys and values (each write
//! has a key of its own), several partitions on a stream, time (a lease runs out at any moment), the agreement
//! within the control plane, tombstones, request ids, liveness.
//!
//! Not here: the product's code, which the model does not use. `crates/sim` runs that.
//! Source: the same as the protocol's; the checker is `stateright`.

mod action;
mod adopt;
mod fault;
mod follow;
mod judge;
mod lead;
mod log;
mod map;
mod model;
mod plane;
mod rule;
mod scope;
mod state;
mod world;

pub use action::Action;
pub use model::{Found, Replication};
pub use rule::{Rule, Rules};
pub use scope::{Durability, Scope};
pub use state::{Replica, State};
