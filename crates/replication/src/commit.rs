//! What commits, and when: the one place where votes become outcomes.
//!
//! At the primary an entry commits when the own log has it and every member whose vote is required has voted
//! for the turn in which it was sent to that member on its present stream. At a backup or learner it commits
//! when the primary says so and the own log has it.

use crate::link::{Link, level};
use crate::member::Phase;
use crate::partition::Partition;
use crate::{Host, LogMark, Replicator, Role, Turn};
use brickyard_types::{Durability, Op};

impl<P> Replicator<P> {
    /// Commits what can be.
    pub(crate) fn settle<H: Host<Payload = P>>(&mut self, host: &mut H) {
        while let Some(slot) = self.work.ready.pop() {
            let Some(partition) = self.partitions.get_mut(slot) else {
                continue;
            };
            partition.lead.is_ready = false;
            match partition.place.role {
                Role::Primary => self.commit_as_primary(host, slot),
                _ => self.commit_as_follower(host, slot),
            }
        }
        if !self.work.promotions.is_empty() {
            self.promote();
        }
        if !self.work.partings.is_empty() {
            self.ask_splits();
        }
    }

    fn commit_as_primary<H: Host<Payload = P>>(&mut self, host: &mut H, slot: u32) {
        let Some(partition) = self.partitions.get_mut(slot) else {
            return;
        };
        // PROTOCOL rules 8 and 11: a view that was left for a newer one commits nothing; and none without
        // a lease.
        if !self.has_lease || !partition.leads() {
            return;
        }
        let Some(turn) = voted(partition, &self.links) else {
            return;
        };
        let own = match partition.durability {
            Durability::Fsync => self.own.synced,
            _ => self.own.appended,
        };
        let entries = partition.log.pending.iter();
        let count = entries
            .take_while(|entry| entry.turn <= turn && entry.mark <= own)
            .count();
        if count > 0 {
            commit(host, partition, count);
            let announced = &mut partition.lead.is_announced;
            if !partition.lead.members.is_empty() && !std::mem::replace(announced, true) {
                self.work.announced.push(slot);
            }
        }
    }

    fn commit_as_follower<H: Host<Payload = P>>(&mut self, host: &mut H, slot: u32) {
        let Some(partition) = self.partitions.get_mut(slot) else {
            return;
        };
        let known = partition.follow.known_commit;
        let own = self.own.appended;
        let entries = partition.log.pending.iter();
        let count = entries
            .take_while(|entry| entry.op <= known && entry.mark <= own)
            .count();
        if count > 0 {
            commit(host, partition, count);
        }
        // What is known to be committed and not in the own log yet commits when it is.
        if let Some(front) = partition.log.pending.front()
            && front.op <= known
            && front.mark != LogMark::NEVER
        {
            self.own.until_appended.push_back((front.mark, slot));
        }
    }

    /// Durability changed: what waited for one thing waits for another.
    pub(crate) fn wait_anew(&mut self, slot: u32) {
        let Some(partition) = self.partitions.get_mut(slot) else {
            return;
        };
        let level = level(partition.durability);
        let mark = partition.log.mark;
        for member in &partition.lead.members {
            let link = member.link.and_then(|id| self.links.get_mut(id.0 as usize));
            if let Some(link) = link.and_then(Option::as_mut) {
                let sent = link.sender.sent;
                link.sender.waiting[level].push_back((sent, slot));
            }
        }
        self.own.until_appended.push_back((mark, slot));
        self.own.until_synced.push_back((mark, slot));
        self.make_ready(slot);
    }
}

/// Up to which turn all members whose vote is required have voted; `None` if one has not since its stream
/// began. Without such members: any that was flushed. (What was not flushed must not commit even then: a
/// learner's stream would miss it.)
fn voted<P>(partition: &Partition<P>, links: &[Option<Link>]) -> Option<Turn> {
    let mut least = Turn(Turn::NEVER.0 - 1);
    // PROTOCOL rule 4: a learner counts from the end of its catch-up on.
    for member in partition.lead.members.iter().filter(|it| it.is_required) {
        // PROTOCOL rule 1: one that refused is not streaming, and its votes do not count.
        let Phase::Streaming { since } = member.phase else {
            return None;
        };
        let link = links.get(member.link?.0 as usize)?.as_ref()?;
        let vote = link.sender.voted.at(partition.durability);
        // PROTOCOL rules 2 and 5: only votes for what was sent in this view and on this stream, the
        // inherited entries included.
        if vote < since {
            return None;
        }
        least = least.min(vote);
    }
    Some(least)
}

/// The first `count` entries are committed.
pub(crate) fn commit<P, H: Host<Payload = P>>(
    host: &mut H,
    partition: &mut Partition<P>,
    count: usize,
) {
    let left = partition.log.pending.len() - count;
    partition.log.committed = Op(partition.log.committed.0 + count as u64);
    partition.lead.unsent = partition.lead.unsent.min(left);
    host.commit(partition.id, &mut partition.log.pending.drain(..count));
}
