//! Reads of many keys: scans, a key at random, digests, snapshots.
//!
//! In:  where to begin, and how much to read. Out: records, and where to go on.
//!
//! No call does work in proportion to the table. What each does is in the file of its name.

use crate::digest::{Digest, digest};
use crate::found::Found;
use crate::id::{LocalPartition, ScanPosition};
use crate::scan::{random, scan};
use crate::snapshot::{SnapshotId, Spoilt};
use crate::table::TableData;
use brickyard_types::Op;
use brickyard_types::part::is_part;

impl TableData {
    /// Calls `f` with the key and record of each key of `partition` whose hash is at `from` or
    /// after, in no order within a bucket, until at least `at_least` were visited; returns where to
    /// go on, or `None` at the end. Keys whose time is past are among them.
    ///
    /// - Time: about a cache miss for each record. Visits at most some twenty records more than
    ///   asked.
    pub fn scan(
        &self,
        partition: LocalPartition,
        from: ScanPosition,
        at_least: usize,
        f: impl FnMut(&[u8], Found<'_>),
    ) -> Option<ScanPosition> {
        scan(&self.contents, partition, from, at_least, f)
    }

    /// A key of the table, each about equally likely, chosen by `random`; `None` if there is none.
    #[must_use]
    pub fn random(&self, number: u64) -> Option<(LocalPartition, &[u8], Found<'_>)> {
        random(&self.contents, number)
    }

    /// Digests about `at_most` records of a partition from a position on; returns where to go on, or `None` at its end.
    ///
    /// A record's hash covers its key, the op that wrote it, its expiry, its value's length, and in a table of medium
    /// `ram` the value. In a `disk` table the value is left out: it may be in the log alone, where its own checksums
    /// guard it, and replicas differ in which they keep in memory.
    pub fn digest(
        &self,
        partition: LocalPartition,
        from: ScanPosition,
        at_most: usize,
    ) -> (Digest, Option<ScanPosition>) {
        digest(&self.contents, partition, from, at_most)
    }

    /// Begins a snapshot of all that `partition` has now. `op` is the last one that was applied to it; those
    /// that come must be higher.
    ///
    /// - Memory: at most `bytes_max` bytes for what is written while it is read.
    pub fn begin_snapshot(
        &mut self,
        partition: LocalPartition,
        op: Op,
        bytes_max: usize,
    ) -> SnapshotId {
        self.snapshots.begin(partition, op, bytes_max)
    }

    /// Reads on: calls `f` with about `at_least` keys and their records; returns whether there is more.
    ///
    /// # Errors
    /// Why there is nothing more. What was read before is no snapshot then.
    pub fn read_snapshot(
        &mut self,
        id: SnapshotId,
        at_least: usize,
        mut f: impl FnMut(&[u8], Found<'_>),
    ) -> Result<bool, Spoilt> {
        let snapshot = self.snapshots.get(id)?;
        let Some((partition, from)) = snapshot.next() else {
            return Ok(false);
        };
        let next = scan(&self.contents, partition, from, at_least, |key, found| {
            let hash = || self.contents.records().hash_of(key);
            if !is_part(key) && snapshot.has(hash, key, found.op) {
                f(key, found);
            }
        });
        snapshot.go_on(next, f);
        Ok(next.is_some())
    }

    /// A part of a key's value as it was, for a key that was read.
    ///
    /// # Errors
    /// As [`Self::read_snapshot`].
    pub fn snapshot_part(
        &mut self,
        id: SnapshotId,
        name: &[u8],
    ) -> Result<Option<Found<'_>>, Spoilt> {
        assert!(is_part(name), "only parts are asked for by name");
        let hash = self.hash(name);
        let snapshot = self.snapshots.get(id)?;
        if let Some(found) = snapshot.part(name) {
            return Ok(Some(found));
        }
        let found = self.contents.find(snapshot.partition(), hash, name);
        let found = found.and_then(|it| self.contents.found(&it));
        Ok(found.filter(|it| snapshot.covers(it.op)))
    }

    /// Ends a snapshot, read to its end or not.
    pub fn end_snapshot(&mut self, id: SnapshotId) {
        self.snapshots.end(id);
    }
}
