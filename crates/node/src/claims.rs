//! What a brick tells the control plane, in the control plane's words.

use crate::member::table_of;
use brickyard_brick::Claim;
use brickyard_control::message::{self, EvictAsk, PromoteAsk, Report, ToLeader};
use brickyard_metadata::Catalog;
use brickyard_routing::Seat;
use brickyard_types::{PartitionId, View};

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

/// What the brick's log holds. A partition whose table is gone is left out: nobody will ask for it.
pub(crate) fn reports(
    catalog: &Catalog,
    seat: Seat,
    held: Vec<(PartitionId, Claim)>,
    is_tail_sure: bool,
) -> Vec<ToLeader> {
    let claims = held.into_iter().filter_map(|(partition, claim)| {
        let table = table_of(catalog, partition)?;
        Some(message::Claim {
            partition,
            lineage: claim.lineage,
            committed: claim.committed,
            last: claim.last,
            is_complete: claim.is_complete,
            is_tail_sure,
            durability: table.attributes.durability,
        })
    });
    let claims: Vec<message::Claim> = claims.collect();
    let mut parts: Vec<Report> = claims
        .chunks(CLAIMS_MAX)
        .map(|claims| Report {
            seat,
            claims: claims.to_vec(),
            is_last: false,
        })
        .collect();
    match parts.last_mut() {
        Some(last) => last.is_last = true,
        None => parts.push(Report {
            seat,
            claims: Vec::new(),
            is_last: true,
        }),
    }
    parts.into_iter().map(ToLeader::Report).collect()
}
