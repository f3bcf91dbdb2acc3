//! The deterministic simulator: a whole cluster and its clients in one thread and virtual time, and those who check
//! what they see.
//!
//! In:  a seed. Out: whether anything was wrong, and if so the shortest plan that it still happens with, as a
//! transcript.
//!
//! ```text
//!  seed ─▶ Shape (the cluster), Plan (clients, faults) ─▶ World ─▶ checkers ─▶ Outcome
//!                               ▲                                     │
//!                               └──────────── shrink ◀────────────────┘
//! ```
//! What runs is what the server runs: bricks (`brick`), their loops, the workers of their logs, the handshake and the node's
//! part of the cluster (`node`, with `consensus` and `control`), and logs (`store`) over disks in memory. Clocks,
//! sockets, connections and disks are virtual.
//!
//! Invariants:
//! - One seed, one run: two runs of a seed have the same [`Outcome::digest`].
//! - Whoever looks on changes nothing.
//!
//! Not here: threads, sockets, files, HTTP, passwords (`server`).
//! Source: FoundationDB (Zhou et al., SIGMOD 2021), TigerBeetle's VOPR.

mod agenda;
mod check;
mod clients;
mod clock;
mod cluster;
mod connect;
mod coverage;
mod deliver;
mod digest;
mod disks;
mod events;
mod fault;
mod greet;
mod ground;
mod habits;
mod host;
mod log_work;
mod loop_io;
mod machines;
mod network;
mod notes;
mod operator;
mod plan;
mod power;
mod process;
mod random;
mod reply;
mod run;
mod scenario;
mod shape;
mod shrink;
mod turn;
mod what;
mod world;

pub use coverage::{Coverage, TABLES, Table};
pub use plan::Plan;
pub use run::{Outcome, cover, plan_in, plan_of, run, run_plan, tell};
pub use scenario::{SCENARIOS, Scenario};
pub use shrink::{Shrunk, shrink};

#[cfg(test)]
#[path = "sim_test.rs"]
mod sim_test;
