//! The request windows of all partitions: what one may remember depends on how much all do.
//!
//! In:  requests that were executed; ops that were cut; partitions that leave, are split or merged. Out: windows, and how many
//!      ids there are in all of them.
//!
//! Invariant: the count is the sum of the windows of all partitions that are here.

use super::{Partition, Tables};
use brickyard_types::record::{Header, Record, RequestId};
use brickyard_types::{Op, PartitionId, UnixMillis};

impl Tables {
    /// Takes note of the request that a record of a partition answers.
    pub(crate) fn note_record(&mut self, record: &Record<'_>, now: UnixMillis) {
        if let Some(id) = record.header.request {
            self.note_request(&record.header, id, record.outcome, now);
        }
    }

    /// A request was executed by the op of a record. rule `requests are executed once`: what was asked of a partition
    /// that was split was asked of all its parts.
    pub(crate) fn note_request(
        &mut self,
        header: &Header,
        id: RequestId,
        outcome: Option<&[u8]>,
        now: UnixMillis,
    ) {
        let mut known = self.requests_known;
        self.for_children(header.partition, |held| {
            held.note_request(&mut known, now, (id, header.op), outcome);
        });
        self.requests_known = known;
    }

    /// A request was executed on the partition at a leaf.
    pub(crate) fn note_request_at(
        &mut self,
        (table, leaf): (usize, usize),
        request: (RequestId, Op),
        outcome: Option<&[u8]>,
        now: UnixMillis,
    ) {
        let state = self.slots.get_mut(table).and_then(Option::as_mut);
        if let Some(held) = state.and_then(|it| it.partitions.get_mut(leaf)?.as_mut()) {
            held.note_request(&mut self.requests_known, now, request, outcome);
        }
    }

    /// Ops of a partition from this one on are gone, and with them their ids.
    pub(crate) fn cut(&mut self, partition: PartitionId, from: Op) {
        assert!(from > Op(0), "ops are numbered from 1");
        let mut known = self.requests_known;
        if let Some(held) = self.partition_mut(partition) {
            held.op = held.op.min(Op(from.0 - 1));
            held.cut_requests(&mut known, from);
        }
        self.requests_known = known;
    }

    /// The content of a partition, which was taken out of its place, is gone.
    pub(crate) fn drop_requests(&mut self, held: &mut Partition) {
        held.drop_requests(&mut self.requests_known);
        assert!(held.requests.is_none(), "{} has a window", held.id);
    }

    /// Windows with so many ids are gone, and others with so many have come.
    pub(crate) fn recount_requests(&mut self, gone: usize, come: usize) {
        assert!(
            gone <= self.requests_known,
            "{gone} of {} ids go",
            self.requests_known
        );
        self.requests_known = self.requests_known - gone + come;
    }

    /// Forgets what nobody can ask for any more.
    pub(crate) fn expire_requests(&mut self, now: UnixMillis) {
        let states = self.slots.iter_mut().flatten();
        for held in states.flat_map(|it| it.partitions.iter_mut().flatten()) {
            held.expire_requests(&mut self.requests_known, now);
        }
    }

    /// Whatever is known of a partition's content counts for nothing.
    pub(crate) fn drop_contents(&mut self, partition: PartitionId) {
        let Some((table, leaf)) = self.place_of(partition) else {
            return;
        };
        let state = self.slots.get_mut(table).and_then(Option::as_mut);
        let Some(state) = state else {
            return;
        };
        if let Some(Some(held)) = state.partitions.get_mut(leaf) {
            state.table.drop_partition(held.local);
            held.local = state.table.add_partition();
            held.drop_requests(&mut self.requests_known);
            self.note_removed();
        }
    }
}
