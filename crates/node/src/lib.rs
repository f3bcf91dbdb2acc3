//! A node without its IO: what drives its bricks and their logs, and what it does as a member of a cluster.
//!
//! In:  what is ready on sockets, messages of other nodes, ticks, reports of its disk. Out: whatever [`io::Io`] and [`Host`]
//! carry out: bytes, orders for the disk, messages, catalogs and leases for the bricks, things to store, streams to dial.
//!
//! ```text
//!  clients, streams ◀─▶ BrickLoop ◀─▶ Brick        over io::Io
//!                         │   ▲
//!                         ▼   │ reports
//!                  disk: workers of the log        over disk::AppendIo, disk::SyncIo
//!
//!  other nodes ◀─▶ peer ◀─▶ ControlLoop                                                  over ControlIo
//!                             ├─ Founding         no cluster yet: find one or found one
//!                             └─ ClusterMember ─┬─ Agreement ◀─▶ LogWriter ─▶ control log    over Host
//!                                      bricks ◀─┼─ Changes, Leases
//!                                               └─ Lead    on the leader alone: leases, views, voters
//! ```
//! The server carries it out with sockets, threads and clocks, the simulator with virtual ones: what a node
//! does, and in which order, is this code in both.
//!
//! Invariants:
//! - Nothing here waits: not for the disk, nor for another node.
//! - A brick hears of a catalog only when all nodes have agreed on it; an own change is answered when all
//!   bricks of this node act by it.
//! - What is to be stored is handed out before what is said of it ([`Host::persist`] before [`Host::send`]).
//!
//! Not here: what is decided (`control`), the agreement (`consensus`), the rules of the catalog (`metadata`),
//! what a brick does with requests (`brick`) and with a view (`replication`), polling, threads and files (`server`).

mod address;
mod agreement;
mod bootstrap;
mod brick_loop;
mod changes;
mod control_loop;
#[doc(hidden)]
pub mod decoders;
pub mod discovery;
pub mod disk;
mod draining;
mod entry;
mod host;
pub mod io;
mod lead;
mod leases;
mod log_writer;
mod member;
mod message;
pub mod peer;
pub mod recovery;
mod register;
mod reports;
pub mod storage;
mod streams;

pub use address::HostPort;
pub use agreement::LogView;
pub use brick_loop::BrickLoop;
pub use changes::ChangeOrigin;
pub use control_loop::{ControlLoop, ControlStart, News};
pub use entry::REMOVED;
pub use host::{Common, ControlIo, ENDLESS, Host, Source, Target, ToBrick, Urgency, peer_address};
pub use log_writer::{LogWriter, Report};
pub use member::{ClusterMember, First, MemberView};
pub use message::{Message, encode};
pub use register::TakenIn;

use brickyard_routing::NodeId;

/// The agreement's number of a node.
#[must_use]
pub const fn raft_id(node: NodeId) -> u64 {
    node.0 as u64 + 1
}

/// The node of a number of the agreement's.
#[must_use]
pub const fn node_id(raft: u64) -> NodeId {
    NodeId(raft.saturating_sub(1) as u32)
}
