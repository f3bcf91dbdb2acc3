//! View changes in progress: which bricks have to stop for them, and when one may take effect.
//!
//! In:  the catalog, bricks' states, leases that have run out. Out: whether a proposed view may take effect.
//!
//! Invariant: a view takes effect only when all bricks that it fences have stopped or cannot act, and its primary has
//! accepted it: by what was reported to this leader itself (rules `a proposed view only stops`,
//! `removed members are fenced` and `a primary accepts its view`).
//!
//! Not here: which views are proposed (`decide`), the change of the catalog (`metadata`).

use super::case::Case;
use super::leases::Leases;
use super::requests::Requests;
use brickyard_metadata::{Catalog, CatalogVersion};
use brickyard_routing::{Replica, ViewChange};
use brickyard_types::Instant;
use std::collections::BTreeMap;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct ViewChanges {
    /// The version of the catalog from which on a brick has to have stopped something.
    stops: BTreeMap<Replica, u64>,
}

impl ViewChanges {
    /// The catalog has changed.
    pub(super) fn on_catalog(&mut self, catalog: &Catalog) {
        self.stops.clear();
        for (_, group) in catalog.tables().flat_map(|table| table.partitions()) {
            let Some(change) = &group.change else {
                continue;
            };
            assert!(
                change.view > group.view && change.proposed_at <= catalog.version().0,
                "view {} was proposed after {} in version {} of {:?}",
                change.view,
                group.view,
                change.proposed_at,
                catalog.version()
            );
            for replica in &change.fenced {
                let version = self.stops.entry(*replica).or_default();
                *version = (*version).max(change.proposed_at);
            }
        }
    }

    /// For each brick that a view change fences, the version of the catalog from which on it has to have stopped.
    pub(super) const fn stops(&self) -> &BTreeMap<Replica, u64> {
        &self.stops
    }

    /// Whether a proposed view may take effect.
    pub(super) fn may_take_effect(
        &self,
        change: &ViewChange,
        case: &Case<'_>,
        requests: &Requests,
        leases: &Leases,
    ) -> bool {
        let (version, catalog, now) = (change.proposed_at, case.catalog, case.now());
        for replica in &change.fenced {
            let stop = self.stops.get(replica);
            assert!(
                stop.is_some_and(|stop| *stop >= version),
                "{replica} is granted leases (stop {stop:?}) and view {} fences it since {version}",
                change.view
            );
        }
        // Rule `removed members are fenced`: all bricks that it fences.
        let mut fenced = change.fenced.iter();
        let is_fenced = fenced.all(|replica| {
            requests.has_withdrawn(case, *replica)
                || is_fenced(*replica, version, catalog, leases, now)
        });
        // Rule `a primary accepts its view`: its primary has accepted it, in the life that was named.
        let is_accepted = leases.state(change.primary).accepted >= CatalogVersion(version);
        is_fenced && is_accepted && catalog.is_current(change.primary)
    }
}

/// Whether a brick certainly does nothing any more in a view that a change of this version took it out of.
fn is_fenced(
    replica: Replica,
    version: u64,
    catalog: &Catalog,
    leases: &Leases,
    now: Instant,
) -> bool {
    // Rule `a proposed view only stops`: it reported that to this leader, in that very life; or (rule
    // `only the same machine proves death`) that life is over for certain; or its lease has run out.
    leases.state(replica).stopped.0 >= version
        || catalog.is_proven_dead(replica)
        || leases.has_run_out(replica, now)
}
