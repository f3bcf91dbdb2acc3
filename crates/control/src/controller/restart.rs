//! Nobody who held everything lives on, or has it in memory still: who may go on from what a restart left, or what was read
//! again when a table came back online (PROTOCOL rules 9 and 36).

use super::Controller;
use super::group::Case;
use super::load::Load;
use crate::message::Claim;
use brickyard_metadata::{Ground, Proposal};
use brickyard_routing::Seat;
use brickyard_types::{Durability, Op, View};

/// By which the best of several logs is told: its end; whether its brick led before; of how many it does not.
type Rank = ((View, Op), bool, std::cmp::Reverse<u64>, Seat);

impl Controller {
    /// A new beginning for a partition whose in-sync members are all gone; `None` as long as one has to wait.
    pub(super) fn begin_again(&mut self, case: &Case<'_>, load: &mut Load) -> Option<Proposal> {
        let durability = case.table.attributes.durability;
        let chosen = if durability == Durability::Memory {
            self.declare_lost(case, load)?
        } else {
            self.choose_log(case, load)?
        };
        let (seat, ground, floor) = chosen;
        let change = case.group.change.as_ref();
        let is_under_way = change.is_some_and(|change| change.primary == seat);
        if is_under_way {
            return None;
        }
        let former = super::load::primary_to_be(case.group);
        load.hand_over(case.table.id, former.member, seat.member);
        let mut proposal = Proposal::of(case.table.id, case.partition, case.group, &[seat]);
        proposal.learners.clear();
        proposal.ground = ground;
        proposal.floor = floor;
        if ground == Ground::Return {
            self.keep_others(case, &mut proposal);
        }
        Some(proposal)
    }

    /// The member whose log goes on.
    pub(super) fn choose_log(
        &mut self,
        case: &Case<'_>,
        load: &Load,
    ) -> Option<(Seat, Ground, View)> {
        let is_parked = case.table.is_parked(case.partition);
        let mut is_all = true;
        // Somebody is there and reads its log still.
        let mut is_reading = false;
        let mut best: Option<Rank> = None;
        let mut is_enough = false;
        let mut floor = View(0);
        for former in case.group.in_sync() {
            let member = former.member;
            // A node that was removed by force has nothing to say any more.
            let Some(node) = self.catalog.node(member.node) else {
                continue;
            };
            let seat = node.seat(member.brick);
            // Of a parked partition nobody has anything in memory but what it has read again.
            let has_read = seat.incarnation > former.incarnation || is_parked;
            if !has_read || !self.is_up(seat, case.now) {
                is_all = false;
                continue;
            }
            let claim = if is_parked {
                self.returns.claim(case, seat).map(Some)
            } else {
                self.reports.claim(seat, case.partition)
            };
            let Some(claim) = claim else {
                is_all = false;
                is_reading = true;
                if !is_parked {
                    self.reports.wanted.insert(seat);
                }
                continue;
            };
            let Some(claim) = claim else { continue };
            floor = floor.max(claim.last.0);
            // PROTOCOL rules 9 and 15: a log that lacks something is not gone on from, nor another history's.
            // One that has nothing has all that there was before the first record of the first history.
            let is_new = claim.lineage == 0 && claim.last.1 == Op(0) && case.group.lineage == 1;
            let is_ours = claim.lineage == case.group.lineage || is_new || is_founder(&claim, case);
            if !claim.is_complete || !is_ours {
                continue;
            }
            let primaries = std::cmp::Reverse(load.primaries(case.table.id, member));
            // Where it led before, if that makes no difference.
            let has_led = is_parked && member == case.group.primary.member;
            // PROTOCOL rule 9: the highest (view, op) among complete logs.
            let rank: Rank = (claim.last, has_led, primaries, seat);
            best = Some(best.map_or(rank, |best| best.max(rank)));
            is_enough |= lacks_nothing(&claim, case.table.attributes.durability);
        }
        // PROTOCOL rule 9: one log is enough only if it cannot have lost its end; else all have to be seen.
        let (_, _, _, seat) = best.filter(|_| is_enough || is_all)?;
        if !is_parked {
            return Some((seat, Ground::Restart, floor));
        }
        // Else whoever has read its log first would lead all that it has.
        let has_waited = |since| case.now - since >= self.config.lease * 2;
        let may_go = !is_reading || self.returns.known_since(case).is_some_and(has_waited);
        may_go.then_some((seat, Ground::Return, floor))
    }

    /// Who begins with nothing, once it is certain that nothing is left.
    fn declare_lost(&mut self, case: &Case<'_>, load: &Load) -> Option<(Seat, Ground, View)> {
        // PROTOCOL rule 36: what is in memory is lost with the process, and only then; one that cannot be
        // reached may come back with everything.
        let mut members = case.group.in_sync();
        if members.any(|seat| self.catalog.is_current(seat)) {
            return None;
        }
        let present = case.group.in_sync().filter_map(|former| {
            let node = self.catalog.node(former.member.node)?;
            Some(node.seat(former.member.brick))
        });
        let is_good =
            |seat: &Seat| self.is_up(*seat, case.now) && !self.is_leaving(seat.member.node);
        let others = self.catalog.candidates().into_iter().map(|it| it.seat);
        let rank = |seat: &Seat| (load.primaries(case.table.id, seat.member), seat.member);
        let seat = present.filter(is_good).min_by_key(rank);
        let seat = seat.or_else(|| others.filter(is_good).min_by_key(rank))?;
        Some((seat, Ground::Lost, View(0)))
    }
}

/// Whether this is the log of the one who was to found the history, and stopped before its first record: nothing of it
/// was ever acknowledged. The others who are in sync have copied from there; but a log that may have lost its end
/// may have lost such a copy, and be another history's.
fn is_founder(claim: &Claim, case: &Case<'_>) -> bool {
    claim.lineage < case.group.lineage && lacks_nothing(claim, case.table.attributes.durability)
}

/// Whether a complete log has everything that was ever acknowledged: nothing at its end can have been lost.
fn lacks_nothing(claim: &Claim, durability: Durability) -> bool {
    // PROTOCOL rules 13 and 32: what was promised when it was written counts, and what the disk can have lost.
    match (durability, claim.durability) {
        (Durability::Memory, _) | (_, Durability::Memory) => false,
        (Durability::Fsync, Durability::Fsync) => !claim.is_end_cut,
        _ => claim.is_tail_sure,
    }
}

#[cfg(test)]
#[path = "restart_test.rs"]
mod restart_test;
