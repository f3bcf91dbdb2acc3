//! No in-sync member of a partition lives on with everything in memory: which log the partition goes on from, after a restart
//! of all, or when a table comes back online (rules `a restart cuts nothing` and `lost memory begins a generation`).

use super::case::{Case, primary_to_be};
use super::holdings::Holdings;
use super::proposals::propose;
use super::recovery::LogRecovery;
use crate::message::LogSummary;
use brickyard_metadata::{Ground, Proposal};
use brickyard_routing::Replica;
use brickyard_types::{Durability, Op, View};
use std::time::Duration;

/// The order of several logs, the best last: by their ends; by whether the brick led before; by how few others it leads.
type Rank = ((View, Op), bool, std::cmp::Reverse<u64>, Replica);

impl LogRecovery {
    /// A new beginning for a partition whose in-sync members are all gone; `None` as long as one has to wait.
    pub(super) fn begin_again(
        &mut self,
        case: &Case<'_>,
        lease: Duration,
        holdings: &mut Holdings,
    ) -> Option<Proposal> {
        let durability = case.table.attributes.durability;
        let chosen = if durability == Durability::Memory {
            declare_lost(case, holdings)?
        } else {
            self.choose_log(case, lease, holdings)?
        };
        let (replica, ground, floor) = chosen;
        assert!(
            case.view.is_leased(replica),
            "{replica} leads {} next, without a lease",
            case.partition
        );
        assert!(
            ground != Ground::Lost || floor == View(0),
            "{} begins empty, above view {floor}",
            case.partition
        );
        let change = case.group.change.as_ref();
        let is_under_way = change.is_some_and(|change| change.primary == replica);
        if is_under_way {
            return None;
        }
        let former = primary_to_be(case.group);
        holdings.hand_over(case.table.id, former.member, replica.member);
        let mut proposal = propose(case, &[replica]);
        proposal.learners.clear();
        proposal.ground = ground;
        proposal.floor = floor;
        if ground == Ground::Return {
            keep_others(case, &mut proposal);
        }
        Some(proposal)
    }

    /// The member whose log goes on.
    pub(super) fn choose_log(
        &mut self,
        case: &Case<'_>,
        lease: Duration,
        holdings: &Holdings,
    ) -> Option<(Replica, Ground, View)> {
        let is_unloaded = case.table.is_suspended(case.partition);
        let mut is_all = true;
        // A member is there and still reads its log.
        let mut is_reading = false;
        let mut best: Option<Rank> = None;
        let mut is_enough = false;
        let mut floor = View(0);
        for former in case.group.in_sync() {
            let member = former.member;
            // A node that was removed by force is not waited for.
            let Some(node) = case.catalog.node(member.node) else {
                continue;
            };
            let replica = node.replica(member.brick);
            // Of an unloaded partition a brick has nothing in memory but what it has read again.
            let has_read = replica.incarnation > former.incarnation || is_unloaded;
            if !has_read || !case.view.is_leased(replica) {
                is_all = false;
                continue;
            }
            let summary = if is_unloaded {
                self.reloads.summary(case, replica).map(Some)
            } else {
                self.summaries.summary(replica, case.partition)
            };
            let Some(summary) = summary else {
                is_all = false;
                is_reading = true;
                if !is_unloaded {
                    self.summaries.want([replica]);
                }
                continue;
            };
            let Some(summary) = summary else { continue };
            floor = floor.max(summary.last.0);
            // Rules `a restart cuts nothing` and `log summaries begin at a baseline`: a log that lacks something is
            // not gone on from, nor another history's. One that has nothing has all that there was before the first
            // record of the first history.
            let is_new =
                summary.generation == 0 && summary.last.1 == Op(0) && case.group.generation == 1;
            let is_ours =
                summary.generation == case.group.generation || is_new || is_founder(&summary, case);
            if !summary.is_complete || !is_ours {
                continue;
            }
            let primaries = std::cmp::Reverse(holdings.primaries(case.table.id, member));
            // Where it led before, if that makes no difference.
            let has_led = is_unloaded && member == case.group.primary.member;
            // Rule `a restart cuts nothing`: the highest (view, op) among complete logs.
            let rank: Rank = (summary.last, has_led, primaries, replica);
            best = Some(best.map_or(rank, |best| best.max(rank)));
            is_enough |= lacks_nothing(&summary, case.table.attributes.durability);
        }
        // Rule `a restart cuts nothing`: one log is enough only if it cannot have lost its end; else all have to be
        // seen.
        let (_, _, _, replica) = best.filter(|_| is_enough || is_all)?;
        if !is_unloaded {
            return Some((replica, Ground::Restart, floor));
        }
        // Else the brick that has read its log first would lead all that it has.
        let has_waited = |since| case.now() - since >= lease * 2;
        let may_go = !is_reading || self.reloads.known_since(case).is_some_and(has_waited);
        may_go.then_some((replica, Ground::Return, floor))
    }
}

/// The brick that begins with nothing, once it is certain that nothing is left.
fn declare_lost(case: &Case<'_>, holdings: &Holdings) -> Option<(Replica, Ground, View)> {
    // Rule `lost memory begins a generation`: what is in memory is lost with the process, and only then; one that
    // cannot be reached may come back with everything.
    let mut members = case.group.in_sync();
    if members.any(|replica| case.catalog.is_current(replica)) {
        return None;
    }
    let is_good = |replica: &Replica| {
        case.view.is_leased(*replica) && !case.view.is_leaving(replica.member.node)
    };
    let others = case.catalog.candidates().into_iter().map(|it| it.replica);
    let rank = |replica: &Replica| {
        (
            holdings.primaries(case.table.id, replica.member),
            replica.member,
        )
    };
    let replica = case.present_members().filter(is_good).min_by_key(rank);
    let replica = replica.or_else(|| others.filter(is_good).min_by_key(rank))?;
    Some((replica, Ground::Lost, View(0)))
}

/// Names the other members of an unloaded partition as learners of the view in which it is served again. A brick that is in
/// no view drops what it holds, and would have to be sent all of it.
fn keep_others(case: &Case<'_>, proposal: &mut Proposal) {
    let stays = |replica: &Replica| {
        let node = replica.member.node;
        *replica != proposal.primary && case.view.is_leased(*replica) && !case.view.is_leaving(node)
    };
    proposal.learners = case.present_members().filter(stays).collect();
}

/// Whether this is the log of the one who was to found the history, and stopped before its first record: nothing of it
/// was ever acknowledged. The others who are in sync have copied from there; but a log that may have lost its end
/// may have lost such a copy, and be another history's.
fn is_founder(summary: &LogSummary, case: &Case<'_>) -> bool {
    summary.generation < case.group.generation
        && lacks_nothing(summary, case.table.attributes.durability)
}

/// Whether a complete log has everything that was ever acknowledged: nothing at its end can have been lost.
fn lacks_nothing(summary: &LogSummary, durability: Durability) -> bool {
    // Rules `a lost log end is noted first` and `stronger durability counts for the log`: what was promised when it
    // was written counts, and what the disk can have lost.
    match (durability, summary.durability) {
        (Durability::Memory, _) | (_, Durability::Memory) => false,
        (Durability::Fsync, Durability::Fsync) => !summary.is_end_cut,
        _ => summary.is_tail_sure,
    }
}

#[cfg(test)]
#[path = "restart_test.rs"]
mod restart_test;
