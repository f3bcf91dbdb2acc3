//! This brick as a primary: its records, and the votes for them.

use crate::frame::FrameError;
use crate::link::Voted;
use crate::{Entry, LinkId, LogMark, Replicator, Turn};
use brickyard_types::{Op, PartitionId};

impl<P> Replicator<P> {
    /// The record that [`Self::next`] described is in the log batch `mark` ([`LogMark::NONE`]: durability
    /// `memory`).
    ///
    /// # Panics
    /// If there is no such partition (a caller bug: `next` was not asked).
    #[inline]
    pub fn prepared(&mut self, partition: PartitionId, mark: LogMark, payload: P) {
        let slot = self.partitions.find(partition);
        let found = slot.and_then(|slot| Some((slot, self.partitions.get_mut(slot)?)));
        #[expect(clippy::expect_used, reason = "see Panics")]
        let (slot, it) = found.expect("a partition that `next` was asked for");
        self.own.newest = self.own.newest.max(mark);
        it.log.push(Entry {
            view: it.place.view,
            op: it.log.last.1.next(),
            mark,
            turn: Turn::NEVER,
            payload,
        });
        it.lead.unsent += 1;
        if !std::mem::replace(&mut it.lead.is_dirty, true) {
            self.work.dirty.push(slot);
        }
        if !std::mem::replace(&mut it.lead.is_busy, true) {
            self.work.busy.push(slot);
        }
    }

    /// Takes back records from `from` on that were not flushed yet, and returns them, oldest first. What was
    /// flushed stays: peers may have it.
    pub fn rewind(&mut self, partition: PartitionId, from: Op) -> Vec<Entry<P>> {
        let slot = self.partitions.find(partition);
        let Some(it) = slot.and_then(|slot| self.partitions.get_mut(slot)) else {
            return Vec::new();
        };
        let sent = it.log.last.1.0 - it.lead.unsent as u64;
        let kept = Op(from.0.saturating_sub(1).max(sent)).max(it.log.committed);
        let gone = it.log.cut(kept);
        it.lead.unsent -= gone.len().min(it.lead.unsent);
        gone.into()
    }

    pub(crate) fn make_dirty(&mut self, slot: u32) {
        if let Some(it) = self.partitions.get_mut(slot)
            && !std::mem::replace(&mut it.lead.is_dirty, true)
        {
            self.work.dirty.push(slot);
        }
    }

    pub(crate) fn make_busy(&mut self, slot: u32) {
        if let Some(it) = self.partitions.get_mut(slot)
            && !std::mem::replace(&mut it.lead.is_busy, true)
        {
            self.work.busy.push(slot);
        }
    }

    /// A peer voted for what this brick sent it.
    pub(crate) fn on_vote(&mut self, link: LinkId, vote: Voted) -> Result<(), FrameError> {
        let Some(Some(link)) = self.links.get_mut(link.0 as usize) else {
            return Ok(());
        };
        let sender = &mut link.sender;
        let is_ordered = vote.synced <= vote.appended && vote.appended <= vote.received;
        if !is_ordered || vote.received > sender.sent {
            let what = "a vote for what was not sent";
            return Err(FrameError::Protocol { what });
        }
        let voted = &mut sender.voted;
        voted.received = voted.received.max(vote.received);
        voted.appended = voted.appended.max(vote.appended);
        voted.synced = voted.synced.max(vote.synced);
        let reached = [voted.received, voted.appended, voted.synced];
        for (waiting, reached) in sender.waiting.iter_mut().zip(reached) {
            while waiting.front().is_some_and(|(turn, _)| *turn <= reached) {
                let Some((_, slot)) = waiting.pop_front() else {
                    break;
                };
                if let Some(it) = self.partitions.get_mut(slot)
                    && !std::mem::replace(&mut it.lead.is_ready, true)
                {
                    self.work.ready.push(slot);
                }
            }
        }
        Ok(())
    }
}
