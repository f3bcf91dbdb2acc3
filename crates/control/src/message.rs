//! Messages between nodes and the leader of the control plane, as `postcard` carries them.
//!
//! Any of these may be lost, late or doubled: what matters is asked again until the catalog answers it.

use brickyard_metadata::{
    BrickLoad, CatalogVersion, ClusterId, Envelope, Outcome, Registered, Registration, Rest, Small,
    SplitReady,
};
use brickyard_routing::{NodeId, Replica};
use brickyard_types::{BrickId, Durability, Incarnation, Op, PartitionId, TableId, View};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// From a node to the leader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToLeader {
    /// Extend my lease; this is how far I am.
    Lease(LeaseRequest),
    /// When I last heard an earlier leader.
    LeaderContact(LeaderContactReply),
    /// What a brick of mine holds.
    Report(LogReport),
    /// A learner of my partition holds everything.
    Promote(PromoteAsk),
    /// A backup of my partition does not vote.
    Evict(EvictAsk),
    /// I am about to stop.
    Drain(DrainAsk),
    /// Change the catalog.
    Change(Envelope),
    /// Register me, or my new life.
    Join(Join),
    /// My partition may be split.
    Split(SplitAsk),
    /// My partition may be merged with its sibling.
    Rest(RestAsk),
    /// How busy a brick of mine is, and with what.
    Load(LoadReport),
    /// What a brick of mine leads and has shrunk, apart from its sibling.
    Small(SmallReport),
    /// What a brick of mine has found of a table that comes back online.
    Returned(ReturnReport),
    /// A node asks me for its lease, and I do not lead.
    Astray(AstrayReport),
}

/// From the leader, or from a node that was taken for it, to a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToNode {
    /// The extension.
    Grant(LeaseGrant),
    /// Your incarnation is over: register again, or end.
    Superseded(Superseded),
    /// When did you last hear an earlier leader?
    LeaderContact(LeaderContactQuery),
    /// What do these bricks of yours hold?
    Report(ReportRequest),
    /// How far the node's emptying is.
    Drained(Drained),
    /// The outcome of a change.
    Changed(Changed),
    /// The outcome of a registration.
    Joined(Joined),
    /// I do not lead; ask the one that does, if it is known.
    NotLeader(NotLeader),
    /// Your node's present life is not the one that you know of: ask again.
    Present(Present),
}

/// A node asks for its lease to be extended, every `renew` and whenever an acknowledgement changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRequest {
    /// The node that asks.
    pub node: NodeId,
    /// In which life.
    pub incarnation: Incarnation,
    /// The node's own clock when it asked, in nanoseconds; only the node itself understands it.
    pub sent_at: u64,
    /// Its bricks.
    pub bricks: Vec<BrickState>,
}

/// How far a brick is; its own loop reports it, after its last batch (rule `grants count for adopted maps`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrickState {
    /// Its loop turned within `eviction_timeout`.
    pub is_turning: bool,
    /// It acts by the catalog of this version: whatever that removes it from, it has stopped.
    pub stopped: CatalogVersion,
    /// Its log is synced since it stopped: it accepts every view that names it as primary, proposed in
    /// this version or earlier (rule `a primary accepts its view`).
    pub accepted: CatalogVersion,
}

/// An extension of a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseGrant {
    /// The life that it is for.
    pub incarnation: Incarnation,
    /// From the request: the lease counts from then (rule `leases count from the request`).
    pub sent_at: u64,
    /// How long it lasts.
    pub lease: Duration,
    /// Good only for bricks that act by this version of the catalog or a later one (rule
    /// `grants count for adopted maps`).
    pub version: CatalogVersion,
    /// For which bricks, by number.
    pub bricks: Vec<bool>,
}

/// A life of a node is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Superseded {
    /// The life that asked.
    pub incarnation: Incarnation,
    /// The node's present one; `None` if it was removed.
    pub present: Option<Incarnation>,
}

/// A new leader asks a voter how old the leases may be that others granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaderContactQuery {
    /// The term of the one that asks.
    pub term: u64,
}

/// Answered in the term of the query: from then on the voter hears no earlier leader (rule
/// `leases count from the request`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaderContactReply {
    /// The term of the query.
    pub term: u64,
    /// How long ago it last heard a leader of an earlier term, or, since it forgot that, started.
    pub ago: Duration,
}

/// The leader wants to know what bricks hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportRequest {
    /// The life that is asked.
    pub incarnation: Incarnation,
    /// Which bricks.
    pub bricks: Vec<BrickId>,
}

/// What one brick holds, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogReport {
    /// The brick.
    pub replica: Replica,
    /// What it holds; a partition that is not in any part is not there at all.
    pub summaries: Vec<LogSummary>,
    /// No more parts follow.
    pub is_last: bool,
}

/// What a replica that restarted holds of a partition (rules `a restart cuts nothing`,
/// `a lost log end is noted first` and `log summaries begin at a baseline`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSummary {
    /// The partition.
    pub partition: PartitionId,
    /// The history that its records belong to.
    pub generation: u32,
    /// The highest op that it knows to be committed.
    pub committed: Op,
    /// Its last record.
    pub last: (View, Op),
    /// Nothing is missing below that.
    pub is_complete: bool,
    /// The machine has not stopped since the records were written, and no such stop is unaccounted for
    /// (rule `a lost log end is noted first`): the operating system still has what it was given.
    pub is_tail_sure: bool,
    /// The end of its log was cut off after the machine had stopped, and it has not been in sync since (rule
    /// `a lost log end is noted first`). What was cut did not verify, and nothing proved that it had been synced; a
    /// record that rotted after that looks the same.
    pub is_end_cut: bool,
    /// What its records had to have gone through before it voted for them; the weakest of any.
    pub durability: Durability,
}

/// A primary asks for a learner to become in-sync; asked again until a view answers it (rule
/// `learner votes before promotion`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromoteAsk {
    /// The table.
    pub table: TableId,
    /// The partition.
    pub partition: PartitionId,
    /// The view that the primary is in.
    pub view: View,
    /// The primary.
    pub primary: Replica,
    /// The learner.
    pub learner: Replica,
}

/// A primary asks for a backup, or for itself, to be taken out; asked again until a view answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvictAsk {
    /// The table.
    pub table: TableId,
    /// The partition.
    pub partition: PartitionId,
    /// The view that the primary is in.
    pub view: View,
    /// The primary.
    pub primary: Replica,
    /// The backup.
    pub backup: Replica,
    /// It does nothing any more in that view, nor will: it need not be fenced (rule `a withdrawn member is fenced`).
    pub has_withdrawn: bool,
}

/// A primary reports that a partition under a split has no pending operation, and will have none; it repeats that until a
/// newer view, or the maps with the halves, answer it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitAsk {
    /// The primary.
    pub primary: Replica,
    /// What it answers, and in which view.
    pub ready: SplitReady,
}

/// The same of a partition under a merge with its sibling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestAsk {
    /// The primary.
    pub primary: Replica,
    /// What it answers, and where the partition's log ended.
    pub rest: Rest,
}

/// A brick reports how busy it is, every few seconds, whether the report before arrived or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadReport {
    /// The brick.
    pub replica: Replica,
    /// What it measured.
    pub load: BrickLoad,
}

/// A brick reports which partitions that it leads have shrunk and are apart from their siblings, every few seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmallReport {
    /// The brick.
    pub replica: Replica,
    /// The partitions.
    pub partitions: Vec<Small>,
}

/// A brick has read again what its log has of a table that comes back online; it repeats that until all of it is served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReturnReport {
    /// The brick.
    pub replica: Replica,
    /// The table.
    pub table: TableId,
    /// The catalog's version that first had the table come back: it tells one return from another.
    pub since: CatalogVersion,
    /// What it holds of partitions that are suspended, or of some of them.
    pub summaries: Vec<LogSummary>,
}

/// A node asks one for its lease that does not lead: it does not hear from the leader, and it reaches this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AstrayReport {
    /// The node.
    pub node: NodeId,
    /// Its life.
    pub incarnation: Incarnation,
}

/// A node is about to stop and drains: it asks again every `renew` until it holds no partition that others can take over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrainAsk {
    /// The node.
    pub node: NodeId,
    /// Its life.
    pub incarnation: Incarnation,
}

/// How far a node's emptying is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drained {
    /// The life that asked.
    pub incarnation: Incarnation,
    /// Partitions that will yet go to other nodes; at 0 the node may stop.
    pub remaining: usize,
    /// Partitions that only this node holds: they are not served until it is back.
    pub sole: usize,
}

/// The outcome of a change that a node asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The request.
    pub sequence: u64,
    /// Its outcome; a refusal in words. `None`: it is not known, ask again with the same number.
    pub outcome: Option<Outcome>,
}

/// A node asks to be registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// The cluster that it belongs to; `None`: any, it is new.
    pub cluster: Option<ClusterId>,
    /// The life of its own that is the present one as far as it knows; `None`: it knows of none.
    pub after: Option<Incarnation>,
    /// The node's description of itself.
    pub registration: Registration,
}

/// The outcome of a registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// The run of the registration.
    pub run: u64,
    /// The cluster.
    pub cluster: ClusterId,
    /// The node's number and life from now on, or why it was refused.
    pub outcome: Result<Registered, String>,
    /// It was a node of the cluster, and was removed for ever by that version of the catalog.
    pub is_removed: bool,
    /// The catalog's version that has this outcome.
    pub version: CatalogVersion,
}

/// A node asked to be registered after another life of its own than the present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Present {
    /// The run of the registration.
    pub run: u64,
    /// The present life.
    pub incarnation: Incarnation,
}

/// The node that was asked does not lead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotLeader {
    /// The leader, as far as it knows.
    pub leader: Option<NodeId>,
    /// The leader's host and port for other nodes, if they are known.
    pub address: Option<(String, u16)>,
}

#[cfg(test)]
#[path = "message_test.rs"]
mod message_test;
