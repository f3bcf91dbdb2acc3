//! What every brick of a node sees: who the node is, its settings, users and statistics.

use crate::acl_log::NodeAclLog;
use crate::channels::NodeChannels;
use crate::directory::NodeClients;
use crate::lowest_level::LowestLevel;
use crate::monitor::NodeMonitors;
use crate::pause::NodePause;
use crate::quota::Quotas;
use crate::scripts::NodeScripts;
use crate::settings::Settings;
use crate::stats::Stats;
use crate::users::Users;
use brickyard_routing::NodeId;
use brickyard_types::UnixMillis;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Where clients reach a brick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrickAddress {
    /// The brick's id as a cluster node: 40 hexadecimal digits.
    pub id: String,
    /// The brick's own port.
    pub port: u16,
}

/// Who the node is. Made once at start.
#[derive(Debug)]
pub struct NodeIdentity {
    /// The node's number in the cluster.
    pub node: NodeId,
    /// The node's id, 40 hexadecimal digits, kept in the data directory.
    pub node_id: String,
    /// 40 hexadecimal digits, drawn at each start.
    pub run_id: String,
    /// The version that Redis clients are told; they choose commands by it.
    pub redis_version: &'static str,
    /// Brickyard's own version.
    pub version: &'static str,
    /// When the process started.
    pub started: UnixMillis,
    /// Process id, for `INFO`.
    pub process_id: u32,
    /// The data directory, for `CONFIG GET dir`.
    pub directory: String,
    /// The configuration file, for `INFO`; empty if there is none.
    pub config_file: String,
    /// The operating system, for `INFO`.
    pub os: String,
    /// Memory of the machine in bytes, for `INFO`.
    pub memory_total: u64,
    /// How the bricks' loops talk to clients, for `INFO`: `io_uring`, or why not.
    pub io_uring: Result<(), String>,
}

/// Where clients reach the node.
#[derive(Debug)]
pub struct NodeAddress {
    /// The host name or address that clients are sent to; never empty.
    pub host: String,
    /// The node port.
    pub port: u16,
    /// The bricks' ports, by brick id.
    pub bricks: Vec<BrickAddress>,
    /// These ports speak TLS.
    pub has_tls: bool,
}

/// Bounds that are the same as long as the node runs.
#[derive(Debug)]
pub struct NodeLimits {
    /// How long a request may wait for replicas, views and other nodes before its client is told so.
    pub request_deadline: Duration,
    /// After how long without its vote a replica is taken out of a partition.
    pub eviction_timeout: Duration,
    /// For how long where others show that it need not take so long; as much as `eviction_timeout`: nobody is suspected
    /// before that.
    pub suspect_after: Duration,
    /// Most bytes a second that a brick copies for others that catch up; 0: as fast as it goes.
    pub recovery_bandwidth: u64,
    /// Bytes after which a segment of the log is full.
    pub segment_bytes: u64,
    /// Bytes that a partition may have before it is split; 0: as many as it likes.
    pub partition_bytes: u64,
    /// Up to how many copies a table gets that is made without a number of them.
    pub default_replicas: u8,
    /// How long siblings have to be small before they are merged; 0: never.
    pub merge_after: Duration,
    /// Longest value in bytes.
    pub value_bytes_max: usize,
    /// Bytes up to which a hash is one record.
    pub hash_whole_bytes_max: usize,
}

/// What all bricks of a node count together.
#[derive(Debug)]
pub struct NodeCounters {
    /// The next client's id.
    pub client_id_next: AtomicU64,
    /// Clients connected now, over all bricks.
    pub clients: AtomicU64,
    /// When the last checkpoint ended, in Unix milliseconds.
    pub last_save_ms: AtomicU64,
}

impl NodeCounters {
    /// Of a node that starts, whose last checkpoint ended then.
    #[must_use]
    pub fn new(last_save: UnixMillis) -> Self {
        Self {
            client_id_next: AtomicU64::new(1),
            clients: AtomicU64::new(0),
            last_save_ms: AtomicU64::new(last_save.0),
        }
    }
}

/// What operators do to all clients of the node.
#[derive(Debug)]
pub struct Oversight {
    /// Whether commands wait.
    pub pause: NodePause,
    /// Who watches what clients ask for.
    pub monitors: NodeMonitors,
}

impl Oversight {
    /// Of a node with so many bricks: no command waits, and nobody watches.
    #[must_use]
    pub fn new(bricks: usize) -> Self {
        Self {
            pause: NodePause::default(),
            monitors: NodeMonitors::new(bricks),
        }
    }
}

/// The node, as all its bricks see it. Made once at start.
#[derive(Debug)]
pub struct Shared {
    /// Who the node is.
    pub identity: NodeIdentity,
    /// Where clients reach it.
    pub address: NodeAddress,
    /// Bounds that stay.
    pub limits: NodeLimits,
    /// Settings that may change while the node runs.
    pub settings: Settings,
    /// Who may do what, as the configuration file has it.
    pub users: Users,
    /// Whether users may be made by `ACL`, or why not.
    pub keeps_users: Result<(), String>,
    /// Statistics, one a brick; each is written by its brick alone.
    pub stats: Vec<Stats>,
    /// Figures of the whole process, refreshed about once a second by the control thread.
    pub process: ProcessStats,
    /// What all bricks count together.
    pub counters: NodeCounters,
    /// What users take, counted by all bricks together.
    pub quotas: Quotas,
    /// Scripts that the node knows, and those that run.
    pub scripts: NodeScripts,
    /// What was refused to users.
    pub acl_log: NodeAclLog,
    /// What clients of all bricks subscribe to.
    pub channels: NodeChannels,
    /// Where the clients of all bricks are.
    pub directory: NodeClients,
    /// What operators do to all clients.
    pub oversight: Oversight,
    /// What all nodes of the cluster know.
    pub lowest_level: Arc<LowestLevel>,
}

/// What the operating system says of the process.
#[derive(Debug, Default)]
pub struct ProcessStats {
    /// Resident memory in bytes.
    pub memory_resident: AtomicU64,
    /// The most that was resident, in bytes.
    pub memory_resident_max: AtomicU64,
    /// Processor time in user mode, in microseconds.
    pub cpu_user_us: AtomicU64,
    /// Processor time in the kernel, in microseconds.
    pub cpu_system_us: AtomicU64,
}

impl Shared {
    pub(crate) fn take_client_id(&self) -> u64 {
        let id = self.counters.client_id_next.fetch_add(1, Relaxed);
        assert!(id > 0, "0 is no client's id");
        id
    }
}

#[cfg(test)]
#[path = "shared_test.rs"]
mod shared_test;
