//! Partitions that were split while this brick was away, or at its last moment: the log has the whole alone.
//!
//! In:  what the log says of the whole. Out: the same of each part, given to the replicator and written into the log,
//!      so that the next restart finds parts.
//!
//! Invariants (PROTOCOL rules 9 and 31):
//! - What a part may claim is what the whole could: its ops and views are the whole's. So the tail, about which only
//!   the primary of a newer view can tell, is the tail of each part: a record of another part is one that did nothing.
//! - Nothing is cut.

use super::{Body, Kept};
use crate::core::Core;
use crate::heirs::is_split_from;
use brickyard_replication::{Base, LogMark, Rebuild, Restored, TailEntry};
use brickyard_types::record::{self, Header, Kind, Record};
use brickyard_types::{Op, PartitionId, View};
use std::collections::VecDeque;

/// A partition that was split, out of the log.
pub(super) struct Whole {
    id: PartitionId,
    restored: Restored<Kept>,
    /// The parts of which the log has nothing of their own.
    pub(super) heirs: Vec<PartitionId>,
    /// No record of any part came after it.
    is_open: bool,
}

impl Core {
    /// Takes the partitions that were split out of those that were read, with the parts that have nothing but what
    /// these had.
    pub(super) fn take_wholes(&mut self) -> Vec<Whole> {
        let ids: Vec<PartitionId> = self.rebuilds.keys().copied().collect();
        let mut formers: Vec<PartitionId> =
            ids.into_iter().filter(|id| self.is_former(*id)).collect();
        // Of two that had a part's keys, the one with the higher number came later.
        formers.sort_by_key(|id| std::cmp::Reverse(*id));
        let open = std::mem::take(&mut self.open_formers);
        let mut wholes: Vec<Whole> = Vec::new();
        for id in formers {
            let Some(rebuild) = self.rebuilds.remove(&id) else {
                continue;
            };
            let restored = rebuild.finish();
            self.for_heirs(id, |part| part.horizon = part.horizon.max(restored.horizon));
            let is_taken = |heir: &PartitionId| {
                self.has_begun(*heir) || wholes.iter().any(|whole| whole.heirs.contains(heir))
            };
            let heirs = self.heirs(id).into_iter();
            let heirs = heirs.filter(|heir| {
                self.is_replicated(*heir) && self.is_part(*heir, id) && !is_taken(heir)
            });
            wholes.push(Whole {
                id,
                heirs: heirs.collect(),
                is_open: open.contains_key(&id),
                restored,
            });
        }
        wholes
    }

    /// Whether a partition came from another one by splits alone.
    fn is_part(&self, part: PartitionId, whole: PartitionId) -> bool {
        let table = self.catalog.former(whole).map(|former| former.table);
        match (table, self.prefix_of(part)) {
            (Some(table), Some(prefix)) => {
                is_split_from(&self.catalog, table, whole, (part, prefix))
            }
            _ => false,
        }
    }

    /// Gives each part what the whole had.
    pub(super) fn divide(&mut self, whole: Whole) {
        let Whole {
            id,
            restored,
            heirs,
            is_open,
        } = whole;
        let mut tail = Vec::new();
        for entry in &restored.tail {
            let Body::Record(raw) = &entry.payload.body else {
                // What cannot be sent to others cannot be claimed either.
                break;
            };
            tail.push((entry.view, entry.op, raw.as_slice()));
        }
        for heir in heirs {
            self.inherit(heir, &restored, &tail);
        }
        if is_open {
            self.drop_other_parts(id);
        }
    }

    fn inherit(&mut self, heir: PartitionId, whole: &Restored<Kept>, tail: &[(View, Op, &[u8])]) {
        let is_torn = self.torn.contains(&heir);
        let is_whole = tail.len() == whole.tail.len();
        let is_complete = whole.is_complete && is_whole && !is_torn;
        let mark = LogMark(self.log.building_id().0);
        let is_based = is_complete && self.append_base(heir, whole);
        let mut entries: VecDeque<TailEntry<()>> = VecDeque::new();
        for (view, op, raw) in tail.iter().filter(|_| !is_torn) {
            let Some(mark) = self.append_part(heir, raw) else {
                break;
            };
            entries.push_back(TailEntry {
                view: *view,
                op: *op,
                mark,
                payload: (),
            });
        }
        let is_whole = is_whole && entries.len() == whole.tail.len();
        let last = match entries.back() {
            _ if is_torn => Default::default(),
            _ if is_whole => whole.last,
            Some(entry) => (entry.view, entry.op),
            None => (whole.last.0, whole.committed),
        };
        let mut horizon = whole.horizon;
        self.for_heirs(heir, |part| {
            part.committed = whole.committed;
            part.op = part.op.max(last.1);
            part.horizon = part.horizon.max(horizon);
            horizon = part.horizon.max(part.cleared);
        });
        let restored = Restored {
            lineage: whole.lineage,
            base: if is_torn {
                Base::default()
            } else {
                whole.base.clone()
            },
            committed: whole.committed,
            last,
            tail: entries,
            is_complete: is_complete && is_whole,
            horizon,
            history: whole.history.clone(),
        };
        self.restore(heir, &restored);
        if is_based {
            self.replicas.based_in(heir, mark);
        }
    }

    /// Whether the log has anything of a partition that is not from before it became one.
    pub(super) fn has_begun(&self, partition: PartitionId) -> bool {
        let rebuild = self.rebuilds.get(&partition);
        rebuild.is_some_and(Rebuild::has_begun)
    }

    /// Writes what the part may claim of the whole: from here on the log speaks of the part. False if that is nothing.
    fn append_base(&mut self, heir: PartitionId, whole: &Restored<Kept>) -> bool {
        let op = whole.committed;
        let runs = whole.history.iter().copied().filter(|run| run.first <= op);
        let runs: Vec<_> = runs.collect();
        let table = self.place_of(heir).ok();
        let table = table.and_then(|(table, _)| self.table(table).map(|it| it.id));
        let (Some(table), Some(last)) = (table, runs.last()) else {
            return false;
        };
        let base = Base {
            lineage: whole.lineage,
            view: last.view,
            op,
            runs: runs.clone(),
        };
        let mut value = Vec::new();
        base.encode(&mut value);
        let header = Header {
            kind: Kind::Base,
            flags: 0,
            table,
            partition: heir,
            view: base.view,
            op,
            expires_at: None,
            request: None,
            origin: None,
            committed: Some(op),
        };
        self.log.append_bare(&header, b"", &[&value]);
        true
    }

    /// Takes a record of the whole's tail into the part's.
    fn append_part(&mut self, heir: PartitionId, raw: &[u8]) -> Option<LogMark> {
        let record = record::decode(raw).ok()?;
        let raw = self.part_of_record(heir, &record);
        let record = record::decode(&raw).ok()?;
        self.take_found(&record, &raw).ok()
    }

    /// The record as it is one of a part: what it does to others' keys is left out.
    fn part_of_record(&self, heir: PartitionId, record: &Record<'_>) -> Vec<u8> {
        let header = record.header;
        let key = match header.kind {
            Kind::Put | Kind::Delete => Some(record.key),
            // All keys of a batch are in one slot, and so in one part.
            Kind::Batch => record::entries(record.value)
                .next()
                .and_then(Result::ok)
                .map(|entry| entry.key),
            _ => None,
        };
        let owner = key.and_then(|key| self.heir(header.table, header.partition, key));
        let mut raw = Vec::new();
        if owner.is_none_or(|owner| owner == heir) {
            let header = Header {
                partition: heir,
                ..header
            };
            record::encode_with(
                &mut raw,
                &header,
                record.outcome,
                record.key,
                &[record.value],
            );
        } else {
            let header = Header {
                kind: Kind::Batch,
                flags: 0,
                partition: heir,
                expires_at: None,
                ..header
            };
            record::encode_with(&mut raw, &header, record.outcome, b"", &[]);
        }
        raw
    }

    /// The same of what is not known to be committed.
    pub(super) fn part_of_kept(&self, heir: PartitionId, kept: &Kept) -> Kept {
        let body = match &kept.body {
            Body::Record(raw) => {
                let part = record::decode(raw).map(|record| self.part_of_record(heir, &record));
                Body::Record(part.unwrap_or_default())
            }
            Body::Hint {
                header,
                outcome,
                items,
            } => {
                let is_its = |key: &[u8]| {
                    let owner = self.heir(header.table, header.partition, key);
                    owner == Some(heir)
                };
                Body::Hint {
                    header: Header {
                        partition: heir,
                        ..*header
                    },
                    outcome: outcome.clone(),
                    items: items.iter().filter(|it| is_its(&it.1)).cloned().collect(),
                }
            }
        };
        Kept {
            body,
            position: kept.position,
        }
    }

    /// Of parts that are not this brick's the log has nothing that counts, should they come here again (PROTOCOL
    /// rule 21).
    pub(crate) fn drop_other_parts(&mut self, whole: PartitionId) {
        let Some(former) = self.catalog.former(whole).copied() else {
            return;
        };
        let Some(state) = self
            .table_by_id
            .get(&former.table)
            .and_then(|it| self.table(*it))
        else {
            return;
        };
        if !state.is_logged() {
            return;
        }
        let leaves = state
            .map
            .partitions()
            .leaves()
            .iter()
            .zip(&state.partitions);
        let others: Vec<PartitionId> = leaves
            .filter(|(leaf, held)| held.is_none() && former.prefix().contains(leaf.prefix.first()))
            .map(|(leaf, _)| leaf.partition)
            .collect();
        for other in others {
            self.append_drop_of(former.table, other, (former.view, Op(0)));
        }
    }
}
