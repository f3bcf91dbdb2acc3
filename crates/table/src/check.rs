//! Checks that a whole table hangs together; for tests.

use crate::apply::log_len;
use crate::arena::{CHUNK_BYTES, RecordRef, Walk};
use crate::hash::KeyHash;
use crate::record::{self, Occupant, State};
use crate::table::{LocalPartition, TableData};
use std::collections::{BTreeMap, BTreeSet};

impl TableData {
    /// Panics unless every invariant that ties the parts together holds.
    pub(crate) fn check(&self) {
        let in_arena = self.check_arena();
        self.arena.check_holes();
        let mut referred = BTreeSet::new();
        let mut live = BTreeMap::new();
        let (mut keys, mut tombstones, mut expiring, mut expires_at_sum) = (0, 0, 0, 0_u128);
        for (number, share) in self.partitions.iter().enumerate() {
            let mut counts = (0, 0, 0, 0_u128);
            let mut bytes_total = 0;
            share.index.check(&self.pool, |reference, prefix, depth| {
                assert!(
                    referred.insert(reference),
                    "two references to {reference:?}"
                );
                let bytes = self.arena.at(reference);
                let header = record::header(bytes);
                let hash = self.hash(self.layout.key(header, bytes));
                assert_eq!(
                    hash.prefix(depth),
                    prefix,
                    "a reference in another hash's bucket"
                );
                assert_eq!(usize::from(header.partition()), number);
                assert!(header.op() <= share.op_max && header.op() > share.cleared);
                match header.state() {
                    State::Tombstone => counts.1 += 1,
                    State::Hot | State::Cold => counts.0 += 1,
                }
                if header.has_expiry() {
                    counts.2 += 1;
                    counts.3 += u128::from(record::expiry(bytes).at().0);
                    self.check_timer(LocalPartition(number as u32), hash, reference);
                }
                bytes_total += log_len(header) as u64;
                *live.entry(self.segments.id(header.segment())).or_insert(0) +=
                    log_len(header) as u64;
                hash.tag()
            });
            let own = (
                share.keys,
                share.tombstones,
                share.expiring,
                share.expires_at_sum,
            );
            assert_eq!(own, counts, "counts of partition {number}");
            assert_eq!(share.bytes, bytes_total, "bytes of partition {number}");
            keys += counts.0 as usize;
            tombstones += counts.1 as usize;
            expiring += counts.2 as usize;
            expires_at_sum += counts.3;
        }
        let sums = (
            self.sums.keys,
            self.sums.tombstones,
            self.sums.expiring,
            self.sums.expires_at_sum,
        );
        assert_eq!(sums, (keys, tombstones, expiring, expires_at_sum));
        assert!(referred.is_subset(&in_arena), "a reference to no record");
        if self.removed_indexes.is_empty() {
            assert_eq!(
                referred.len(),
                in_arena.len(),
                "a record that nothing refers to"
            );
            assert_eq!(self.segments().collect::<BTreeMap<_, _>>(), live);
        }
    }

    /// The time in milliseconds by which a record with an expiry has an entry that comes out.
    fn check_timer(&self, partition: LocalPartition, hash: KeyHash, reference: RecordRef) {
        let expiry = record::expiry(self.arena.at(reference));
        if expiry.has_timer() {
            let latest = self.timers.latest_for(expiry.at());
            assert!(
                self.timers.contains(partition.0, hash, latest),
                "a key with expiry {} has no timer",
                expiry.at().0
            );
        }
    }

    fn check_arena(&self) -> BTreeSet<RecordRef> {
        let mut records = BTreeSet::new();
        let (mut used, mut live) = (0, 0);
        let mut next = self.arena.chunk_from(0);
        while let Some(chunk) = next {
            let mut walk = Walk { chunk, offset: 0 };
            let mut chunk_live = 0;
            while let Some((reference, occupant)) = self.arena.occupant(walk) {
                walk.offset += match occupant {
                    Occupant::Dead(bytes) => bytes,
                    Occupant::Record(header) => {
                        records.insert(reference);
                        chunk_live += self.layout.size(header);
                        self.layout.size(header)
                    }
                };
            }
            self.arena.check_chunk(walk, chunk_live);
            used += walk.offset;
            live += chunk_live;
            next = self.arena.chunk_from(chunk + 1);
        }
        assert_eq!((self.arena.used(), self.arena.live()), (used, live));
        assert_eq!(self.arena.dead(), used - live);
        if self.removed_indexes.is_empty() {
            let bound = live + live / 4 + 4 * CHUNK_BYTES;
            assert!(
                self.arena.memory() <= bound,
                "{} > {bound}",
                self.arena.memory()
            );
        }
        records
    }
}
