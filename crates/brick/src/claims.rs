//! What the log claims of partitions, and where claims and catalog meet.
//!
//! In:  what the replicator holds; what recovery has found. Out: base records, by which a restart knows what has committed;
//!      the replicator told what the log says.
//!
//! Invariant (PROTOCOL rule 15): a base record is written only of what claims something, and says no more than that.

use crate::core::Core;
use crate::retained::Mark;
use brickyard_replication::{Base, LogMark, Restored};
use brickyard_types::record::{Header, Kind};
use brickyard_types::{Incarnation, PartitionId, TableId};

impl Core {
    /// Gives the replicator what the log says of a partition.
    pub(crate) fn restore(&mut self, partition: PartitionId, restored: &Restored) {
        let held = self.tables.partition(partition);
        let table = held.map_or(TableId(0), |(state, _)| state.id);
        self.replicate(|replicator| replicator.restore(table, partition, restored));
    }

    /// Appends that the replica holds all that has committed in a partition (PROTOCOL rule 15). False: it claims nothing
    /// yet, since a copy is under way.
    pub(crate) fn append_own_base(&mut self, partition: PartitionId) -> bool {
        let Some((header, value)) = self.replicas.replicator().base(partition) else {
            return false;
        };
        self.append_base_record(&header, &value);
        true
    }

    /// Appends that the replica holds all up to a base. False: the partition is not here.
    pub(crate) fn append_base(&mut self, partition: PartitionId, base: &Base) -> bool {
        assert!(!base.runs.is_empty(), "{partition} is claimed in no view");
        let Some((state, _)) = self.tables.partition(partition) else {
            return false;
        };
        let header = Header {
            kind: Kind::Base,
            flags: 0,
            table: state.id,
            partition,
            view: base.view,
            op: base.op,
            expires_at: None,
            request: None,
            origin: None,
            committed: Some(base.op),
        };
        let mut value = Vec::new();
        base.encode(&mut value);
        self.append_base_record(&header, &value);
        true
    }

    fn append_base_record(&mut self, header: &Header, value: &[u8]) {
        assert_eq!(header.kind, Kind::Base, "the record of a claim");
        let before = self.log.building_len();
        self.log.append_bare(header, b"", &[value]);
        let bytes = self.log.building_len() - before;
        let level = (u64::from(header.view.0), header.op.0);
        let batch = self.log.building_id();
        let key = (header.partition, Mark::Base);
        self.segments.retained.append(batch, key, level, bytes);
    }

    /// Claims a partition of which the log has nothing of its own: what others had went to it. Until that is in the log
    /// nothing else of it is.
    pub(crate) fn claim_first(&mut self, partition: PartitionId) {
        let mark = LogMark(self.log.building_id().0);
        if self.append_own_base(partition) {
            self.replicas.based_in(partition, mark);
        }
    }

    /// A segment is full: what it has is claimed in the next one, so that a restart knows it to be committed.
    pub(crate) fn claim_all(&mut self) {
        let logged = self.tables.iter_mut().filter(|state| state.is_logged());
        let held = logged.flat_map(|state| state.partitions.iter_mut().flatten());
        let mut changed: Vec<PartitionId> = held
            .filter(|it| it.is_replicated && it.claimed < it.committed)
            .map(|it| {
                it.claimed = it.committed;
                it.id
            })
            .collect();
        changed.sort_unstable();
        for partition in changed {
            // One that is catching up has no claim yet.
            self.append_own_base(partition);
        }
    }

    /// Tombstones up to the partition's horizon may be gone from the log.
    pub(crate) fn tell_horizon(&mut self, partition: PartitionId) {
        let held = self.tables.partition(partition);
        if let Some((_, held)) = held.filter(|(_, it)| it.is_replicated) {
            let horizon = held.gaps.horizon();
            self.raise_horizon(partition, horizon);
        }
    }

    /// From now on this brick acts as its node's present life: what the catalog says of it counts.
    pub(crate) fn take_seat(&mut self, incarnation: Incarnation) {
        self.on_registered(incarnation);
        for table in 0..self.tables.len() {
            self.adopt_groups(table);
        }
        self.end_adoption(self.tables.catalog().version().0);
    }
}
