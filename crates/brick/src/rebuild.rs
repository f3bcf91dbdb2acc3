//! Replicated partitions out of the log, at start.
//!
//! In:  their records, in log order. Out: what is known to be committed, in the tables; the tail, about which
//!      only the primary of a newer view can tell, given to the replicator.
//!
//! Invariants:
//! - A restart cuts nothing (PROTOCOL rule 9).
//! - What a `Drop` record ends is not put back, wherever it stood before (rule 21).

mod divide;
mod join;

use crate::core::Core;
use crate::effect::{HintItem, Recovered};
use crate::heirs::is_split_from;
use crate::retained::Mark;
use brickyard_replication::{Base, LogMark, Rebuild, Restored, TailEntry};
use brickyard_routing::Prefix;
use brickyard_types::record::{self, Header, Kind, Record, flag};
use brickyard_types::{Durability, Incarnation, Op, PartitionId, Position, TableId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A record that may be part of a tail.
#[derive(Debug)]
pub(crate) struct Kept {
    body: Body,
    position: Position,
}

#[derive(Debug)]
enum Body {
    Record(Vec<u8>),
    /// Known from a hint file alone.
    Hint {
        header: Header,
        outcome: Option<Vec<u8>>,
        items: Vec<(HintItem<'static>, Vec<u8>)>,
    },
}

/// Partitions while the log is read.
pub(crate) type Rebuilds = BTreeMap<PartitionId, Rebuild<Kept>>;

impl Core {
    /// Takes what belongs to a replicated partition; gives back the rest.
    pub(crate) fn recover_replica<'a>(
        &mut self,
        recovered: Recovered<'a>,
    ) -> Option<Recovered<'a>> {
        let header = match &recovered {
            Recovered::Record { record, .. } => record.header,
            Recovered::Hint { header, .. } => *header,
        };
        self.end_formers(&header);
        let Ok((table, leaf)) = self.place_of(header.partition) else {
            if self.is_former(header.partition) && !self.heirs(header.partition).is_empty() {
                self.rebuild(recovered);
            } else {
                self.pass_over(header);
            }
            return None;
        };
        let partition = self
            .table_mut(table)
            .and_then(|it| it.partitions.get_mut(leaf)?.as_mut());
        let is_replicated = partition.is_some_and(|partition| {
            // It had other replicas once: not all of its records need be committed.
            partition.is_replicated |= header.committed.is_some()
                || matches!(header.kind, Kind::Cut | Kind::Base | Kind::ViewStart);
            partition.is_replicated
        });
        if !is_replicated {
            if header.kind == Kind::Drop {
                self.drop_contents(table, leaf);
                return None;
            }
            return Some(recovered);
        }
        self.rebuild(recovered);
        None
    }

    /// Takes the next record of a partition of which not all need be committed.
    fn rebuild(&mut self, recovered: Recovered<'_>) {
        let header = match &recovered {
            Recovered::Record { record, .. } => record.header,
            Recovered::Hint { header, .. } => *header,
        };
        let (value, kept): (&[u8], Kept) = match recovered {
            Recovered::Record { record, position } => {
                let body = Body::Record(whole(&record));
                (record.value, Kept { body, position })
            }
            Recovered::Hint {
                header,
                outcome,
                items,
                position,
            } => {
                let named = |item: &HintItem<'_>| {
                    let nameless = HintItem {
                        kind: item.kind,
                        flags: item.flags,
                        key: b"",
                        value_len: item.value_len,
                        expires_at: item.expires_at,
                    };
                    (nameless, item.key.to_vec())
                };
                let body = Body::Hint {
                    header,
                    outcome: outcome.map(<[u8]>::to_vec),
                    items: items.iter().map(named).collect(),
                };
                (&[], Kept { body, position })
            }
        };
        if !self.rebuilds.contains_key(&header.partition) && self.is_former(header.partition) {
            self.open_formers.insert(header.partition, Vec::new());
        }
        let mut committed = Vec::new();
        let mut apply = |entry: TailEntry<Kept>| committed.push(entry.payload);
        self.rebuilds
            .entry(header.partition)
            .or_default()
            .on_record(&header, value, LogMark::NONE, kept, &mut apply);
        if header.kind == Kind::Drop {
            for heir in self.heirs(header.partition) {
                if self.is_wider(heir, header.partition) {
                    self.sweep_former(heir, header.partition);
                    continue;
                }
                if let Ok((table, leaf)) = self.place_of(heir) {
                    self.drop_contents(table, leaf);
                }
                self.torn.remove(&heir);
            }
        }
        if header.kind == Kind::Cut && header.op == Op(0) {
            self.mend_torn(header.partition);
        }
        for kept in committed {
            self.put_back_kept(&kept);
        }
    }

    /// The log begins anew with the partition's first op, as when a replica that claimed nothing caught up by difference:
    /// what was unreadable before has been replaced.
    fn mend_torn(&mut self, partition: PartitionId) {
        for heir in self.heirs(partition) {
            if !self.is_wider(heir, partition) {
                self.torn.remove(&heir);
            }
        }
    }

    /// A record of a part says that its whole was taken apart before it: what the part's base claims has committed,
    /// and what else the whole had prepared counts for nothing. So does a record of a whole of its halves.
    ///
    /// Not so a record behind a `Drop` of the part: from there on it has what others had, which says nothing of this log's
    /// whole. Nor has it anything of that whole any more (PROTOCOL rule 14).
    fn end_formers(&mut self, header: &Header) {
        // The cleaner writes claims behind what it moves, so what was moved says nothing of when.
        let is_moved = header.flags & flag::MOVED != 0;
        if is_moved || self.open_formers.is_empty() {
            return;
        }
        let upto = match header.kind {
            Kind::Base => Some(header.op),
            _ => header.committed,
        };
        let Some(prefix) = self.prefix_of(header.partition) else {
            return;
        };
        let catalog = &self.catalog;
        // Numbers of partitions rise from one to those that take its place.
        let is_around = |former: PartitionId| {
            let whole = catalog.former(former);
            former < header.partition
                && whole.is_some_and(|it| it.table == header.table && it.prefix().overlaps(prefix))
        };
        let is_over = |former: &PartitionId, dropped: &mut Vec<Prefix>| {
            let is_told = upto.is_some() && !dropped.iter().any(|it| it.covers(prefix));
            is_around(*former) && (is_told || catalog.merged(*former).is_some())
        };
        let over: Vec<_> = self.open_formers.extract_if(.., is_over).collect();
        if header.kind == Kind::Drop {
            for (former, dropped) in &mut self.open_formers {
                if is_around(*former) {
                    dropped.push(prefix);
                }
            }
        }
        for (former, dropped) in over {
            self.end_former(former, header, (prefix, upto), &dropped);
        }
    }

    fn end_former(
        &mut self,
        former: PartitionId,
        header: &Header,
        (prefix, upto): (Prefix, Option<Op>),
        dropped: &[Prefix],
    ) {
        let Some(mut rebuild) = self.rebuilds.remove(&former) else {
            return;
        };
        if self.catalog.merged(former).is_some() {
            self.end_half(former, &mut rebuild);
        } else {
            let part = (header.partition, prefix);
            let is_part = is_split_from(&self.catalog, header.table, former, part);
            let known = rebuild.committed();
            let upto = upto.filter(|_| is_part).unwrap_or(known);
            let mut committed = Vec::new();
            rebuild.end_at(upto, &mut |entry| committed.push(entry.payload));
            for kept in committed {
                self.put_back_left(former, &kept, dropped);
            }
        }
        self.rebuilds.insert(former, rebuild);
    }

    /// A record of a partition that is not this brick's any more, or of a table that was dropped.
    fn pass_over(&mut self, header: Header) {
        if header.kind == Kind::Drop {
            self.passed_over.remove(&header.partition);
        } else {
            self.passed_over.insert(header.partition, header);
        }
    }

    /// What was passed over is ended in the log: should the partition come here again, its records of now are no
    /// beginning for it, nor part of what it has then (PROTOCOL rule 21). Of a table that was dropped nothing
    /// comes back.
    fn end_passed_over(&mut self) {
        for (partition, last) in std::mem::take(&mut self.passed_over) {
            let table = self.table_by_id.get(&last.table);
            let is_logged = table.and_then(|table| Some(self.table(*table)?.is_logged()));
            if is_logged == Some(true) {
                self.append_drop_of(last.table, partition, (last.view, last.op));
            }
        }
    }

    fn put_back_kept(&mut self, kept: &Kept) {
        match &kept.body {
            Body::Record(raw) => {
                if let Ok(record) = record::decode(raw) {
                    self.recover_record(&record, kept.position);
                }
            }
            Body::Hint {
                header,
                outcome,
                items,
            } => {
                let items: Vec<HintItem<'_>> = items
                    .iter()
                    .map(|(item, key)| HintItem { key, ..*item })
                    .collect();
                self.recover_hint(header, outcome.as_deref(), &items, kept.position);
            }
        }
    }

    fn drop_contents(&mut self, table: usize, leaf: usize) {
        let Some(Some(state)) = self.tables.get_mut(table) else {
            return;
        };
        if let Some(Some(partition)) = state.partitions.get_mut(leaf) {
            state.table.drop_partition(partition.local);
            partition.local = state.table.add_partition();
            partition.drop_requests(&mut self.requests_known);
            self.has_buried = true;
        }
    }

    /// The same of a former partition, of which parts have been dropped since.
    fn put_back_left(&mut self, former: PartitionId, kept: &Kept, dropped: &[Prefix]) {
        if dropped.is_empty() {
            return self.put_back_kept(kept);
        }
        for heir in self.heirs(former) {
            let prefix = self.prefix_of(heir);
            let is_left = |prefix| !dropped.iter().any(|it| it.covers(prefix));
            if prefix.is_some_and(is_left) {
                let kept = self.part_of_kept(heir, kept);
                self.put_back_kept(&kept);
            }
        }
    }

    /// The log is read, or what it has of one table: tails go to the replicator. They stay where they stand in the log.
    pub(crate) fn finish_rebuilds(&mut self) {
        let held = self.take_halves();
        let wholes = self.take_wholes();
        let mut heirs: BTreeSet<PartitionId> =
            wholes.iter().flat_map(|it| it.heirs.clone()).collect();
        let joined = self.joined(&held, &heirs);
        heirs.extend(joined.iter().map(|it| it.id));
        self.raise_merged_horizons();
        self.expect_nothing();
        self.rebuilds
            .retain(|partition, _| !heirs.contains(partition));
        for (partition, rebuild) in std::mem::take(&mut self.rebuilds) {
            let Restored {
                lineage,
                base,
                committed,
                last,
                tail,
                is_complete,
                mut horizon,
                history,
            } = rebuild.finish();
            let is_torn = self.torn.contains(&partition);
            // What others were merged into begins with a base record.
            let upto = self.merged_upto(partition);
            if let Some(upto) = upto.filter(|_| base == Base::default()) {
                let op = committed.max(upto);
                self.restore(partition, &join::nothing(op));
                continue;
            }
            let mut kept: VecDeque<TailEntry<()>> = VecDeque::new();
            let mut is_whole = true;
            for entry in tail.into_iter().filter(|_| !is_torn) {
                let is_back = match &entry.payload.body {
                    Body::Record(raw) => self.put_back_pending(raw, entry.payload.position),
                    Body::Hint { .. } => false,
                };
                if !is_back {
                    // What cannot be sent to others cannot be claimed either.
                    is_whole = false;
                    break;
                }
                kept.push_back(TailEntry {
                    view: entry.view,
                    op: entry.op,
                    // What recovery has read it has synced.
                    mark: LogMark::NONE,
                    payload: (),
                });
            }
            let last = match kept.back() {
                _ if is_torn => Default::default(),
                _ if is_whole => last,
                Some(entry) => (entry.view, entry.op),
                None => (last.0, committed),
            };
            if let Ok((table, leaf)) = self.place_of(partition)
                && let Some(Some(state)) =
                    self.table_mut(table).map(|it| it.partitions[leaf].as_mut())
            {
                state.committed = committed;
                state.op = state.op.max(last.1);
                state.horizon = state.horizon.max(horizon);
                horizon = state.horizon.max(state.cleared);
            }
            let restored = Restored {
                lineage,
                base: if is_torn { Default::default() } else { base },
                committed,
                last,
                tail: kept,
                is_complete: is_complete && is_whole && !is_torn,
                horizon,
                history,
            };
            self.restore(partition, &restored);
        }
        // Not before: each record of a tail is put back as a batch of its own.
        for whole in wholes {
            self.divide(whole);
        }
        for joined in joined {
            self.claim_joined(joined);
        }
        self.end_passed_over();
    }

    /// Gives the replicator what the log says of a partition.
    pub(crate) fn restore<P>(&mut self, partition: PartitionId, restored: &Restored<P>) {
        let table = self.place_of(partition).ok();
        let table = table.and_then(|(table, _)| self.table(table).map(|it| it.id));
        let table = table.unwrap_or(TableId(0));
        self.replicate(|replicator| replicator.restore(table, partition, restored));
    }

    /// Where the records are that may have to be sent to others, and of which only a hint is known.
    pub(crate) fn tails_wanted(&mut self) -> Vec<Position> {
        let tails = self.rebuilds.values_mut().flat_map(Rebuild::tail_mut);
        let hints = tails.filter(|entry| matches!(entry.payload.body, Body::Hint { .. }));
        hints.map(|entry| entry.payload.position).collect()
    }

    /// One of those was read.
    pub(crate) fn take_tail(&mut self, position: Position, record: &Record<'_>) {
        let rebuild = self.rebuilds.get_mut(&record.header.partition);
        let mut tail = rebuild.into_iter().flat_map(Rebuild::tail_mut);
        if let Some(entry) = tail.find(|entry| entry.payload.position == position) {
            entry.payload.body = Body::Record(whole(record));
        }
    }

    /// A partition of which the log has no record holds all that there was before the first one. That is said of
    /// those that the catalog knew when the log was read, and of no others: records of a partition that it did not
    /// know were passed over.
    fn expect_nothing(&mut self) {
        let read = self.offline.table_read();
        let states = self.tables.iter().flatten();
        let states = states.filter(|state| read.is_none_or(|read| state.id == read));
        let logged = states.filter(|state| state.is_logged());
        let partitions = logged.flat_map(|state| state.partitions.iter().flatten());
        for partition in partitions.filter(|it| it.is_replicated) {
            self.rebuilds.entry(partition.id).or_default();
        }
    }

    /// Takes a record of a tail back into the batches that wait for their outcome.
    fn put_back_pending(&mut self, raw: &[u8], position: Position) -> bool {
        let is_back = record::decode(raw).is_ok_and(|it| self.take_found(&it, raw).is_ok());
        if is_back {
            self.log.put_back(position, self.now);
        }
        is_back
    }

    pub(crate) fn is_replicated(&self, partition: PartitionId) -> bool {
        self.place_of(partition).is_ok_and(|(table, leaf)| {
            self.table(table)
                .and_then(|it| it.partitions.get(leaf)?.as_ref())
                .is_some_and(|it| it.is_replicated)
        })
    }

    /// Appends that the replica holds all that has committed in a partition (PROTOCOL rule 15). False: it claims nothing
    /// yet, since a copy is under way.
    pub(crate) fn append_own_base(&mut self, partition: PartitionId) -> bool {
        let Some((header, value)) = self.replicas.replicator().base(partition) else {
            return false;
        };
        let before = self.log.building_len();
        self.log.append_bare(&header, b"", &[&value]);
        let bytes = self.log.building_len() - before;
        let level = (u64::from(header.view.0), header.op.0);
        let batch = self.log.building_id();
        self.segments
            .retained
            .append(batch, (partition, Mark::Base), level, bytes);
        true
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
        let changed: BTreeSet<PartitionId> = self
            .tables
            .iter_mut()
            .flatten()
            .filter(|state| state.attributes.durability != Durability::Memory)
            .flat_map(|state| state.partitions.iter_mut().flatten())
            .filter(|it| it.is_replicated && it.claimed < it.committed)
            .map(|it| {
                it.claimed = it.committed;
                it.id
            })
            .collect();
        for partition in changed {
            // One that is catching up has no claim yet.
            self.append_own_base(partition);
        }
    }

    /// Tombstones up to the partition's horizon may be gone from the log.
    pub(crate) fn tell_horizon(&mut self, table: usize, partition: PartitionId) {
        let state = self.tables.get_mut(table).and_then(Option::as_mut);
        let horizon = state.and_then(|it| it.partition_mut(partition).map(|it| it.horizon));
        if let Some(horizon) = horizon
            && self.is_replicated(partition)
        {
            self.raise_horizon(partition, horizon);
        }
    }

    /// From now on this brick acts as its node's present life: what the catalog says of it counts.
    pub(crate) fn take_seat(&mut self, incarnation: Incarnation) {
        self.on_registered(incarnation);
        for table in 0..self.tables.len() {
            self.adopt_groups(table);
        }
        self.end_adoption(self.catalog.version().0);
    }
}

/// The record's bytes.
fn whole(record: &Record<'_>) -> Vec<u8> {
    let mut raw = Vec::with_capacity(record.len);
    let Record {
        header,
        outcome,
        key,
        value,
        ..
    } = record;
    record::encode_with(&mut raw, header, *outcome, key, &[value]);
    raw
}
