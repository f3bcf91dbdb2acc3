//! From the log to a brick that can serve.
//!
//! In:  a brick that has read nothing yet; what its log holds, in log order ([`LogRecord`]), and what of it is unreadable
//!      ([`LogDamage`]). Out: the brick, with tables as they were and partitions that know what they may lack.
//!
//! ```text
//!  records, damage ──► Fold ──committed──► tables
//!                       │ end
//!                       └──► Rebuilt, one for each partition ──► replicator, log (`recovery/build`)
//! ```
//! A table that comes back online is read by the same fold (`offline/read`).
//!
//! Invariants:
//! - Of each key the record with the highest op counts, wherever in the log it stands: the cleaner
//!   moves records to later segments.
//! - Nothing is cut here: a torn tail was cut by the store, where nothing valid follows it.
//! - A partition whose log has damage serves only keys that it knows from later ops.
//! - What only recovery needs to know is gone when it ends.

mod build;
mod contents;
mod fold;
mod kept;
mod parents;

pub(crate) use build::build_all;
pub(crate) use contents::Ground;
pub(crate) use fold::Fold;

use crate::brick::Brick;
use crate::log_health::LogScar;
use crate::log_record::{LogDamage, LogRecord};
use crate::tables::{Suspicion, Unloaded};
use crate::upkeep;
use brickyard_types::record::{HEADER_BYTES, Record};
use brickyard_types::{Medium, PartitionId, Position, SegmentId};

/// See the module.
#[derive(Debug)]
pub struct LogReplay {
    brick: Brick,
    fold: Fold,
}

impl LogReplay {
    /// Begins; the brick has no connections yet.
    #[must_use]
    pub fn of(brick: Brick) -> Self {
        Self {
            brick,
            fold: Fold::new(None),
        }
    }

    /// Whether the partition's values live in memory, so that recovery must read them.
    #[must_use]
    pub fn needs_values(&self, partition: PartitionId) -> bool {
        let tables = &self.brick.core.tables;
        let parent = tables.catalog().parent(partition);
        let holder = tables.iter().find(|state| {
            state.map.partitions().index_of(partition).is_some()
                || parent.is_some_and(|parent| parent.table == state.id)
        });
        holder.is_some_and(|state| {
            state.attributes.medium == Medium::Ram && state.availability.unloaded != Unloaded::Away
        })
    }

    /// The next record of the log.
    pub fn on_record(&mut self, recovered: &LogRecord<'_>) {
        let core = &mut self.brick.core;
        let (table, position) = (recovered.header().table, recovered.position());
        if let LogRecord::Whole { record, .. } = recovered {
            core.segments.reach(position, record.len);
        }
        // A record of a table that is not to be in memory: its segment stays.
        let state = core.tables.of(table);
        let is_away = state.is_some_and(|state| state.availability.unloaded == Unloaded::Away);
        if is_away {
            return core.moves.offline.note_away(table, position.segment);
        }
        let mut core = core.parts();
        let mut ground = Ground::of(&mut core.replication, &mut core.outside);
        self.fold.on_record(&mut ground, recovered);
    }

    /// A part of the log is unreadable; told between the records before and behind it.
    pub fn on_damage(&mut self, damage: LogDamage) {
        let core = &mut self.brick.core;
        let records_max = damage.len / HEADER_BYTES as u64 + 1;
        let place = (damage.position, records_max);
        let suspicion = match damage.is_suspicion {
            true => Suspicion::Possible,
            false => Suspicion::Certain,
        };
        let mut core = core.parts();
        let mut ground = Ground::of(&mut core.replication, &mut core.outside);
        self.fold
            .on_damage(&mut ground, place, suspicion, &damage.partitions);
        let segments = core.replication.segments;
        if !damage.partitions.is_empty() {
            segments.mark_damaged(damage.position.segment);
        }
        let partitions = damage.partitions.iter().map(|(partition, _)| *partition);
        segments.health.note_damage(LogScar {
            segment: damage.position.segment,
            partitions: partitions.collect(),
            text: damage.text,
        });
    }

    /// Where records are of which more than a hint is needed: they may have to be sent to other replicas. Each is
    /// to be handed in ([`Self::on_suffix`]) before recovery ends; what cannot be read is not claimed.
    #[must_use]
    pub fn suffixes_wanted(&mut self) -> Vec<Position> {
        self.fold.suffixes_wanted()
    }

    /// A record that was wanted.
    pub fn on_suffix(&mut self, position: Position, record: &Record<'_>) {
        self.fold.on_suffix(position, record);
    }

    /// The log is read: its sealed segments with their lengths, and the one that is written to.
    #[must_use]
    pub fn end(self, sealed: &[(SegmentId, u64)], active: SegmentId) -> Brick {
        let Self { mut brick, fold } = self;
        let core = &mut brick.core;
        for (segment, bytes) in sealed {
            assert!(*segment < active, "{segment} is sealed, {active} is active");
            core.segments.seal(*segment, *bytes);
        }
        core.segments.open(active);
        core.moves.offline.keep_segments(&mut core.segments);
        let mut parts = core.parts();
        build_all(&mut parts.replication, &mut parts.outside, fold);
        for state in core.tables.iter_mut() {
            state.table.purge_tombstones();
        }
        core.adoption().take_replica(brick.incarnation);
        upkeep::publish(&brick.core);
        brick
    }
}
