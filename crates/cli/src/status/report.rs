//! What the nodes' answers mean together.
//!
//! In:  a [`ClusterSnapshot`]. Out: a [`Report`], whose fields are also what `--json` shows.
//!
//! Invariant: what is not known is not told as well. Only the leader knows who is down; without its answer a
//! node counts as down that should answer and does not.

use super::collect::{ClusterSnapshot, join};
use super::node_status::{Copies, Extra, NodeStatus, States, Table, Unsettled};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The cluster, as far as it was heard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Report {
    /// Whom it was asked of first, and what that one waits for, if it is in no cluster yet.
    pub(crate) asked: String,
    pub(crate) waits_for: Option<String>,
    pub(crate) cluster: String,
    pub(crate) catalog_version: u64,
    pub(crate) leader: Option<u32>,
    pub(crate) voters: Vec<u32>,
    /// Every partition is served and has its copies, every node is up, nothing is damaged.
    pub(crate) is_whole: bool,
    pub(crate) partitions: Partitions,
    pub(crate) copies: Copies,
    #[serde(flatten)]
    pub(crate) moves: Moves,
    /// Partitions that are not as they should be, the worst first; only so many are listed.
    pub(crate) unsettled: Vec<Unsettled>,
    pub(crate) nodes: Vec<NodeReport>,
    pub(crate) bricks: Vec<BrickReport>,
    pub(crate) tables: Vec<TableReport>,
}

/// What is on its way to be otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Moves {
    pub(crate) catching_up: Vec<CatchingUp>,
    /// Partitions that are being split, and pairs of them that are being merged.
    pub(crate) splits: u64,
    pub(crate) merges: u64,
    /// Hot partitions that have copies more than their tables ask for, or get them.
    pub(crate) extras: Vec<Extra>,
}

/// Partitions of all tables by state, the worst first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Partitions {
    pub(crate) total: u64,
    /// The primary is on a node that is down.
    pub(crate) unserved: u64,
    #[serde(flatten)]
    pub(crate) states: States,
}

/// A brick that copies partitions from others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct CatchingUp {
    pub(crate) node: u32,
    pub(crate) brick: u32,
    pub(crate) partitions: u64,
}

/// See the fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct NodeReport {
    pub(crate) node: u32,
    pub(crate) address: String,
    pub(crate) http: Option<String>,
    pub(crate) zone: Option<String>,
    /// What it is used for; none if the node that was asked does not say.
    pub(crate) roles: Vec<String>,
    pub(crate) weight: u32,
    /// starting, waiting, ready, stopping; down; silent: it should answer and does not; unknown: it has no HTTP.
    pub(crate) state: String,
    pub(crate) waits_for: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) lease_left_ms: Option<u64>,
    pub(crate) damages: Vec<String>,
    /// Why other nodes refuse it.
    pub(crate) refusals: Vec<String>,
    /// Why it did not answer.
    pub(crate) error: Option<String>,
}

/// See the fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct BrickReport {
    pub(crate) node: u32,
    pub(crate) brick: u32,
    pub(crate) address: String,
    pub(crate) primaries: u64,
    /// The primaries' own included.
    pub(crate) copies: u64,
    pub(crate) learning: u64,
    pub(crate) load: Option<BrickLoad>,
}

/// What only the brick's node knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct BrickLoad {
    pub(crate) connections: u64,
    pub(crate) commands: u64,
    pub(crate) log_file_bytes: u64,
    pub(crate) log_live_bytes: u64,
    pub(crate) log_pending_bytes: u64,
}

/// See the fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct TableReport {
    pub(crate) name: String,
    pub(crate) medium: String,
    pub(crate) durability: String,
    pub(crate) replicas: u32,
    /// It asks for one copy, and there are nodes for more.
    pub(crate) has_one_copy: bool,
    pub(crate) min_in_sync: u32,
    /// What decides where its keys are.
    pub(crate) hash: String,
    /// By which rule its partitions are placed, on which nodes (none: all), and how large one may be (none: as each node is
    /// set).
    pub(crate) placement: String,
    pub(crate) nodes: Vec<u32>,
    pub(crate) partition_bytes: Option<u64>,
    pub(crate) partitions: Partitions,
    /// Keys in all copies on nodes that answered, and their memory.
    pub(crate) keys_in_copies: u64,
    pub(crate) memory_bytes: u64,
}

impl Report {
    pub(crate) fn new(snapshot: &ClusterSnapshot) -> Self {
        let newest = &snapshot.newest;
        let down = down(snapshot);
        let nodes = nodes(snapshot, &down);
        let tables: Vec<TableReport> = newest
            .tables
            .iter()
            .map(|table| table_report(table, snapshot, &down))
            .collect();
        let mut partitions = Partitions::default();
        for table in &tables {
            partitions.add(&table.partitions);
        }
        let bricks = bricks(snapshot);
        let catching_up: Vec<CatchingUp> = bricks
            .iter()
            // One whose node is away only has its place kept.
            .filter(|brick| brick.learning > 0 && !down.contains(&brick.node))
            .map(|brick| CatchingUp {
                node: brick.node,
                brick: brick.brick,
                partitions: brick.learning,
            })
            .collect();
        let waits_for = newest.nodes.is_empty().then(|| {
            let waits_for = newest.membership.waits_for.clone();
            waits_for.unwrap_or_else(|| "its cluster".to_owned())
        });
        let is_well = |node: &NodeReport| {
            let is_up = matches!(node.state.as_str(), "ready" | "unknown");
            is_up && node.damages.is_empty() && !node.is_astray()
        };
        Self {
            asked: snapshot.asked.clone(),
            cluster: newest.cluster.clone(),
            catalog_version: newest.catalog_version,
            leader: newest.membership.leader,
            voters: newest.membership.voters.clone(),
            is_whole: waits_for.is_none()
                && partitions.unserved + partitions.states.short == 0
                && partitions.states.under_replicated == 0
                && nodes.iter().all(is_well),
            waits_for,
            partitions,
            copies: newest.copies,
            moves: Moves {
                catching_up,
                splits: newest.splits,
                merges: newest.merges,
                extras: newest.extras.clone(),
            },
            unsettled: newest
                .unsettled
                .iter()
                .map(|it| without_absent(it, &down))
                .collect(),
            nodes,
            bricks,
            tables,
        }
    }
}

/// In the refusal of a node that is of another cluster.
const OTHER_CLUSTER: &str = "it belongs to another cluster";

impl NodeReport {
    /// Whether it was told to join nodes of another cluster than it is of: it serves, without them.
    pub(crate) fn is_astray(&self) -> bool {
        self.refusals.iter().any(|it| it.contains(OTHER_CLUSTER))
    }
}

impl Partitions {
    fn add(&mut self, other: &Self) {
        self.total += other.total;
        self.unserved += other.unserved;
        let (states, theirs) = (&mut self.states, &other.states);
        states.short += theirs.short;
        states.under_replicated += theirs.under_replicated;
        states.changing += theirs.changing;
        states.learning += theirs.learning;
        states.in_sync += theirs.in_sync;
    }
}

/// The nodes that are down: by the leader's word, if it is heard.
fn down(snapshot: &ClusterSnapshot) -> BTreeSet<u32> {
    let reported = snapshot
        .answers
        .values()
        .flatten()
        .filter(|node_status| node_status.membership.leader == node_status.membership.node)
        .find_map(|node_status| node_status.membership.down.as_ref());
    match reported {
        Some(down) => down.iter().copied().collect(),
        None => {
            let silent = snapshot
                .answers
                .iter()
                .filter(|(_, answer)| answer.is_err());
            silent.map(|(node, _)| *node).collect()
        }
    }
}

fn nodes(snapshot: &ClusterSnapshot, down: &BTreeSet<u32>) -> Vec<NodeReport> {
    let report = |entry: &super::node_status::Entry| {
        let answer = snapshot.answers.get(&entry.node);
        let node_status = answer.and_then(|answer| answer.as_ref().ok());
        let error = answer.and_then(|answer| answer.as_ref().err());
        let state = match (node_status, error) {
            (Some(node_status), _) if node_status.phase != "ready" => node_status.phase.as_str(),
            _ if down.contains(&entry.node) => "down",
            (Some(node_status), _) => node_status.phase.as_str(),
            (None, Some(_)) => "silent",
            (None, None) => "unknown",
        };
        NodeReport {
            node: entry.node,
            address: join(&entry.host, entry.port),
            http: entry.http_port.map(|port| join(&entry.host, port)),
            zone: entry.zone.clone(),
            roles: entry.roles.clone(),
            weight: entry.weight,
            state: state.to_owned(),
            waits_for: node_status.and_then(|node_status| node_status.membership.waits_for.clone()),
            version: node_status.map(|node_status| node_status.version.clone()),
            lease_left_ms: node_status.and_then(|node_status| node_status.membership.lease_left_ms),
            damages: node_status
                .map(|node_status| node_status.damages.clone())
                .unwrap_or_default(),
            refusals: node_status
                .map(|node_status| node_status.membership.refusals.clone())
                .unwrap_or_default(),
            error: error.cloned(),
        }
    };
    snapshot.newest.nodes.iter().map(report).collect()
}

fn bricks(snapshot: &ClusterSnapshot) -> Vec<BrickReport> {
    let mut shares: BTreeMap<(u32, u32), (u64, u64, u64)> = BTreeMap::new();
    for share in snapshot
        .newest
        .tables
        .iter()
        .flat_map(|table| &table.placement)
    {
        let sum = shares.entry((share.node, share.brick)).or_default();
        sum.0 += share.primaries;
        sum.1 += share.copies;
        sum.2 += share.learning;
    }
    let of_node = |entry: &super::node_status::Entry| {
        let node_status = snapshot.answers.get(&entry.node).cloned();
        let node_status: NodeStatus = node_status.and_then(Result::ok).unwrap_or_default();
        let (node, host) = (entry.node, entry.host.clone());
        let ports = entry.brick_ports.clone().into_iter().enumerate();
        let shares = &shares;
        let reports = ports.map(move |(brick, port)| {
            let brick = brick as u32;
            let sum = shares.get(&(node, brick)).copied().unwrap_or_default();
            let load = node_status.bricks.iter().find(|it| it.brick == brick);
            BrickReport {
                node,
                brick,
                address: join(&host, port),
                primaries: sum.0,
                copies: sum.1,
                learning: sum.2,
                load: load.map(|load| BrickLoad {
                    connections: load.connections,
                    commands: load.commands,
                    log_file_bytes: load.log_file_bytes,
                    log_live_bytes: load.log_live_bytes,
                    log_pending_bytes: load.log_pending_bytes,
                }),
            }
        });
        reports.collect::<Vec<_>>()
    };
    snapshot.newest.nodes.iter().flat_map(of_node).collect()
}

/// A partition without learners whose nodes are away: nothing happens there.
fn without_absent(partition: &Unsettled, down: &BTreeSet<u32>) -> Unsettled {
    let mut partition = partition.clone();
    // Of `node/brick@life`.
    let node = |replica: &str| replica.split('/').next()?.parse().ok();
    partition
        .learners
        .retain(|it| node(it).is_none_or(|it| !down.contains(&it)));
    partition
}

fn table_report(table: &Table, snapshot: &ClusterSnapshot, down: &BTreeSet<u32>) -> TableReport {
    let on_dead = table
        .placement
        .iter()
        .filter(|share| down.contains(&share.node));
    let everywhere = snapshot.answers.values().flatten();
    let everywhere: Vec<&Table> = everywhere
        .flat_map(|node_status| &node_status.tables)
        .filter(|it| it.name == table.name)
        .collect();
    TableReport {
        name: table.name.clone(),
        medium: table.medium.clone(),
        durability: table.durability.clone(),
        replicas: table.replicas,
        has_one_copy: table.has_one_copy,
        min_in_sync: table.min_in_sync,
        hash: table.hash.clone(),
        placement: table.placement_rule.clone(),
        nodes: table.nodes.clone(),
        partition_bytes: table.partition_bytes,
        partitions: Partitions {
            total: table.partitions,
            unserved: on_dead.map(|share| share.primaries).sum(),
            states: table.partition_states,
        },
        keys_in_copies: everywhere.iter().map(|it| it.keys).sum(),
        memory_bytes: everywhere.iter().map(|it| it.memory_bytes).sum(),
    }
}

#[cfg(test)]
#[path = "report_test.rs"]
mod report_test;
