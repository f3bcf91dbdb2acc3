//! Partitions move to where they should be, while they are used.
//!
//! In: the plan, which anybody who has the catalog comes to. Out: learners beyond the copies that are asked for.
//! ```text
//! A* B     a learner more        caught up           handed over
//!          A* B (J)       ──►    A* B J      ──►     J* B
//! ```
//! Each step is a change of the catalog, decided by what is there: a leader that comes to lead in the middle goes
//! on. What a learner has is copied while everybody writes, and dropped again if it is not wanted any more.
//!
//! Invariants:
//! - A partition never has fewer copies for a move than before it.
//! - Nothing moves while a copy is missing, a member does not answer, a node stops, or an operator wants none.

use super::Controller;
use super::group::{Case, Findings};
use super::load::Load;
use brickyard_metadata::{Catalog, NewLearners, Proposal, Table};
use brickyard_routing::{Group, Member, NodeId, Seat};
use brickyard_types::{Instant, PartitionId};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Controller {
    /// Plans anew if anything has changed.
    pub(super) fn see_to_plan(&mut self, now: Instant, catalog: &Catalog) {
        let lost: BTreeSet<NodeId> = self
            .down_since
            .iter()
            .filter(|(_, since)| now - **since >= self.config.replace_after)
            .map(|(node, _)| *node)
            .collect();
        let is_old = self.plan.version != catalog.version() || self.lost != lost;
        self.lost = lost;
        self.see_to_siblings(now, catalog);
        if is_old || self.together != self.gathering.pairs() {
            self.plan_anew(catalog);
            // Whatever is given up would have no target of its own.
            while self.spurn_stuck(now, catalog) {
                self.plan_anew(catalog);
            }
        }
    }

    fn plan_anew(&mut self, catalog: &Catalog) {
        self.together = self.gathering.pairs();
        self.plan = catalog.plan_colocated(&self.lost, &self.together);
    }

    /// Whether a brick should hold a partition.
    pub(super) fn is_planned(&self, case: &Case<'_>, member: Member) -> bool {
        self.plan.wants(case.partition, member)
    }

    /// Lets bricks learn what they should hold and do not: one copy of a partition at a time, and so many a brick
    /// (`learners_per_brick`).
    pub(super) fn begin_moves(&self, now: Instant, load: &mut Load, findings: &mut Findings) {
        let is_time = !findings.is_impaired && self.draining.is_empty();
        if !is_time || self.catalog.is_paused() {
            return;
        }
        let decisions = &mut findings.decisions;
        let proposals = decisions.proposals.iter();
        // Of each partition one thing at a time.
        let changing: BTreeSet<PartitionId> = proposals.map(|it| it.partition).collect();
        let catalog = Arc::clone(&self.catalog);
        // Of a table that is to be split halves will move, not wholes; of one that is not served nothing.
        let tables = catalog.tables().filter(|it| it.is_online());
        let tables = tables.filter(|it| !self.sizing.is_short(it.id));
        for table in tables {
            for (partition, group) in table.partitions() {
                if decisions.count() >= self.config.batch {
                    return;
                }
                if changing.contains(&partition) {
                    continue;
                }
                if let Some(seat) = self.next_member(now, table, partition, group, load) {
                    load.learn(group.primary.member, seat);
                    findings.is_busy = true;
                    decisions.learners.push(NewLearners {
                        table: table.id,
                        partition,
                        view: group.view,
                        learners: vec![seat],
                    });
                }
            }
        }
    }

    /// Who is to learn a partition to take another one's place in it.
    fn next_member(
        &self,
        now: Instant,
        table: &Table,
        partition: PartitionId,
        group: &Group,
        load: &Load,
    ) -> Option<Seat> {
        let asked = self.catalog.copies_wanted(table, partition);
        let is_at_rest = group.change.is_none()
            && group.learners.is_empty()
            && self.catalog.split_of(partition).is_none()
            && self.catalog.merge_of(partition).is_none();
        // What is too many goes first.
        if !is_at_rest || group.in_sync().count() > asked {
            return None;
        }
        let is_apart = |seat: &Seat| {
            let mut members = group.in_sync();
            members.all(|it| it.member.node != seat.member.node)
        };
        let may_learn = |seat: &Seat| {
            self.is_up(*seat, now)
                && is_apart(seat)
                && !self.barred.contains_key(&(partition, seat.member))
                && load.learning(*seat) < self.config.learners_per_brick
        };
        let target = self.plan.target(partition).iter();
        let mut seats = target.filter_map(|member| {
            let node = self.catalog.node(member.node)?;
            Some(node.seat(member.brick))
        });
        seats.find(may_learn)
    }

    /// Lets another member order the operations where the primary is on a node that is to hold nothing.
    pub(super) fn lead_elsewhere(&self, case: &Case<'_>, load: &mut Load) -> Option<Proposal> {
        let group = case.group;
        let stays = |seat: &Seat| !self.is_leaving(seat.member.node);
        if stays(&group.primary) || !group.in_sync().any(|seat| stays(&seat)) {
            return None;
        }
        let left: Vec<Seat> = group.in_sync().filter(stays).collect();
        let out = group.in_sync().filter(|seat| !stays(seat));
        Some(self.hand_over(case, load, &left, &out.collect::<Vec<_>>()))
    }

    /// A proposal for one of `left` to be the primary, and for all to stay: who should be, or who has least to
    /// do.
    pub(super) fn hand_over(
        &self,
        case: &Case<'_>,
        load: &mut Load,
        left: &[Seat],
        out: &[Seat],
    ) -> Proposal {
        let table = case.table.id;
        let first = self.plan.target(case.partition).first();
        let rank = |seat: &Seat| {
            let member = seat.member;
            let is_first = first == Some(&member);
            (!is_first, load.primaries(table, member), member)
        };
        let mut ordered = left.to_vec();
        ordered.sort_by_key(rank);
        if let Some(next) = ordered.first() {
            load.hand_over(table, case.group.primary.member, next.member);
        }
        ordered.extend(out);
        let mut proposal = Proposal::of(table, case.partition, case.group, &ordered);
        proposal.learners.retain(|seat| self.live.contains(seat));
        proposal
    }
}

#[cfg(test)]
#[path = "moves_test.rs"]
mod moves_test;
