//! Where every copy should be: the plan, which every node that has the catalog comes to by itself.
//!
//! In:  the catalog, nodes that are not waited for, siblings that are brought together. Out: for each partition the members
//!      that should hold it, the primary first.
//!
//! Invariant: the plan is for the pairs and the lost nodes that are kept beside it.
//!
//! Not here: the plan's arithmetic (`metadata`), moves towards it (`moves`).

use super::case::Case;
use super::colocation::Colocation;
use super::liveness::LivenessView;
use crate::config::ControlConfig;
use brickyard_metadata::{Catalog, Pairs, Plan};
use brickyard_routing::{Member, NodeId, Replica};
use brickyard_types::PartitionId;
use std::collections::BTreeSet;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Placement {
    /// By the catalog as it was at the last decision.
    plan: Plan,
    /// The nodes that it does not count on.
    lost: BTreeSet<NodeId>,
    /// The siblings that it counts as one.
    pairs: Pairs,
}

impl Placement {
    /// Plans anew if anything has changed.
    pub(super) fn update(
        &mut self,
        view: &LivenessView,
        catalog: &Catalog,
        colocation: &mut Colocation,
        config: &ControlConfig,
    ) {
        let is_old = self.plan.version != catalog.version() || self.lost != *view.lost();
        self.lost.clone_from(view.lost());
        colocation.maintain(view, catalog, config);
        if is_old || self.pairs != colocation.pairs() {
            self.plan_anew(catalog, colocation);
            // A pair that is given up would have no target of its own.
            while colocation.abandon_stuck(view.now(), catalog, &self.plan, config) {
                self.plan_anew(catalog, colocation);
            }
        }
        assert_eq!(
            self.plan.version,
            catalog.version(),
            "a plan for another catalog"
        );
    }

    fn plan_anew(&mut self, catalog: &Catalog, colocation: &Colocation) {
        self.pairs = colocation.pairs();
        self.plan = catalog.plan_colocated(&self.lost, &self.pairs);
    }

    /// The bricks that should hold a partition, the primary first.
    pub(super) fn target(&self, partition: PartitionId) -> &[Member] {
        self.plan.target(partition)
    }

    /// Whether a brick should hold a partition.
    pub(super) fn wants(&self, partition: PartitionId, member: Member) -> bool {
        self.plan.wants(partition, member)
    }

    /// Whether a learner may become in-sync: there is a place for it still, or it will take another one's.
    pub(super) fn has_place(&self, case: &Case<'_>, learner: Replica) -> bool {
        let is_wanted = case.is_under_replicated() || self.wants(case.partition, learner.member);
        is_wanted && !case.view.is_leaving(learner.member.node)
    }
}
