//! The control plane: which bricks may act, and what is done when a node fails, comes back, joins or leaves.
//!
//! In:  the catalog as it changes, what nodes ask and report, rounds that a majority answered, the time. Out:
//! grants, proposals of changes, questions to nodes; on a node, until when each of its bricks may act.
//!
//! ```text
//!            node                                    leader
//!  loops ─▶ NodeLease ── LeaseRequest ──▶ LeaseKeeper ─┐      ┌─▶ Propose ─▶ (Raft) ─▶ Catalog ─┐
//!    ▲          └◀──────────  LeaseGrant  ──────────┘       └▶ Controller ◀─────────────────────────┘
//!    └ catalog                                 voter: Heard
//! ```
//! Invariants:
//! - All of the leader's knowledge here is volatile: a new leader asks, waits, and loses nothing but time.
//! - Nothing here is in effect by itself: a decision is a change of the catalog, checked again when it is
//!   applied (`metadata`).
//! - There is at most one unacknowledged proposal.
//!
//! Not here: agreement on changes (`consensus`), the catalog's own rules (`metadata`), what a brick does with
//! a view (`replication`), connections and clocks (`server`).

mod config;
mod controller;
mod leader_contact;
mod lease_keeper;
mod membership;
pub mod message;
mod node_lease;
mod output;

pub use config::{ControlConfig, HotConfig};
pub use controller::{Controller, LogEnds};
pub use leader_contact::LeaderContact;
pub use lease_keeper::{LeaseKeeper, RoundToken};
pub use membership::{Membership, MembershipChange};
pub use node_lease::{LoopState, NodeLease, needs_none};
pub use output::{ControlOutput, ProposalToken};
