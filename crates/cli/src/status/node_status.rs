//! `/status` of one node, as far as it is used here.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct NodeStatus {
    pub(crate) phase: String,
    pub(crate) version: String,
    #[serde(default)]
    pub(crate) cluster: String,
    #[serde(default)]
    pub(crate) catalog_version: u64,
    pub(crate) membership: Membership,
    #[serde(default)]
    pub(crate) nodes: Vec<Entry>,
    #[serde(default)]
    pub(crate) bricks: Vec<Brick>,
    #[serde(default)]
    pub(crate) tables: Vec<Table>,
    #[serde(default)]
    pub(crate) copies: Copies,
    #[serde(default)]
    pub(crate) unsettled: Vec<Unsettled>,
    /// Partitions that are being split, and pairs of them that are being merged.
    #[serde(default)]
    pub(crate) splits: u64,
    #[serde(default)]
    pub(crate) merges: u64,
    #[serde(default)]
    pub(crate) extras: Vec<Extra>,
    #[serde(default)]
    pub(crate) damages: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Membership {
    pub(crate) waits_for: Option<String>,
    pub(crate) node: Option<u32>,
    pub(crate) leader: Option<u32>,
    #[serde(default)]
    pub(crate) voters: Vec<u32>,
    /// Only the leader knows.
    pub(crate) down: Option<Vec<u32>>,
    pub(crate) lease_left_ms: Option<u64>,
    #[serde(default)]
    pub(crate) refusals: Vec<String>,
}

/// A node in the catalog.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Entry {
    pub(crate) node: u32,
    pub(crate) host: String,
    pub(crate) port: u16,
    #[serde(default)]
    pub(crate) brick_ports: Vec<u16>,
    pub(crate) http_port: Option<u16>,
    pub(crate) weight: u32,
    pub(crate) zone: Option<String>,
    #[serde(default)]
    pub(crate) roles: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Brick {
    pub(crate) brick: u32,
    pub(crate) connections: u64,
    pub(crate) commands: u64,
    pub(crate) log_file_bytes: u64,
    pub(crate) log_live_bytes: u64,
    pub(crate) log_pending_bytes: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) medium: String,
    pub(crate) durability: String,
    pub(crate) replicas: u32,
    /// It asks for one copy, and there are nodes for more.
    #[serde(default)]
    pub(crate) has_one_copy: bool,
    pub(crate) min_in_sync: u32,
    /// An earlier program has the slot alone, and does not say so.
    #[serde(default = "slot")]
    pub(crate) hash: String,
    pub(crate) partitions: u64,
    pub(crate) partition_states: States,
    pub(crate) placement_rule: String,
    pub(crate) nodes: Vec<u32>,
    pub(crate) partition_bytes: Option<u64>,
    #[serde(default)]
    pub(crate) placement: Vec<Share>,
    pub(crate) keys: u64,
    pub(crate) memory_bytes: u64,
}

fn slot() -> String {
    "slot".to_owned()
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct States {
    pub(crate) short: u64,
    pub(crate) under_replicated: u64,
    pub(crate) changing: u64,
    pub(crate) learning: u64,
    pub(crate) in_sync: u64,
}

/// A hot partition with copies more than its table asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Extra {
    pub(crate) table: String,
    pub(crate) partition: u32,
    pub(crate) copies: u32,
}

/// What one brick has of a table.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Share {
    pub(crate) node: u32,
    pub(crate) brick: u32,
    pub(crate) primaries: u64,
    pub(crate) copies: u64,
    pub(crate) learning: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Copies {
    pub(crate) missing: u64,
    pub(crate) most: Option<u64>,
    pub(crate) for_ms: Option<u64>,
    pub(crate) left_ms: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Unsettled {
    pub(crate) table: String,
    pub(crate) partition: u32,
    pub(crate) state: String,
    pub(crate) wanted: u32,
    pub(crate) primary: String,
    #[serde(default)]
    pub(crate) backups: Vec<String>,
    #[serde(default)]
    pub(crate) learners: Vec<String>,
}
