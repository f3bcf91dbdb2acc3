//! What commits, and when: the one place where votes become outcomes.
//!
//! At the primary an entry commits when the own log has it and every member whose vote is required has voted
//! for the turn in which it was sent to that member on its present stream. At a backup or learner it commits
//! when the primary says so and the own log has it.

use crate::links::Links;
use crate::member::Phase;
use crate::own_log::OwnLog;
use crate::partition::Partition;
use crate::ready::Ready;
use crate::slots::Slots;
use crate::work::Work;
use crate::{LogMark, Role, Sequence};

/// What committing looks at, and what it may change.
pub(crate) struct Settling<'a> {
    pub(crate) partitions: &'a mut Slots,
    pub(crate) links: &'a Links,
    pub(crate) own: &'a mut OwnLog,
    pub(crate) work: &'a mut Work,
    pub(crate) ready: &'a mut Ready,
    pub(crate) has_lease: bool,
}

impl Settling<'_> {
    /// Commits what can be.
    pub(crate) fn settle(&mut self) {
        while let Some(slot) = self.work.ready.pop() {
            let Some(it) = self.partitions.get_mut(slot) else {
                continue;
            };
            it.lead.is_ready = false;
            let before = it.log.committed;
            match it.place.role {
                Role::Primary if self.has_lease => {
                    commit_as_primary(it, self.links, self.own, self.work, self.ready);
                }
                // Rules `grants count for adopted maps` and `leases count from the request`: a primary without a
                // lease commits nothing.
                Role::Primary => {}
                _ => commit_as_follower(it, self.own, self.ready),
            }
            assert!(it.log.committed >= before, "a commit position went back");
        }
    }
}

fn commit_as_primary(
    it: &mut Partition,
    links: &Links,
    own: &OwnLog,
    work: &mut Work,
    ready: &mut Ready,
) {
    // Rules `a primary accepts its view` and `acknowledged views are remembered`: a view that was left for a newer
    // one commits nothing.
    if !it.leads() {
        return;
    }
    let Some(sequence) = voted(it, links) else {
        return;
    };
    let own = own.reached(it.durability);
    let entries = it.log.pending.iter();
    let count = entries
        .take_while(|entry| entry.sequence <= sequence && entry.mark <= own)
        .count();
    if count > 0 {
        it.commit(count, ready);
        work.announce(it);
    }
}

fn commit_as_follower(it: &mut Partition, own: &mut OwnLog, ready: &mut Ready) {
    let known = it.follow.known_commit;
    let entries = it.log.pending.iter();
    let count = entries
        .take_while(|entry| entry.op <= known && entry.mark <= own.appended)
        .count();
    it.commit(count, ready);
    // What is known to be committed and not in the own log yet commits when it is.
    if let Some(front) = it.log.pending.front()
        && front.op <= known
        && front.mark != LogMark::NEVER
    {
        own.await_append(front.mark, it.slot);
    }
}

/// Up to which turn all members whose vote is required have voted; `None` if one has not since its stream
/// began. Without such members: any that was flushed. (What was not flushed must not commit even then: a
/// learner's stream would miss it.)
fn voted(it: &Partition, links: &Links) -> Option<Sequence> {
    let mut least = Sequence(Sequence::NEVER.0 - 1);
    // Rule `learner votes before promotion`: a learner counts from the end of its catch-up on.
    for member in it.lead.members.iter().filter(|it| it.is_required) {
        // Rule `votes cover what was appended`: one that refused is not streaming, and its votes do not count.
        let Phase::Streaming { since } = member.phase else {
            return None;
        };
        let link = links.get(member.link?)?;
        assert_eq!(link.peer, member.replica, "a vote of another member");
        let vote = link.sender.voted.at(it.durability);
        // Rules `votes belong to a stream` and `uncommitted ops are voted for again`: only votes for what was sent in
        // this view and on this stream, the inherited entries included.
        if vote < since {
            return None;
        }
        least = least.min(vote);
    }
    Some(least)
}
