//! How a brick stands, for those who check it from outside: the simulator.
//!
//! In:  nothing. Out: what it holds of each partition, until when it may act, what waits in it. Nothing is
//! changed, and nothing of it is on the way of a request.

use crate::Brick;
use crate::clean::segment_usage;
use brickyard_replication::Role;
use brickyard_table::{ScanPosition, ValueRef};
use brickyard_types::{Instant, Medium, Op, PartitionId, TableId, View};
use std::collections::BTreeMap;

/// What a brick holds of a partition that is replicated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionStatus {
    /// Its table.
    pub table: TableId,
    /// Which partition.
    pub partition: PartitionId,
    /// The history that it goes by.
    pub generation: u32,
    /// The last effective view that was adopted.
    pub view: View,
    /// What the brick is in it.
    pub role: Role,
    /// Whether it serves reads, given a lease.
    pub serves_reads: bool,
    /// The highest op that is committed here.
    pub committed: Op,
    /// The last record held here.
    pub last: (View, Op),
    /// Records up to this op may be damaged.
    pub damaged: Op,
}

/// How a brick's log stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogUse {
    /// The last batch that was given to the log.
    pub written: u64,
    /// Bytes of its files.
    pub file_bytes: u64,
    /// Bytes of records in them that count.
    pub live_bytes: u64,
    /// Bytes of the longest segment, or of a full one if all are shorter.
    pub segment_bytes: u64,
    /// It has segments that the cleaner may not touch: damaged ones, or of a table that is offline.
    pub is_held_up: bool,
}

/// A key of a partition: the op that wrote it, when it expires, its value if that is in memory.
pub type Content = (u64, Option<u64>, Option<Vec<u8>>);

/// A look at a brick, at one instant.
#[derive(Clone, Copy, Debug)]
pub struct Inspection<'a>(&'a Brick);

impl<'a> Inspection<'a> {
    /// Of that brick.
    #[must_use]
    pub fn of(brick: &'a Brick) -> Self {
        Self(brick)
    }

    /// Every partition of this brick.
    pub fn statuses(self) -> impl Iterator<Item = PartitionStatus> + 'a {
        let core = &self.0.core;
        let replicator = core.replicas.replicator();
        let tables = core.tables.iter();
        tables.flat_map(move |state| {
            let partitions = state.partitions.iter().flatten();
            partitions.map(move |it| PartitionStatus {
                table: state.id,
                partition: it.id,
                generation: it.generation,
                view: it.status.view,
                role: it.status.role,
                serves_reads: it.status.serves_reads,
                committed: replicator.committed(it.id).max(it.committed),
                last: if it.is_ahead {
                    (it.status.view, it.op)
                } else {
                    replicator.last(it.id)
                },
                damaged: it.gaps.damaged(),
            })
        })
    }

    /// Until when this brick may act.
    #[must_use]
    pub fn leased_until(self) -> Instant {
        self.0.core.replicas.lease
    }

    /// Every key of a partition; `None` if the brick does not have it.
    #[must_use]
    pub fn contents(
        self,
        table: TableId,
        partition: PartitionId,
    ) -> Option<BTreeMap<Vec<u8>, Content>> {
        let state = self.0.core.tables.of(table)?;
        let leaf = state.map.partitions().index_of(partition)?;
        let local = state.partitions.get(leaf)?.as_ref()?.local;
        let mut all = BTreeMap::new();
        let start = ScanPosition::START;
        state.table.scan(local, start, usize::MAX, |key, found| {
            let value = match found.value {
                ValueRef::Hot(value) if state.attributes.medium == Medium::Ram => {
                    Some(value.to_vec())
                }
                _ => None,
            };
            let expires_at = found.expires_at.map(|at| at.0);
            all.insert(key.to_vec(), (found.op.0, expires_at, value));
        });
        Some(all)
    }

    /// How its log stands.
    #[must_use]
    pub fn log_use(self) -> LogUse {
        let usage = segment_usage(&self.0.core.tables, &self.0.core.segments, self.0.core.unix);
        let (_, file_bytes) = self.0.core.segments.files();
        LogUse {
            written: self.0.core.log.written().0,
            file_bytes,
            live_bytes: usage.values().map(|it| it.live).sum(),
            segment_bytes: self.0.core.segments.longest(),
            is_held_up: self.0.core.segments.is_held_up(),
        }
    }

    /// A key that lies in another partition than its table's map names; `None`, as it must be.
    #[must_use]
    pub fn misplaced(self) -> Option<String> {
        for state in self.0.core.tables.iter() {
            for partition in state.partitions.iter().flatten() {
                let mut misplaced = None;
                let start = ScanPosition::START;
                state.table.scan(partition.local, start, usize::MAX, |key, _| {
                    let named = state.map.locate(key).partition;
                    if named != partition.id {
                        let key = key.escape_ascii();
                        let (held, table) = (partition.id, &state.name);
                        misplaced = Some(format!(
                            "{key} of table {table} lies in partition {held}, and the map names {named}"
                        ));
                    }
                });
                if misplaced.is_some() {
                    return misplaced;
                }
            }
        }
        None
    }

    /// What is still in memory although nothing is under way; nothing, if all is well.
    #[must_use]
    pub fn lazy_free(self) -> String {
        let brick = self.0;
        let mut out = brick.core.log.lazy_free();
        if !(brick.core.requests.is_idle() && brick.remotes.is_idle()) {
            out += &format!(
                "requests {:?} remotes {:?}",
                brick.core.requests, brick.remotes
            );
        }
        out
    }

    /// Its replicas in words, for transcripts.
    #[must_use]
    pub fn describe_replicas(self) -> String {
        let mut out = format!(
            "leased {} acks {:?} requests {:?} remotes {:?}\n",
            self.0.core.replicas.is_leased,
            self.0.acknowledged(),
            self.0.core.requests,
            self.0.remotes
        );
        if let Some(waiting) = self.0.core.tables.waiting() {
            out += &format!(
                "catalog {} waits: handed over {}, idle {}, to part {}\n",
                waiting.version(),
                self.0.core.log.is_handed_over(),
                self.0.core.log.is_idle(),
                self.0.core.is_about_to_part()
            );
        }
        for state in self.0.core.tables.iter() {
            for partition in state.partitions.iter().flatten() {
                let replicator = self.0.core.replicas.replicator();
                out += &format!(
                    "  {} {:?} op {} committed {} last {:?} pending {}\n",
                    partition.id,
                    partition.status,
                    partition.op,
                    partition.committed,
                    replicator.last(partition.id),
                    replicator.pending(partition.id).count()
                );
            }
        }
        out
    }
}
