//! What the node shows of itself: its phase, its statistics, its tables.

use super::copies::Copies;
use super::file_systems::FileSystems;
use super::turnover::Turnover;
use super::{membership, partitions};
use crate::addresses::ListenAddresses;
use crate::clock;
use crate::cluster::view::{ClusterView, MembershipState};
use crate::disk::DiskStats;
use crate::handout::Doors;
use crate::tls::Expiries;
use brickyard_brick::shared::Shared;
use brickyard_brick::stats::TableStats;
use brickyard_metadata::{Catalog, TableEntry};
use brickyard_routing::NodeId;
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};
use tokio::sync::watch;

/// Where the node is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Looking for its cluster, reading its log.
    Starting,
    /// Waiting for the cluster to let it serve.
    Waiting,
    /// Serving.
    Ready,
    /// Finishing what it has.
    Stopping,
}

impl Phase {
    /// The word for it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Waiting => "waiting",
            Self::Ready => "ready",
            Self::Stopping => "stopping",
        }
    }
}

/// What is known once the node has opened its data directory.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) shared: Arc<Shared>,
    /// Where the console comes in.
    pub(crate) doors: Doors,
    pub(crate) disks: Vec<Arc<DiskStats>>,
    pub(crate) catalog: watch::Receiver<Arc<Catalog>>,
    pub(crate) addresses: ListenAddresses,
    /// The directories that the node's data are in.
    pub(crate) file_systems: Arc<FileSystems>,
    /// What recovery found damaged, in words, and in which brick's log.
    pub(crate) damages: Vec<(usize, String)>,
}

impl Opened {
    /// What is damaged still.
    pub(crate) fn damages(&self) -> Vec<String> {
        let healed: Vec<Vec<String>> = self
            .shared
            .stats
            .iter()
            .map(|stats| stats.log.healed())
            .collect();
        let is_healed = |brick: usize, text: &String| {
            let of_brick = healed.get(brick);
            of_brick.is_some_and(|texts| texts.contains(text))
        };
        let left = self.damages.iter();
        let left = left.filter(|(brick, text)| !is_healed(*brick, text));
        left.map(|(brick, text)| format!("brick {brick}: {text}"))
            .collect()
    }
}

/// Everything that HTTP may show.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) phase: watch::Receiver<Phase>,
    pub(crate) cluster_view: watch::Receiver<ClusterView>,
    pub(crate) opened: OnceLock<Opened>,
    /// Copies that are missing, and how fast that mends.
    pub(crate) copies: watch::Receiver<Copies>,
    /// What has become of partitions.
    pub(crate) turnover: watch::Receiver<Turnover>,
    /// When the certificates end that the node shows.
    pub(crate) expiries: Expiries,
}

impl View {
    /// Where the node is in its life.
    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// The nodes that are not up; only the leader knows.
    pub(super) fn down(&self) -> Option<Vec<NodeId>> {
        match &self.cluster_view.borrow().membership {
            MembershipState::Member(member) => member.down.clone(),
            MembershipState::Bootstrap(_) => None,
        }
    }
}

/// A table's statistics of all bricks.
pub(crate) fn table_stats(shared: &Shared, table: &TableEntry) -> Vec<(usize, Arc<TableStats>)> {
    let bricks = shared.stats.iter().enumerate();
    bricks
        .filter_map(|(brick, stats)| Some((brick, stats.tables().get(&table.id)?.clone())))
        .collect()
}

/// The answer of `/health`.
pub(crate) fn health(view: &View) -> Value {
    let damages = view.opened.get().map(|opened| opened.damages().len());
    json!({
        "waits_for": view.cluster_view.borrow().waits_for(),
        "status": view.phase().word(),
        "ready": view.phase() == Phase::Ready,
        "damaged_ranges": damages.unwrap_or(0),
    })
}

/// The answer of `/status`.
pub(crate) fn status(view: &View) -> Value {
    let phase = view.phase().word();
    let Some(opened) = view.opened.get() else {
        return json!({
            "phase": phase,
            "version": env!("CARGO_PKG_VERSION"),
            "membership": membership::membership(&view.cluster_view.borrow()),
        });
    };
    let shared = &opened.shared;
    let catalog = opened.catalog.borrow().clone();
    // As of now: what is listed below and what is counted here are of one catalog.
    let mut copies = *view.copies.borrow();
    copies.check(partitions::missing(&catalog), clock::now());
    json!({
        "phase": phase,
        "version": shared.identity.version,
        "node": shared.identity.node_id,
        "cluster": catalog.cluster().to_string(),
        "catalog_version": catalog.version().0,
        "started_ms": shared.identity.started.0,
        "directory": shared.identity.directory,
        "addresses": {
            "node": opened.addresses.node.to_string(),
            "bricks": opened.addresses.bricks.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "http": opened.addresses.http.map(|http| http.to_string()),
            "advertised": shared.address.host,
        },
        "bricks": shared.stats.iter().enumerate().map(|(brick, stats)| json!({
            "brick": brick,
            "connections": stats.clients.connected.value(),
            "commands": stats.commands.value(),
            "busy_thousandths": stats.busy.value(),
            "log_file_bytes": stats.log.file_bytes.value(),
            "log_live_bytes": stats.log.live_bytes.value(),
            "log_pending_bytes": stats.log.pending_bytes.value(),
        })).collect::<Vec<_>>(),
        "membership": membership::membership(&view.cluster_view.borrow()),
        "nodes": membership::nodes(&catalog),
        "tables": catalog.tables().map(|table| table_json(shared, &catalog, table)).collect::<Vec<_>>(),
        "copies": copies.json(clock::now()),
        "unsettled": partitions::unsettled(&catalog),
        "splits": catalog.splits().len(),
        "merges": catalog.merges().len(),
        "extras": partitions::extras(&catalog),
        "damages": opened.damages(),
    })
}

fn table_json(shared: &Shared, catalog: &Catalog, table: &TableEntry) -> Value {
    let stats = table_stats(shared, table);
    let sum =
        |count: fn(&TableStats) -> u64| stats.iter().map(|(_, stats)| count(stats)).sum::<u64>();
    json!({
        "name": table.name,
        "id": table.id.0,
        "state": table.status.word(),
        "medium": table.attributes.medium.word(),
        "durability": table.attributes.durability.word(),
        "replicas": table.attributes.replicas,
        "has_one_copy": catalog.has_one_copy(table),
        "min_in_sync": table.attributes.min_in_sync,
        "hash": table.map.hasher().hasher().function().word(),
        "placement_rule": table.layout.placement.to_string(),
        "nodes": table.layout.nodes.iter().map(|node| node.0).collect::<Vec<_>>(),
        "partition_bytes": table.layout.partition_bytes,
        "partitions": table.map.partitions().leaves().len(),
        "partition_states": partitions::counts(table),
        "placement": partitions::placement(table),
        "maxmemory": table.attributes.maxmemory,
        "evict": table.attributes.evict.word(),
        "keys": sum(|stats| stats.keys.value()),
        "memory_bytes": sum(|stats| stats.memory.value()),
    })
}
