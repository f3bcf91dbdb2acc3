//! What the cleaner does with each record of a segment: leaves it behind, or appends it again.

use super::{Move, Moving, Pass, Sorted};
use crate::baselines::{append_mark, append_own_baseline};
use crate::catch_up::is_from;
use crate::executed::{self, header_of};
use crate::log::{KeyRef, Log};
use crate::log_chunk::Records;
use crate::retained::Mark;
use crate::segments::Segments;
use crate::tables::{AHEAD, Tables};
use brickyard_replication::{Replicator, Role};
use brickyard_table::KeyHash;
use brickyard_types::record::{self, Header, Kind, Record, RequestId, flag};
use brickyard_types::{Op, PartitionId, Position, SegmentId};
use std::collections::btree_map::Entry;

/// What a chunk of a segment may change. The replicator is only asked.
pub(super) struct Mover<'a> {
    pub(super) tables: &'a mut Tables,
    pub(super) log: &'a mut Log,
    pub(super) segments: &'a mut Segments,
    pub(super) replicator: &'a Replicator,
    pub(super) moving: &'a mut Moving,
    pub(super) pass: &'a mut Pass,
    pub(super) sorted: &'a mut Sorted,
}

/// A record that was read, and where in memory the key is that it puts.
struct Read<'a> {
    position: Position,
    record: Record<'a>,
    place: Option<Place>,
}

/// Where in memory a key is, if it is: in the partition of this leaf.
#[derive(Clone, Copy)]
struct Place {
    leaf: u32,
    key: KeyRef,
}

impl Mover<'_> {
    /// Appends what is live of all records again that can be read.
    pub(super) fn move_records(&mut self, rest: &mut Records<'_>) {
        let mut group = Vec::with_capacity(AHEAD);
        loop {
            group.extend(std::iter::from_fn(|| rest.take()).take(AHEAD).map(
                |(position, record)| Read {
                    position,
                    place: self.place_of(&record),
                    record,
                },
            ));
            if group.is_empty() {
                return;
            }
            let places = group.iter().filter_map(|it: &Read<'_>| it.place);
            self.tables.look_ahead_for(places.map(|it| it.key));
            for read in group.drain(..) {
                self.move_record(&read);
            }
        }
    }

    /// Where the key of a record is that puts one; of a segment with nothing live nobody asks.
    fn place_of(&self, record: &Record<'_>) -> Option<Place> {
        let is_asked = record.header.kind == Kind::Put && !self.pass.is_dead;
        let table = is_asked.then(|| self.tables.index_of(record.header.table))??;
        self.place(table, record.key)
    }

    fn place(&self, table: usize, key: &[u8]) -> Option<Place> {
        let state = self.tables.get(table)?;
        let location = state.map.locate(key);
        let partition = state.partitions.get(location.leaf as usize)?.as_ref()?;
        Some(Place {
            leaf: location.leaf,
            key: KeyRef {
                table: table as u32,
                partition: partition.local,
                hash: KeyHash(location.key_hash),
            },
        })
    }

    /// Appends what is live of a record again.
    fn move_record(&mut self, read: &Read<'_>) {
        let partition = read.record.header.partition;
        if self.tables.is_here(partition) {
            self.move_record_of(read, &[partition]);
        } else {
            self.move_record_of(read, &self.tables.children(partition));
        }
    }

    /// The same of a record whose partition became these.
    fn move_record_of(&mut self, read: &Read<'_>, children: &[PartitionId]) {
        let Read {
            position,
            ref record,
            place,
        } = *read;
        let segment = position.segment;
        let header = record.header;
        // What a half had at its end is known by its own records alone: the whole's baseline has another history.
        let tells = matches!(header.kind, Kind::ViewStart | Kind::Cut | Kind::Baseline);
        let is_half = || self.tables.catalog().merged(header.partition).is_some();
        self.sorted.has_drop |= header.kind == Kind::Drop || tells && is_half();
        let level = (u64::from(header.view.0), header.op.0);
        for child in children.iter().filter(|it| self.tables.is_here(**it)) {
            match self.pass.baselines.entry(*child) {
                Entry::Occupied(mut said) => {
                    let said = said.get_mut();
                    *said = level.max(*said);
                }
                Entry::Vacant(first) => {
                    first.insert(level);
                    self.sorted.lacks_baseline |= self.replicator.baseline(*child).is_none();
                }
            }
        }
        let Some(table) = self.tables.index_of(header.table) else {
            return;
        };
        for child in children {
            self.move_id(table, *child, record);
        }
        match header.kind {
            Kind::Put => {
                if let Some(place) = place {
                    self.move_put(place, position, &header, record.key, record.value);
                }
            }
            Kind::Batch => {
                for entry in record::entries(record.value) {
                    let Ok(entry) = entry else { return };
                    let header = Header {
                        kind: entry.kind,
                        flags: entry.flags,
                        expires_at: entry.expires_at,
                        request: None,
                        ..header
                    };
                    if entry.kind != Kind::Put {
                        self.move_tombstone(table, segment, &header, entry.key);
                    } else if let Some(place) = self.place(table, entry.key) {
                        self.move_put(place, position, &header, entry.key, entry.value);
                    }
                }
            }
            Kind::Delete => {
                self.move_tombstone(table, segment, &header, record.key);
            }
            Kind::Clear => {
                let (wider, own): (Vec<PartitionId>, Vec<_>) = children
                    .iter()
                    .partition(|child| self.tables.is_wider(**child, header.partition));
                for partition in own {
                    let header = Header {
                        partition,
                        ..header
                    };
                    self.move_tombstone(table, segment, &header, record.key);
                }
                if !wider.is_empty() {
                    self.move_parent_clear(segment, &header);
                }
            }
            // A baseline says as much (`say_of_partitions`).
            Kind::ViewStart | Kind::Cut | Kind::Baseline | Kind::Drop => {}
            Kind::Watermark => {
                for child in children {
                    self.move_watermark(table, *child, &header, segment);
                }
            }
        }
    }

    fn move_watermark(
        &mut self,
        table: usize,
        id: PartitionId,
        header: &Header,
        segment: SegmentId,
    ) {
        let state = self.tables.get_mut(table);
        let watermark = state.and_then(|it| Some(it.partition_mut(id)?.gaps.watermark()));
        let key = (id, Mark::Watermark);
        let is_said = self
            .segments
            .retained
            .is_said_behind(segment, key, (0, header.op.0));
        if watermark == Some(header.op) && !is_said {
            let header = Header {
                flags: flag::MOVED,
                partition: id,
                ..*header
            };
            self.append_watermark(&header);
        }
    }

    fn append_watermark(&mut self, header: &Header) {
        let key = (header.partition, Mark::Watermark);
        let (level, retained) = ((0, header.op.0), &mut self.segments.retained);
        append_mark(self.log, retained, key, level, |log| {
            log.append_bare(header, b"", &[]);
        });
    }

    /// Appends the id of a request that the partition remembers again, whatever becomes of its record
    /// (rule `requests are executed once`).
    fn move_id(&mut self, table: usize, id_of: PartitionId, record: &Record<'_>) {
        let Some(id) = record.header.request else {
            return;
        };
        let op = record.header.op;
        let state = self.tables.get_mut(table);
        let Some((of_table, partition)) =
            state.and_then(|it| Some((it.id, it.partition_mut(id_of)?)))
        else {
            return;
        };
        let Some(window) = &partition.requests else {
            return;
        };
        if window.has(id, op, record.outcome) {
            let header = Header {
                view: record.header.view,
                request: Some(id),
                ..header_of(partition, of_table, op)
            };
            let before = self.log.building_len();
            self.log.append_id(&header, record.outcome);
            self.sorted.kept.ids += (self.log.building_len() - before) as u64;
            let until = id.sequence.saturating_add(executed::KEPT_FOR_US);
            self.sorted.kept.ids_until = self.sorted.kept.ids_until.max(until);
        } else if id.sequence <= window.floor() {
            let (last, highest) = self.pass.floors.entry((table, id_of)).or_default();
            *last = op.max(*last);
            *highest = id.sequence.max(*highest);
        }
    }

    /// Appends what must be said of whole partitions before a segment goes, unless a later segment says it. False: a
    /// partition claims nothing, so the segment must stay.
    pub(super) fn say_of_partitions(&mut self, segment: SegmentId) -> bool {
        let pass = std::mem::take(self.pass);
        let is_said = self.say_of_pass(segment, &pass);
        *self.pass = pass;
        is_said
    }

    fn say_of_pass(&mut self, segment: SegmentId, pass: &Pass) -> bool {
        for (&partition, &level) in &pass.baselines {
            // It may have been split since its records were looked at.
            for child in self.tables.children(partition) {
                let retained = &mut self.segments.retained;
                let is_said = retained.is_said_behind(segment, (child, Mark::Baseline), level);
                if !is_said
                    && self.tables.is_here(child)
                    && !append_own_baseline(self.replicator, self.log, retained, child)
                {
                    return false;
                }
            }
        }
        for (&(table, id), &(op, highest)) in &pass.floors {
            self.put_floor(segment, (table, id), op, highest);
        }
        for (_, header) in pass.horizons.values() {
            self.append_watermark(header);
        }
        true
    }

    /// Appends up to where a partition has forgotten the ids of requests.
    fn put_floor(
        &mut self,
        segment: SegmentId,
        (table, id): (usize, PartitionId),
        op: Op,
        highest: u64,
    ) {
        let key = (id, Mark::Floor);
        let state = self.tables.get_mut(table);
        let Some((of_table, partition)) = state.and_then(|it| Some((it.id, it.partition_mut(id)?)))
        else {
            return;
        };
        if self
            .segments
            .retained
            .is_said_behind(segment, key, (0, highest))
        {
            return;
        }
        let floor = partition.requests.as_ref().map_or(0, |it| it.floor());
        let nobody = RequestId {
            client: 0,
            sequence: floor,
        };
        let header = Header {
            request: Some(nobody),
            ..header_of(partition, of_table, op)
        };
        let retained = &mut self.segments.retained;
        append_mark(self.log, retained, key, (0, floor), |log| {
            log.append_id(&header, None);
        });
    }

    fn move_put(
        &mut self,
        place: Place,
        position: Position,
        header: &Header,
        key: &[u8],
        value: &[u8],
    ) {
        let Place { leaf, key: key_ref } = place;
        let Some(state) = self.tables.get(key_ref.table as usize) else {
            return;
        };
        let Some(Some(partition)) = state.partitions.get(leaf as usize) else {
            return;
        };
        let is_live = state
            .table
            .peek(key_ref.partition, key_ref.hash, key)
            .is_some_and(|found| {
                // The numbers of cut ops are used again: the op alone does not tell.
                found.position.segment == position.segment
                    && is_from(&found, header.op, value, header.expires_at, position)
            });
        // Where a newer operation is on its way, a copy would stand behind it in the log, and come
        // back once its tombstone is dropped. So the record stays, and the segment with it, until
        // that operation has committed.
        let is_changing =
            partition.clear.is_some() || self.log.pending(key_ref, partition.id, key).is_some();
        if !is_live || is_changing || !self.moving.insert(key_ref) {
            return;
        }
        let header = Header {
            flags: header.flags & !flag::COPIED | flag::MOVED,
            // One of a partition that was split is from now on its part's.
            partition: partition.id,
            request: None,
            origin: None,
            committed: None,
            ..*header
        };
        let record_at = self.log.append_bare(&header, key, &[value]);
        self.sorted.moves.push(Move {
            key: key_ref,
            name: key.to_vec(),
            op: header.op,
            record_at,
        });
    }

    fn move_tombstone(&mut self, table: usize, segment: SegmentId, header: &Header, key: &[u8]) {
        let is_superseded = header.kind == Kind::Delete && self.has_record(table, key);
        let owner = match header.kind {
            Kind::Clear => Some(header.partition),
            _ => self.tables.child(header.table, header.partition, key),
        };
        let Some(state) = self.tables.get_mut(table) else {
            return;
        };
        let Some(partition) = owner.and_then(|owner| state.partition_mut(owner)) else {
            return;
        };
        let header = &Header {
            partition: partition.id,
            ..*header
        };
        if header.kind == Kind::Clear && header.op > partition.cleared {
            // It was cut. Moved, it would count as committed.
            return;
        }
        // A copy of what it deletes may stand behind it, up to the segment `copied`, or come yet: it is needed as if it
        // stood there.
        let is_learner = partition.status.role == Role::Learner;
        let may_come = is_learner || self.log.concerns(table as u32, partition.local);
        let copied = partition.gaps.copied();
        let origin = header.origin.unwrap_or(segment).max(copied);
        let has_older = may_come
            || copied >= self.segments.active()
            || self.segments.has_older(origin, segment);
        let is_needed = has_older && !is_superseded;
        if is_needed {
            let deletions = &mut self.pass.deletions;
            if !deletions.has(partition.id, header.op, key, origin) {
                self.move_bare(header, key, origin);
            }
        } else if header.op > partition.gaps.watermark() {
            let before = partition.gaps.raise_watermark(header.op);
            let watermark = Header {
                kind: Kind::Watermark,
                flags: 0,
                expires_at: None,
                request: None,
                origin: None,
                committed: None,
                ..*header
            };
            // One record a pass and partition: the last one says it all.
            self.pass
                .horizons
                .entry(header.partition)
                .or_insert((before, watermark))
                .1 = watermark;
        }
    }

    /// Appends a clear of a partition that was merged again: it stays that one's, since its child has keys of others.
    fn move_parent_clear(&mut self, segment: SegmentId, header: &Header) {
        let origin = header.origin.unwrap_or(segment);
        let Some(prefix) = self.tables.prefix_of(header.partition) else {
            return;
        };
        let cleared = self.tables.parent_cleared(header.table, prefix);
        // What lies above was cut. Moved, it would count as committed.
        if header.op > cleared || !self.segments.has_older(origin, segment) {
            return;
        }
        self.move_bare(header, b"", origin);
    }

    /// Appends a record that has no value once more, at the end of the log.
    fn move_bare(&mut self, header: &Header, key: &[u8], origin: SegmentId) {
        let header = Header {
            flags: header.flags & !flag::COPIED | flag::MOVED,
            request: None,
            origin: Some(origin),
            expires_at: None,
            ..*header
        };
        let before = self.log.building_len();
        self.log.append_bare(&header, key, &[]);
        let bytes = (self.log.building_len() - before) as u64;
        *self.sorted.kept.tombstones.entry(origin).or_default() += bytes;
    }

    /// Whether the key has a record. One that came after its deletion has replaced that; one from before says that the
    /// deletion was cut, and moved it would count as committed.
    fn has_record(&self, table: usize, key: &[u8]) -> bool {
        let Some(KeyRef {
            table,
            partition,
            hash,
        }) = self.place(table, key).map(|it| it.key)
        else {
            return false;
        };
        let state = self.tables.get(table as usize);
        state.is_some_and(|it| it.table.contains(partition, hash, key))
    }
}
