//! What a brick tells the control plane, in the control plane's words.

use crate::member::table_of;
use brickyard_brick::ReplicaSummary;
use brickyard_control::message::{
    self, EvictAsk, LoadReport, LogReport, PromoteAsk, RestAsk, ReturnReport, SmallReport,
    SplitAsk, ToLeader,
};
use brickyard_metadata::{BrickLoad, Catalog, CatalogVersion, Rest, Small, SplitReady, TableEntry};
use brickyard_routing::Replica;
use brickyard_types::{PartitionId, TableId, View};

/// Claims in one message: it stays far below the longest frame.
const SUMMARIES_MAX: usize = 4096;

/// The learner holds everything.
pub(crate) fn promote(
    catalog: &Catalog,
    primary: Replica,
    partition: PartitionId,
    view: View,
    learner: Replica,
) -> Vec<ToLeader> {
    let table = table_of(catalog, partition).map(|table| table.id);
    let ask = table.map(|table| {
        ToLeader::Promote(PromoteAsk {
            table,
            partition,
            view,
            primary,
            learner,
        })
    });
    ask.into_iter().collect()
}

/// The backup does not vote, or has withdrawn.
pub(crate) fn evict(
    catalog: &Catalog,
    primary: Replica,
    (partition, view): (PartitionId, View),
    backup: Replica,
    has_withdrawn: bool,
) -> Vec<ToLeader> {
    let table = table_of(catalog, partition).map(|table| table.id);
    let ask = table.map(|table| {
        ToLeader::Evict(EvictAsk {
            table,
            partition,
            view,
            primary,
            backup,
            has_withdrawn,
        })
    });
    ask.into_iter().collect()
}

/// The partition may be split.
pub(crate) fn split(
    catalog: &Catalog,
    primary: Replica,
    partition: PartitionId,
    view: View,
    begun_at: u64,
) -> Vec<ToLeader> {
    let table = table_of(catalog, partition).map(|table| table.id);
    let ask = table.map(|table| {
        ToLeader::Split(SplitAsk {
            primary,
            ready: SplitReady {
                table,
                partition,
                view,
                begun_at: CatalogVersion(begun_at),
            },
        })
    });
    ask.into_iter().collect()
}

/// The partition may be merged with its sibling.
pub(crate) const fn rest(primary: Replica, rest: Rest) -> ToLeader {
    ToLeader::Rest(RestAsk { primary, rest })
}

/// How busy the brick is, and with what.
pub(crate) const fn load(replica: Replica, load: BrickLoad) -> ToLeader {
    ToLeader::Load(LoadReport { replica, load })
}

/// What the brick leads, has shrunk, and is apart from its sibling.
pub(crate) const fn small(replica: Replica, partitions: Vec<Small>) -> ToLeader {
    ToLeader::Small(SmallReport {
        replica,
        partitions,
    })
}

/// What is known of the ends of the node's logs (rule `a lost log end is noted first`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail {
    pub(crate) is_sure: bool,
    pub(crate) is_cut: bool,
}

/// A log summary with what only the node knows of it.
fn report(
    table: &TableEntry,
    partition: PartitionId,
    summary: ReplicaSummary,
    tail: Tail,
) -> message::LogSummary {
    message::LogSummary {
        partition,
        generation: summary.generation,
        committed: summary.committed,
        last: summary.last,
        is_complete: summary.is_complete,
        is_tail_sure: tail.is_sure,
        is_end_cut: tail.is_cut,
        durability: table.attributes.durability,
    }
}

/// What the brick has found of a table that comes back.
pub(crate) fn returned(
    catalog: &Catalog,
    replica: Replica,
    (id, since): (TableId, CatalogVersion),
    held: Vec<(PartitionId, ReplicaSummary)>,
    tail: Tail,
) -> Vec<ToLeader> {
    let Some(table) = catalog.table_by_id(id) else {
        return Vec::new();
    };
    let summaries = held.into_iter();
    let summaries: Vec<_> = summaries
        .map(|(partition, summary)| report(table, partition, summary, tail))
        .collect();
    let parts = summaries.chunks(SUMMARIES_MAX).map(|summaries| {
        ToLeader::Returned(ReturnReport {
            replica,
            table: id,
            since,
            summaries: summaries.to_vec(),
        })
    });
    parts.collect()
}

/// What the brick's log holds. A partition whose table is gone is left out: nobody will ask for it.
pub(crate) fn reports(
    catalog: &Catalog,
    replica: Replica,
    held: Vec<(PartitionId, ReplicaSummary)>,
    tail: Tail,
) -> Vec<ToLeader> {
    let summaries = held.into_iter().filter_map(|(partition, summary)| {
        // A brick that has not heard yet that a partition was split or merged says so by what it holds of it.
        let whole = || catalog.table_by_id(catalog.parent(partition)?.table);
        let table = table_of(catalog, partition).or_else(whole)?;
        Some(report(table, partition, summary, tail))
    });
    let summaries: Vec<message::LogSummary> = summaries.collect();
    let mut parts: Vec<LogReport> = summaries
        .chunks(SUMMARIES_MAX)
        .map(|summaries| LogReport {
            replica,
            summaries: summaries.to_vec(),
            is_last: false,
        })
        .collect();
    match parts.last_mut() {
        Some(last) => last.is_last = true,
        None => parts.push(LogReport {
            replica,
            summaries: Vec::new(),
            is_last: true,
        }),
    }
    parts.into_iter().map(ToLeader::Report).collect()
}
