//! What a brick tells the control plane, in the control plane's words.

use crate::member::table_of;
use brickyard_brick::Claim;
use brickyard_control::message::{
    self, EvictAsk, LoadReport, LogReport, PromoteAsk, RestAsk, ReturnReport, SmallReport,
    SplitAsk, ToLeader,
};
use brickyard_metadata::{BrickLoad, Catalog, CatalogVersion, Rest, Small, SplitReady, TableEntry};
use brickyard_routing::Seat;
use brickyard_types::{PartitionId, TableId, View};

/// Claims in one message: it stays far below the longest frame.
const CLAIMS_MAX: usize = 4096;

/// The learner holds everything.
pub(crate) fn promote(
    catalog: &Catalog,
    primary: Seat,
    partition: PartitionId,
    view: View,
    learner: Seat,
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

/// The backup does not vote.
pub(crate) fn evict(
    catalog: &Catalog,
    primary: Seat,
    partition: PartitionId,
    view: View,
    backup: Seat,
) -> Vec<ToLeader> {
    let table = table_of(catalog, partition).map(|table| table.id);
    let ask = table.map(|table| {
        ToLeader::Evict(EvictAsk {
            table,
            partition,
            view,
            primary,
            backup,
        })
    });
    ask.into_iter().collect()
}

/// The partition may be split.
pub(crate) fn split(
    catalog: &Catalog,
    primary: Seat,
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
pub(crate) const fn rest(primary: Seat, rest: Rest) -> ToLeader {
    ToLeader::Rest(RestAsk { primary, rest })
}

/// How busy the brick is, and with what.
pub(crate) const fn load(seat: Seat, load: BrickLoad) -> ToLeader {
    ToLeader::Load(LoadReport { seat, load })
}

/// What the brick leads, has shrunk, and is apart from its sibling.
pub(crate) const fn small(seat: Seat, partitions: Vec<Small>) -> ToLeader {
    ToLeader::Small(SmallReport { seat, partitions })
}

/// What is known of the ends of the node's logs (rule `a lost log end is noted first`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail {
    pub(crate) is_sure: bool,
    pub(crate) is_cut: bool,
}

/// A claim with what only the node knows of it.
fn report(
    table: &TableEntry,
    partition: PartitionId,
    claim: Claim,
    tail: Tail,
) -> message::LogSummary {
    message::LogSummary {
        partition,
        generation: claim.generation,
        committed: claim.committed,
        last: claim.last,
        is_complete: claim.is_complete,
        is_tail_sure: tail.is_sure,
        is_end_cut: tail.is_cut,
        durability: table.attributes.durability,
    }
}

/// What the brick has found of a table that comes back.
pub(crate) fn returned(
    catalog: &Catalog,
    seat: Seat,
    (id, since): (TableId, CatalogVersion),
    held: Vec<(PartitionId, Claim)>,
    tail: Tail,
) -> Vec<ToLeader> {
    let Some(table) = catalog.table_by_id(id) else {
        return Vec::new();
    };
    let claims = held.into_iter();
    let claims: Vec<_> = claims
        .map(|(partition, claim)| report(table, partition, claim, tail))
        .collect();
    let parts = claims.chunks(CLAIMS_MAX).map(|claims| {
        ToLeader::Returned(ReturnReport {
            seat,
            table: id,
            since,
            summaries: claims.to_vec(),
        })
    });
    parts.collect()
}

/// What the brick's log holds. A partition whose table is gone is left out: nobody will ask for it.
pub(crate) fn reports(
    catalog: &Catalog,
    seat: Seat,
    held: Vec<(PartitionId, Claim)>,
    tail: Tail,
) -> Vec<ToLeader> {
    let claims = held.into_iter().filter_map(|(partition, claim)| {
        // A brick that has not heard yet that a partition was split or merged says so by what it holds of it.
        let whole = || catalog.table_by_id(catalog.former(partition)?.table);
        let table = table_of(catalog, partition).or_else(whole)?;
        Some(report(table, partition, claim, tail))
    });
    let claims: Vec<message::LogSummary> = claims.collect();
    let mut parts: Vec<LogReport> = claims
        .chunks(CLAIMS_MAX)
        .map(|claims| LogReport {
            seat,
            summaries: claims.to_vec(),
            is_last: false,
        })
        .collect();
    match parts.last_mut() {
        Some(last) => last.is_last = true,
        None => parts.push(LogReport {
            seat,
            summaries: Vec::new(),
            is_last: true,
        }),
    }
    parts.into_iter().map(ToLeader::Report).collect()
}
