//! A partition becomes two: its primary comes to rest, and each half goes on from its log.
//!
//! In:  the catalog's word that a partition is to be split in a view, and later that it was. Out:
//!      [`Request::Split`] once nothing is pending; the halves, with what the whole had.
//!
//! Invariants (PROTOCOL rule 31):
//! - From when the primary says that it is ready nothing is prepared in that view: what was in sync in it holds the
//!   same, to the last op, and all of it has committed.
//! - A half has the history of the whole: its ops and views go on from there, and what a replica may claim to hold
//!   of a half is what it could claim of the whole.
//! - The halves begin in a view of their own, as any view begins: so a vote or a read of the whole never counts for
//!   them.
//!
//! Not here: which record belongs to which half (`brick`), when to split (`metadata`, `control`).

use crate::commit::commit;
use crate::follow::put_cut;
use crate::log::Log;
use crate::partition::Partition;
use crate::{Host, LogMark, Replicator, Request};
use brickyard_types::{PartitionId, TableId, View};

/// A split that a primary was told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parting {
    /// The view that it is bound to.
    pub(crate) view: View,
    /// Names it among the splits of the partition.
    pub(crate) begun_at: u64,
}

impl<P> Replicator<P> {
    /// Whether the partition is to be split: in which view, and which of its splits that is. To be called with each
    /// version of the catalog, after [`Self::adopt`].
    pub fn set_split<H: Host<Payload = P>>(
        &mut self,
        host: &mut H,
        partition: PartitionId,
        split: Option<(View, u64)>,
    ) {
        let Some(slot) = self.partitions.find(partition) else {
            return;
        };
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        let parting = split.map(|(view, begun_at)| Parting { view, begun_at });
        if std::mem::replace(&mut it.place.parting, parting) == parting {
            return;
        }
        it.lead.split_asked = None;
        if parting.is_some() && !self.work.partings.contains(&slot) {
            self.work.partings.push(slot);
        }
        self.tell(host, slot);
        self.ask_splits();
    }

    /// Asks for the splits of partitions in which nothing is pending any more; repeated until the catalog answers.
    pub(crate) fn ask_splits(&mut self) {
        let mut at = 0;
        while let Some(&slot) = self.work.partings.get(at) {
            let (now, repeat) = (self.now, self.config.repeat);
            let it = self.partitions.get_mut(slot);
            let Some((it, parting)) = it.and_then(|it| it.place.parting.map(|of| (it, of))) else {
                self.work.partings.swap_remove(at);
                continue;
            };
            at += 1;
            // Its first record says that all members have begun the view.
            let has_begun = it.log.last.0 == it.place.view && parting.view == it.place.view;
            let is_at_rest = it.leads() && has_begun && it.log.pending.is_empty();
            let is_early = it
                .lead
                .split_asked
                .is_some_and(|asked| now - asked < repeat);
            if is_at_rest && !is_early {
                it.lead.split_asked = Some(now);
                self.requests.push_back(Request::Split {
                    partition: it.id,
                    view: parting.view,
                    begun_at: parting.begun_at,
                    last: it.log.last,
                });
            }
        }
    }

    /// Whether this brick's log has answered for everything of the partition: then it may be taken apart.
    #[must_use]
    pub fn is_written(&self, partition: PartitionId) -> bool {
        let it = self.partitions.by_id(partition);
        it.is_none_or(|it| {
            // What was refused, and is not to be appended again, is over. To wait until something newer is appended could
            // be for ever: the brick may write nothing before this.
            let is_over = it.retrying.is_none() && it.log.mark <= self.own.answered;
            let is_appended = it.log.mark == LogMark::NEVER || it.log.mark <= self.own.appended;
            let is_answered = is_appended || is_over;
            // What was found at the start and has not been written in the partition's name is all that there is of it.
            is_answered && !it.log.owes_restored()
        })
    }

    /// The catalog has `halves` in the place of a partition that was split in `view`. Each gets what the whole had;
    /// what was pending here has committed if this brick's log has begun that view, and counts for nothing if not.
    /// [`Self::adopt`] of the halves follows.
    pub fn split<H: Host<Payload = P>>(
        &mut self,
        host: &mut H,
        table: TableId,
        whole: PartitionId,
        view: View,
        halves: &[PartitionId],
    ) {
        let Some(it) = self
            .partitions
            .find(whole)
            .and_then(|slot| self.partitions.get_mut(slot))
        else {
            return;
        };
        Self::end_at_rest(host, it, view);
        let (stopped, accepted) = (it.place.stopped, it.place.accepted);
        let logs: Vec<Log<P>> = halves.iter().map(|_| it.log.fork()).collect();
        for (half, log) in halves.iter().zip(logs) {
            let slot = self.partitions.find_or_add(*half, table);
            if let Some(half) = self.partitions.get_mut(slot) {
                half.log = log;
                // PROTOCOL rule 11: what was acknowledged binds the halves as well.
                half.place.stopped = half.place.stopped.max(stopped);
                half.place.accepted = half.place.accepted.max(accepted);
            }
        }
        self.forget(host, whole);
    }

    /// The partition has come to rest in `view` and is no more. What is pending has committed if this brick's log has
    /// begun that view, which is returned, and counts for nothing if not.
    pub(crate) fn end_at_rest<H: Host<Payload = P>>(
        host: &mut H,
        it: &mut Partition<P>,
        view: View,
    ) -> bool {
        // A log that has begun the view: what it holds has committed, since at rest all that there was had. That is so
        // also if the brick has restarted since, and its log may be all that is left (PROTOCOL rule 9).
        let has_begun = it.log.last.0 == view;
        let holds_all = has_begun && it.log.partial.is_none() && !it.log.has_refused();
        if holds_all {
            let count = it.log.pending.len();
            commit(host, it, count);
        } else {
            let committed = it.log.committed;
            let mut gone = it.log.cut(committed);
            host.cut(it.id, &mut gone.drain(..).rev());
            // PROTOCOL rule 28: or a restart would take what was pending for a part of what comes after.
            put_cut(host, it, committed);
        }
        holds_all
    }
}
