//! Checks that a whole table hangs together; for tests.

use super::Contents;
use crate::arena::{CHUNK_BYTES, RecordRef, Walk};
use crate::expiry::Timers;
use crate::partition::{Counts, log_len};
use crate::table::TableData;
use std::collections::{BTreeMap, BTreeSet};

impl TableData {
    /// Panics unless every invariant that ties the parts together holds.
    pub(crate) fn check(&self) {
        self.contents.check(&self.timers);
    }
}

impl Contents {
    fn check(&self, timers: &Timers) {
        let in_arena = self.check_arena();
        self.records.arena().check_holes();
        let mut referred = BTreeSet::new();
        let mut live = BTreeMap::new();
        let mut sums = Counts::NONE;
        for (number, share) in self.partitions.iter().enumerate() {
            let (mut counts, mut bytes) = (Counts::NONE, 0);
            share.index.check(&self.pool, |reference, prefix, depth| {
                assert!(
                    referred.insert(reference),
                    "two references to {reference:?}"
                );
                let header = self.records.header(reference);
                let hash = self.records.hash_of(self.records.key(reference, header));
                assert_eq!(
                    hash.prefix(depth),
                    prefix,
                    "a reference in another hash's bucket"
                );
                assert_eq!(header.partition().index(), number);
                assert!(header.op() <= share.op_max && header.op() > share.cleared);
                let own = self.records.counts(reference, header);
                let expiry = self.records.expiry(reference, header);
                if let Some(expiry) = expiry.filter(|it| it.has_timer()) {
                    let latest = timers.latest_for(expiry.at());
                    assert!(
                        timers.contains(number as u32, hash, latest),
                        "a key with expiry {} has no timer",
                        expiry.at().0
                    );
                }
                counts += own;
                *live.entry(self.records.segment(header)).or_insert(0) += log_len(header) as u64;
                bytes += log_len(header) as u64;
                hash.tag()
            });
            assert_eq!(share.counts, counts, "counts of partition {number}");
            assert_eq!(share.bytes, bytes, "bytes of partition {number}");
            sums += counts;
        }
        assert_eq!(self.counts, sums);
        assert!(referred.is_subset(&in_arena), "a reference to no record");
        if self.removed.is_empty() {
            assert_eq!(
                referred.len(),
                in_arena.len(),
                "a record that nothing refers to"
            );
            assert_eq!(self.records.segments().collect::<BTreeMap<_, _>>(), live);
        }
    }

    fn check_arena(&self) -> BTreeSet<RecordRef> {
        let mut records = BTreeSet::new();
        let (mut used, mut live) = (0, 0);
        let arena = self.records.arena();
        let mut next = arena.chunk_from(0);
        while let Some(chunk) = next {
            let mut walk = Walk { chunk, offset: 0 };
            let mut chunk_live = 0;
            while let Some((reference, header)) = self.records.next(&mut walk) {
                records.insert(reference);
                chunk_live += self.records.size(header);
            }
            arena.check_chunk(walk, chunk_live);
            used += walk.offset;
            live += chunk_live;
            next = arena.chunk_from(chunk + 1);
        }
        assert_eq!((arena.used(), arena.live()), (used, live));
        assert_eq!(arena.dead(), used - live);
        if self.removed.is_empty() {
            let bound = live + live / 4 + 4 * CHUNK_BYTES;
            assert!(arena.memory() <= bound, "{} > {bound}", arena.memory());
        }
        records
    }
}
