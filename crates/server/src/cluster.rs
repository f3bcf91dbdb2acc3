//! The node as a member of a cluster: one catalog on which all nodes agree, leases, and who is in it.
//!
//! In:  the data directory's control log, the port for nodes, what the node says of itself; requests of its
//! bricks. Out: catalogs, leases and streams for the bricks' loops.
//!
//! ```text
//!  other nodes ◀─▶ peer ◀─▶ driver ─▶ ControlLoop    who finds, founds and is a member of a cluster (`node`)
//!                                        │
//!                             loops ◀── Outside ──▶ writer ─▶ control log
//! ```
//! Invariants:
//! - One task owns all of this, and it waits for nothing but its inputs: not for the disk, nor for
//!   passwords, nor for HTTP. So leases are renewed whatever else is slow.
//! - A brick hears of a catalog only when all nodes have agreed on it; an own change is answered when all
//!   bricks of this node act by it.
//!
//! Not here: what a member does, and a node without a cluster (`node`), what is decided (`control`), the agreement (`consensus`), the rules of the catalog
//! (`metadata`), what a brick does with a view (`replication`).

mod driver;
mod error;
mod loops;
mod outside;
mod storage;
pub(crate) mod view;
mod writer;

pub(crate) use driver::{Driver, Order};
pub use error::ClusterError;
pub(crate) use loops::Loops;
pub(crate) use storage::{Directory, Stored, directory_of, found, load_kept, open};

use crate::config::HostPort;
use crate::control::Notices;
use crate::reload::Current;
use crate::{clock, random};
use brickyard_brick::lowest_level::LowestLevel;
use brickyard_metadata::{Catalog, ClusterId, Genesis, Registration};
use brickyard_node::{First, discovery};
use brickyard_store::BootNote;
use brickyard_tls::NodeSide;
use brickyard_types::TableAttributes;
use outside::Outside;
use std::net::TcpListener;
use std::sync::{Arc, mpsc as std_mpsc};
use std::time::Duration;

/// What the cluster's part of a node is made of.
#[derive(Debug)]
pub(crate) struct Setup {
    /// What the directory has of a cluster.
    pub(crate) stored: Option<Stored>,
    /// What it has where there is no cluster yet.
    pub(crate) kept: discovery::Kept,
    pub(crate) directory: Directory,
    /// What this node says of itself.
    pub(crate) registration: Registration,
    /// The port for nodes; none: this node is a cluster of its own.
    pub(crate) listener: Option<TcpListener>,
    /// What connections between nodes go by.
    pub(crate) tls: Current<NodeSide>,
    pub(crate) joining: Joining,
    /// What a cluster is founded with.
    pub(crate) attributes: TableAttributes,
    pub(crate) timing: Timing,
    /// The log before this start may lack what was written last.
    pub(crate) is_tail_sure: bool,
    /// Where that is noted.
    pub(crate) boot: BootNote,
    /// Told once, as soon as bricks can be made.
    pub(crate) first: std_mpsc::SyncSender<Result<First, String>>,
    pub(crate) notices: Arc<Notices>,
    /// For the bricks.
    pub(crate) lowest_level: Arc<LowestLevel>,
    /// How the node stands.
    pub(crate) view: tokio::sync::watch::Sender<view::ClusterView>,
}

/// Which cluster a node joins.
#[derive(Debug)]
pub(crate) struct Joining {
    /// Where nodes of it may be found.
    pub(crate) seeds: Vec<HostPort>,
    /// How many nodes found it.
    pub(crate) expect: u32,
}

/// When partitions are hot, and what they get then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hot {
    pub(crate) busy: u8,
    pub(crate) replicas: u8,
    pub(crate) cool: Duration,
}

/// Times and random bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) lease: Duration,
    pub(crate) lease_renew: Duration,
    pub(crate) eviction_timeout: Duration,
    pub(crate) split_after: Duration,
    pub(crate) merge_after: Duration,
    pub(crate) hot: Hot,
    pub(crate) seed: u64,
}

/// The first state of a new cluster.
pub(crate) fn genesis(
    registration: Registration,
    attributes: TableAttributes,
) -> Result<Catalog, String> {
    let failed = |error: std::io::Error| format!("cannot get random bytes: {error}");
    let genesis = Genesis {
        cluster: ClusterId(u128::from_le_bytes(random::bytes().map_err(failed)?)),
        node: registration,
        attributes,
        partitions: None,
        seed: u64::from_le_bytes(random::bytes().map_err(failed)?),
        created: clock::unix(),
    };
    let refused = |refusal| format!("the catalog cannot be made: {refusal}");
    Catalog::found(genesis).map_err(refused)
}

/// What the parts of the driver share.
pub(crate) type Common = brickyard_node::Common<Outside>;
