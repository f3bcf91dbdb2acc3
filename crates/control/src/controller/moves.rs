//! Partitions move to where they should be, while they are used.
//!
//! In:  the plan, which every node that has the catalog comes to. Out: learners beyond the copies that are asked for.
//! ```text
//! A* B     a learner more        caught up           handed over
//!          A* B (J)       ──►    A* B J      ──►     J* B
//! ```
//! Each step is a change of the catalog, decided by what is there: a leader that comes to lead in the middle goes
//! on. What a learner has is copied while clients write, and dropped again if it is not wanted any more.
//!
//! Invariants:
//! - A partition never has fewer copies for a move than before it.
//! - Nothing moves while a copy is missing, a member does not answer, a node drains, or an operator has paused moves.

use super::case::Case;
use super::findings::Findings;
use super::holdings::Holdings;
use super::liveness::LivenessView;
use super::placement::Placement;
use super::requests::Requests;
use super::sizing::Sizing;
use crate::config::ControlConfig;
use brickyard_metadata::{Catalog, NewLearners};
use brickyard_routing::Replica;
use brickyard_types::PartitionId;
use std::collections::BTreeSet;

/// Begins moves; it borrows what these depend on.
pub(super) struct Moves<'a> {
    pub(super) config: &'a ControlConfig,
    pub(super) requests: &'a Requests,
    pub(super) placement: &'a Placement,
    pub(super) sizing: &'a Sizing,
    pub(super) holdings: &'a mut Holdings,
}

impl Moves<'_> {
    /// Lets bricks learn what they should hold and do not: one copy of a partition at a time, and so many a brick
    /// (`learners_per_brick`).
    pub(super) fn begin(
        &mut self,
        catalog: &Catalog,
        view: &LivenessView,
        findings: &mut Findings,
    ) {
        let is_time = !findings.is_impaired && !view.has_draining();
        if !is_time || catalog.is_paused() {
            return;
        }
        let decisions = &mut findings.decisions;
        // Of each partition one thing at a time.
        let proposals = decisions.proposals.iter().map(|it| it.partition);
        let learners = decisions.learners.iter().map(|it| it.partition);
        let changing: BTreeSet<PartitionId> = proposals.chain(learners).collect();
        // Of a table that will be split halves will move, not wholes; of one that is not served nothing.
        let tables = catalog.tables().filter(|it| it.is_online());
        let tables = tables.filter(|it| !self.sizing.is_undersized(it.id));
        for table in tables {
            for (partition, group) in table.partitions() {
                if decisions.count() >= self.config.batch {
                    return;
                }
                if changing.contains(&partition) {
                    continue;
                }
                let case = Case {
                    catalog,
                    view,
                    table,
                    partition,
                    group,
                };
                if let Some(replica) = self.next_member(&case) {
                    assert!(
                        group
                            .members()
                            .all(|it| it.member.node != replica.member.node),
                        "{replica} learns {partition}, which its node holds"
                    );
                    self.holdings.learn(group.primary.member, replica);
                    findings.is_busy = true;
                    decisions.learners.push(NewLearners {
                        table: table.id,
                        partition,
                        view: group.view,
                        learners: vec![replica],
                    });
                }
            }
        }
    }

    /// The brick that should learn a partition next, to take another one's place in it.
    fn next_member(&self, case: &Case<'_>) -> Option<Replica> {
        let (catalog, partition, group) = (case.catalog, case.partition, case.group);
        let asked = catalog.copies_wanted(case.table, partition);
        let is_quiet = group.change.is_none()
            && group.learners.is_empty()
            && catalog.split_of(partition).is_none()
            && catalog.merge_of(partition).is_none();
        // What is too many goes first.
        if !is_quiet || group.in_sync().count() > asked {
            return None;
        }
        let is_apart = |replica: &Replica| {
            let mut members = group.in_sync();
            members.all(|it| it.member.node != replica.member.node)
        };
        let may_learn = |replica: &Replica| {
            case.view.is_leased(*replica)
                && is_apart(replica)
                && !self.requests.is_barred(partition, replica.member)
                && self.holdings.learning(*replica) < self.config.learners_per_brick
        };
        let target = self.placement.target(partition).iter();
        let mut replicas = target.filter_map(|member| {
            let node = catalog.node(member.node)?;
            Some(node.replica(member.brick))
        });
        replicas.find(may_learn)
    }
}

#[cfg(test)]
#[path = "moves_test.rs"]
mod moves_test;
