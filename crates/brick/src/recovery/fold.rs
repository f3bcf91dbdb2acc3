//! One fold from records to partitions.
//!
//! In:  the records of the log, or those of one table, in log order; what of it is unreadable. Out: what is known to be
//!      committed, in the tables; at the end, for each partition, what is to be built of it ([`Rebuilt`]).
//!
//! Invariants:
//! - A restart cuts nothing (rule `a restart cuts nothing`): what is not known to be committed is the suffix, about
//!   which only the primary of a newer view can tell.
//! - What a `Drop` record ends is not put back, wherever it stood before (rule
//!   `forced recovery begins a generation`).
//! - A partition of which something is unreadable claims nothing (rule `log summaries begin at a baseline`), whatever
//!   stands behind, if others have what is missing. If nobody has, it claims what is left, and says of each key
//!   whether its record can be missing (`tables/gaps`).
//!
//! Not here: partitions that were split or merged, and of which the log has the predecessors alone (`parents`).

use super::contents::Ground;
use super::kept::Kept;
use super::parents::end_at;
use crate::groups::has_other_replicas;
use crate::log_record::LogRecord;
use crate::tables::{Partition, Suspicion, TableState, Tables};
use brickyard_replication::{Baseline, LogMark, Rebuild, Restored, SuffixEntry};
use brickyard_routing::Prefix;
use brickyard_types::record::{Header, Kind, Record};
use brickyard_types::{Op, PartitionId, Position, TableId, View};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Where the records of a partition come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// They are its own: they stay where they stand in the log.
    Own,
    /// They are those of the partition that it was split from: the log must say of it what it said of that one.
    Split,
    /// They are those of the two that were merged into it: the log must claim it before anything else of it.
    Merged,
    /// Not all of them could be read, and there is no other replica: what is there is all that there is, and the log must
    /// claim it anew.
    Damaged,
}

/// What the fold yields.
#[derive(Debug)]
pub(crate) enum Rebuilt {
    /// A partition of this brick, for the replicator.
    Replica {
        id: PartitionId,
        restored: Restored<Kept>,
        source: Source,
    },
    /// A partition that is not this brick's any more: the log must say so, or its records of now would be a beginning
    /// for it, should it come here again (rule `forced recovery begins a generation`).
    Gone {
        table: TableId,
        id: PartitionId,
        last: (View, Op),
    },
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Fold {
    /// The table that is read; `None`: all of them, at a start.
    pub(super) table: Option<TableId>,
    /// Partitions, of whose records not all need be committed.
    pub(super) rebuilds: BTreeMap<PartitionId, Rebuild<Kept>>,
    /// Those of them that were split or merged, and of whose children no record was read yet; with the hashes of children that
    /// were dropped.
    pub(super) open_parents: BTreeMap<PartitionId, Vec<Prefix>>,
    /// Partitions of which something is unreadable that other replicas have.
    pub(super) torn: BTreeSet<PartitionId>,
    /// The same of partitions that have no other replica.
    damaged: BTreeSet<PartitionId>,
    /// Partitions that are not this brick's any more: the last record of each.
    passed_over: BTreeMap<PartitionId, Header>,
}

impl Fold {
    /// Nothing is read yet; `table`: nothing else will be.
    pub(crate) fn new(table: Option<TableId>) -> Self {
        Self {
            table,
            rebuilds: BTreeMap::new(),
            open_parents: BTreeMap::new(),
            torn: BTreeSet::new(),
            damaged: BTreeSet::new(),
            passed_over: BTreeMap::new(),
        }
    }

    /// The next record.
    pub(crate) fn on_record(&mut self, ground: &mut Ground<'_>, found: &LogRecord<'_>) {
        let header = *found.header();
        assert!(
            self.table.is_none_or(|table| table == header.table),
            "a record of table {} while {:?} is read",
            header.table,
            self.table
        );
        self.end_parents(ground, &header);
        let has_children = || {
            let is_parent = ground.tables.is_parent(header.partition);
            is_parent && !ground.tables.children(header.partition).is_empty()
        };
        if ground.tables.is_here(header.partition) || has_children() {
            self.rebuild(ground, found);
        } else {
            self.pass_over(&header);
        }
    }

    /// Takes the next record of a partition of which not all need be committed.
    fn rebuild(&mut self, ground: &mut Ground<'_>, found: &LogRecord<'_>) {
        let header = found.header();
        let partition = header.partition;
        if !self.rebuilds.contains_key(&partition) && ground.tables.is_parent(partition) {
            self.open_parents.insert(partition, Vec::new());
        }
        let mut committed = Vec::new();
        let mut apply = |entry: SuffixEntry<Kept>| committed.push(entry.payload);
        self.rebuilds.entry(partition).or_default().on_record(
            header,
            found.value(),
            LogMark::NONE,
            Kept::new(found),
            &mut apply,
        );
        if header.kind == Kind::Drop {
            for child in ground.tables.children(partition) {
                if ground.tables.is_wider(child, partition) {
                    ground.tables.sweep_parent(child, partition);
                } else {
                    ground.tables.drop_contents(child);
                    if let Some(rebuild) = self.rebuilds.get_mut(&child) {
                        rebuild.disinherit();
                    }
                    self.torn.remove(&child);
                    self.damaged.remove(&child);
                }
            }
        }
        if header.kind == Kind::Cut && header.op == Op(0) {
            self.mend(ground.tables, partition);
        }
        for kept in &committed {
            put_back(ground, kept);
        }
    }

    /// The log begins anew with the partition's first op, as when a replica that claimed nothing caught up by difference:
    /// what was unreadable before has been replaced.
    fn mend(&mut self, tables: &mut Tables, partition: PartitionId) {
        for child in tables.children(partition) {
            if tables.is_wider(child, partition) {
                continue;
            }
            self.torn.remove(&child);
            if self.damaged.remove(&child)
                && let Some(it) = tables.partition_mut(child)
            {
                it.gaps.mend();
            }
        }
    }

    /// A record of a partition that is not this brick's any more, or of a table that was dropped.
    fn pass_over(&mut self, header: &Header) {
        if header.kind == Kind::Drop {
            self.passed_over.remove(&header.partition);
        } else {
            self.passed_over.insert(header.partition, *header);
        }
    }

    /// Something is unreadable: where, how many records it can have held at most, and of which partitions. With an op where
    /// that is known.
    pub(crate) fn on_damage(
        &mut self,
        ground: &mut Ground<'_>,
        (position, records_max): (Position, u64),
        suspicion: Suspicion,
        partitions: &[(PartitionId, Option<Op>)],
    ) {
        for (partition, op) in partitions {
            // What a partition had that was split or merged is missing in its children.
            for child in ground.tables.children(*partition) {
                if has_other_replicas(ground.tables, child) {
                    self.torn.insert(child);
                    continue;
                }
                let Some(held) = ground.tables.partition_mut(child) else {
                    continue;
                };
                self.damaged.insert(child);
                held.doubt_requests(ground.now);
                match op {
                    Some(op) => {
                        held.gaps.lose_op(*op);
                        held.op = held.op.max(*op);
                    }
                    None => held.gaps.lose_records(position, records_max, suspicion),
                }
            }
        }
    }

    /// Where the records are that may have to be sent to others, and of which only a hint is known.
    pub(crate) fn suffixes_wanted(&mut self) -> Vec<Position> {
        let suffixes = self.rebuilds.values_mut().flat_map(Rebuild::suffix_mut);
        let hints = suffixes.filter(|entry| entry.payload.raw().is_none());
        hints.map(|entry| entry.payload.position()).collect()
    }

    /// One of those was read.
    pub(crate) fn on_suffix(&mut self, position: Position, record: &Record<'_>) {
        let rebuild = self.rebuilds.get_mut(&record.header.partition);
        let mut suffix = rebuild.into_iter().flat_map(Rebuild::suffix_mut);
        if let Some(entry) = suffix.find(|entry| entry.payload.position() == position) {
            entry.payload.complete(record);
        }
    }

    /// All is read.
    pub(crate) fn end(mut self, ground: &mut Ground<'_>) -> Vec<Rebuilt> {
        self.end_doubts(ground);
        self.end_damaged(ground);
        let held = self.take_halves(ground);
        let wholes = self.take_wholes(ground.tables);
        let mut taken: BTreeSet<PartitionId> =
            wholes.iter().flat_map(|it| it.children.clone()).collect();
        let joined = self.joined(ground.tables, &held, &taken);
        taken.extend(joined.iter().map(|it| it.0));
        self.raise_merged_horizons(ground.tables);
        self.expect_nothing(ground.tables);
        // The log's own come first: what stands in it already is put back before anything is appended.
        let mut all = Vec::new();
        for (id, rebuild) in std::mem::take(&mut self.rebuilds) {
            if taken.contains(&id) {
                continue;
            }
            let mut restored = rebuild.finish();
            // What others were merged into begins with a baseline record.
            let merged_upto = ground.tables.merged_upto(id);
            if let Some(upto) = merged_upto.filter(|_| restored.baseline == Baseline::default()) {
                restored = nothing(restored.committed.max(upto));
            }
            all.push(self.rebuilt(id, restored, Source::Own));
        }
        for whole in wholes {
            for child in whole.children {
                let mut restored = whole.restored.clone();
                for entry in &mut restored.suffix {
                    entry.payload = entry.payload.part(child, ground.tables);
                }
                all.push(self.rebuilt(child, restored, Source::Split));
            }
            if whole.is_open {
                let others = ground.tables.other_parts(whole.id);
                let gone = others.into_iter();
                all.extend(gone.map(|(table, id, last)| Rebuilt::Gone { table, id, last }));
            }
        }
        for (id, baseline) in joined {
            let restored = self.of_baseline(ground.tables, id, baseline);
            all.push(self.rebuilt(id, restored, Source::Merged));
        }
        // Of a table that was dropped nothing comes back.
        for (id, last) in std::mem::take(&mut self.passed_over) {
            let table = last.table;
            if ground.tables.of(table).is_some_and(TableState::is_logged) {
                let last = (last.view, last.op);
                all.push(Rebuilt::Gone { table, id, last });
            }
        }
        all
    }

    /// No baseline comes any more.
    fn end_doubts(&mut self, ground: &mut Ground<'_>) {
        let mut committed = Vec::new();
        for rebuild in self.rebuilds.values_mut() {
            rebuild.end_doubts(&mut |entry| committed.push(entry.payload));
        }
        for kept in &committed {
            put_back(ground, kept);
        }
    }

    /// Of a partition that has no other replica, whatever was read counts, behind what is unreadable too: nobody else can
    /// say what became of it.
    fn end_damaged(&mut self, ground: &mut Ground<'_>) {
        for (id, rebuild) in &mut self.rebuilds {
            let mut children = ground.tables.children(*id).into_iter();
            if children.any(|child| self.damaged.contains(&child)) {
                let (_, last) = rebuild.last();
                for kept in end_at(rebuild, last) {
                    put_back(ground, &kept);
                }
            }
        }
    }

    fn rebuilt(&self, id: PartitionId, restored: Restored<Kept>, source: Source) -> Rebuilt {
        let source = match self.damaged.contains(&id) {
            true => Source::Damaged,
            false => source,
        };
        let restored = match self.torn.contains(&id) {
            false => restored,
            true => Restored {
                baseline: Baseline::default(),
                last: Default::default(),
                suffix: VecDeque::new(),
                is_complete: false,
                ..restored
            },
        };
        Rebuilt::Replica {
            id,
            restored,
            source,
        }
    }

    /// A partition of which the log has no record holds all that there was before the first one. That is said of
    /// those that the catalog knew when the log was read, and of no others: records of a partition that it did not
    /// know were passed over.
    fn expect_nothing(&mut self, tables: &Tables) {
        for partition in read(tables, self.table) {
            self.rebuilds.entry(partition.id).or_default();
        }
    }
}

/// The partitions that the log can have something of, while it is read for one table or for all.
pub(super) fn read(
    tables: &Tables,
    table: Option<TableId>,
) -> impl Iterator<Item = &Partition> + Clone {
    let states = tables.iter();
    let states = states.filter(move |state| table.is_none_or(|table| state.id == table));
    let logged = states.filter(|state| state.is_logged());
    logged.flat_map(|state| state.partitions.iter().flatten())
}

/// Puts back what has turned out to be committed.
pub(super) fn put_back(ground: &mut Ground<'_>, kept: &Kept) {
    if let Some(found) = kept.recovered() {
        ground.put_back(&found);
    }
}

/// Nothing is claimed, and what is written from here on is above what is there.
pub(super) fn nothing(op: Op) -> Restored<Kept> {
    Restored {
        committed: op,
        is_complete: false,
        watermark: op,
        ..Restored::default()
    }
}
