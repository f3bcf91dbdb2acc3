//! Failures on real processes, one after the other, under a load that remembers everything.
//!
//! In:  a [`Plan`](plan::Plan): how long, how many nodes, which failures, a seed. Out: a report of one page, and
//! whether every history was linearizable.
//!
//! Reading order: `cluster` (the nodes that it happens to), `harm` (makes it
//! happen), `round` (one failure under load), `campaign` (all of them), `report`.
//!
//! Invariants:
//! - A round ends only when the cluster is whole again: what the next one finds is its own doing.
//! - The same seed makes the same failures in the same order; what the clients do between is up to the machine.
//!
//! Not here: the load and the checker (`brickyard-torture`, `brickyard-history`); every schedule that no real machine
//! would come to in a lifetime (the simulator).

pub(crate) mod campaign;
mod cluster;
mod harm;
pub(crate) mod plan;
mod report;
mod round;
pub(crate) mod strangers;
