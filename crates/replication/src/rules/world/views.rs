//! What the control plane does.

use super::World;
use crate::Claim;
use brickyard_routing::Seat;
use brickyard_types::{Op, PartitionId, View};

impl World {
    pub(crate) fn change(&mut self, partition: PartitionId) {
        let group = self.plane.groups[&partition].clone();
        let mut members: Vec<Seat> = group.in_sync().filter(|it| self.is_up(*it)).collect();
        if members.is_empty() {
            self.revive(partition);
            return;
        }
        while members.len() > 1 && self.random.below(2) == 0 {
            let at = self.random.index(members.len());
            members.swap_remove(at);
        }
        let at = self.random.index(members.len());
        let primary = members.swap_remove(at);
        let seats = self.cluster.seats.clone().into_iter();
        let others = seats.filter(|it| *it != primary && !members.contains(it));
        let learners = others.filter(|_| self.random.below(2) == 0).collect();
        self.plane.propose(partition, primary, members, learners);
    }

    pub(crate) fn revive(&mut self, partition: PartitionId) {
        let group = &self.plane.groups[&partition];
        let mut best: Option<((View, Op), Seat)> = None;
        for member in group.in_sync() {
            let at = member.member.node.0 as usize;
            let Some(brick) = &self.cluster.bricks[at] else {
                return;
            };
            let claim = brick.core.claims().find(|(id, _)| *id == partition);
            // A log without the partition is one to which nothing was ever sent.
            let nothing = Claim {
                is_complete: true,
                ..Claim::default()
            };
            let claim = claim.map_or(nothing, |(_, claim)| claim);
            // One that came back while another lived may have become a learner since.
            if claim.is_complete {
                best = best.max(Some((claim.last, self.cluster.seats[at])));
            }
        }
        let (_, primary) = best.expect("the last to die has a complete log");
        self.plane.propose(partition, primary, vec![], vec![]);
    }

    pub(crate) fn advance(&mut self, partition: PartitionId) {
        let group = &self.plane.groups[&partition];
        let Some(change) = group.change.as_deref() else {
            return;
        };
        let is_fenced = |seat: Seat| {
            let at = seat.member.node.0 as usize;
            if self.plane.dead.contains(&seat) {
                return true;
            }
            let Some(brick) = self.cluster.bricks[at]
                .as_ref()
                .filter(|_| self.is_up(seat))
            else {
                return true;
            };
            brick.core.stopped() >= change.proposed_at || !self.leased[at]
        };
        let has_accepted = || {
            let at = change.primary.member.node.0 as usize;
            let brick = self.cluster.bricks[at].as_ref();
            self.is_up(change.primary)
                && brick.is_some_and(|it| it.core.accepted() >= change.proposed_at)
        };
        if change.fenced.iter().all(|it| is_fenced(*it)) && has_accepted() {
            self.plane.make_effective(partition);
            self.views += 1;
        }
    }

    pub(crate) fn promote(&mut self) {
        if self.promotions.is_empty() {
            return;
        }
        let at = self.random.index(self.promotions.len());
        let (partition, view, learner) = self.promotions.swap_remove(at);
        let group = self.plane.groups[&partition].clone();
        // PROTOCOL rule 4: compare and set.
        if group.view != view || group.change.is_some() || !group.learners.contains(&learner) {
            return;
        }
        let mut backups = group.backups.clone();
        backups.push(learner);
        let learners = group.learners.iter().copied();
        let learners = learners.filter(|it| *it != learner).collect();
        self.plane
            .propose(partition, group.primary, backups, learners);
    }

    /// Who is missing is to learn; also who was to learn may be taken off the list for a while.
    pub(crate) fn teach(&mut self, partition: PartitionId, may_drop: bool) {
        let group = &self.plane.groups[&partition];
        let mut learners = group.learners.clone();
        let in_sync: Vec<Seat> = group.in_sync().collect();
        learners.retain(|it| self.is_up(*it));
        if may_drop && !learners.is_empty() && self.random.below(3) == 0 {
            learners.clear();
            return self.plane.learners(partition, learners);
        }
        for seat in &self.cluster.seats {
            if !in_sync.contains(seat) && !learners.contains(seat) {
                learners.push(*seat);
            }
        }
        self.plane.learners(partition, learners);
    }
}
