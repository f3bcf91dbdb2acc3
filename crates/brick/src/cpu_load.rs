//! How busy this brick is, and with which partitions: told to the control plane.
//!
//! In:  how much of a core's time the loop's thread has taken, some times a second; partitions' rates. Out: every few seconds,
//!      how busy the brick is and with which partitions ([`BrickLoad`]).
//!
//! A partition's load is its part of the brick's operations, times how busy the brick is. Operations that cost more than
//! others count no more than these: what is looked for is a partition with most of them.
//!
//! Not here: what is counted of a partition (`load_meter`), what is done about a hot one (`control`).

use crate::core::Core;
use crate::effect::{ControlRequest, Effect};
use crate::tables::Partition;
use brickyard_metadata::{BrickLoad, PartitionLoad};
use brickyard_replication::Role;
use brickyard_types::Instant;
use std::time::Duration;

/// How often a busy brick tells its load.
const TOLD_EVERY: Duration = Duration::from_secs(2);

/// How often one tells it that has little to do: others want to know where there is room.
const TOLD_IDLE_EVERY: Duration = Duration::from_secs(10);

/// A brick with less to do than this, in thousandths, is idle.
const IDLE: u64 = 200;

/// Partitions below this load, in thousandths of a core, are not told of.
const TOLD_FROM: u64 = 10;

/// Most partitions that are told of.
const TOLD_MAX: usize = 16;

/// What is known of the brick as a whole.
#[derive(Debug, Default)]
pub(crate) struct CpuLoad {
    /// Time of a core that the loop has taken, ever.
    taken: Duration,
    /// That, when it was last looked at.
    seen: Option<(Instant, Duration)>,
    /// In thousandths of a core.
    busy: u64,
    told: Option<Instant>,
    was_idle: bool,
}

impl CpuLoad {
    /// How much of a core's time the loop's thread has taken since it began.
    pub(crate) fn note_taken(&mut self, taken: Duration) {
        self.taken = taken;
    }

    /// Takes rates, about once a second, and tells them from time to time.
    pub(crate) fn look(&mut self, core: &mut Core) {
        let now = core.now;
        let Some((then, taken)) = self.seen.replace((now, self.taken)) else {
            return;
        };
        let elapsed = now - then;
        let share = self.taken.saturating_sub(taken).as_millis() as u64 * 1000
            / (elapsed.as_millis() as u64).max(1);
        self.busy = (self.busy * 3 + share.min(1000)).div_ceil(4);
        assert!(self.busy <= 1000, "{} thousandths of a core", self.busy);
        let tables = core.tables.iter_mut();
        for partition in tables.flat_map(|state| state.partitions.iter_mut().flatten()) {
            let op = partition.op;
            partition.load_meter.look(op, elapsed);
        }
        core.stats().busy.set(self.busy);
        self.tell(core);
    }

    fn tell(&mut self, core: &mut Core) {
        let now = core.now;
        let is_idle = self.busy < IDLE;
        let pause = match is_idle && self.was_idle {
            true => TOLD_IDLE_EVERY,
            false => TOLD_EVERY,
        };
        let is_early = self.told.is_some_and(|told| now - told < pause);
        if is_early || core.tables.catalog().nodes().len() < 2 {
            return;
        }
        self.told = Some(now);
        self.was_idle = is_idle;
        let request = ControlRequest::Load(self.load(core));
        core.effects.push_back(Effect::Control(0, request));
    }

    /// How busy the brick is, and with what.
    fn load(&self, core: &Core) -> BrickLoad {
        let busy = self.busy;
        let tables = core.tables.iter();
        let held = tables.flat_map(|state| state.partitions.iter().flatten());
        let total: u64 = held.clone().map(operations).sum();
        let mut partitions: Vec<PartitionLoad> = held
            .filter_map(|partition| {
                let operations = operations(partition);
                let load = busy * operations / total.max(1);
                (load >= TOLD_FROM).then(|| PartitionLoad {
                    partition: partition.id,
                    load: load as u16,
                    writes: (partition.load_meter.writes().min(operations) * 1000
                        / operations.max(1)) as u16,
                    is_narrow: partition.load_meter.is_narrow(),
                })
            })
            .collect();
        partitions.sort_by_key(|it| (std::cmp::Reverse(it.load), it.partition));
        partitions.truncate(TOLD_MAX);
        let sum: u64 = partitions.iter().map(|it| u64::from(it.load)).sum();
        assert!(
            sum <= busy,
            "the partitions' load is {sum}, and the brick's {busy}"
        );
        BrickLoad {
            busy: busy as u16,
            partitions,
        }
    }
}

/// What this brick does for the partition: commands that run here, and at a backup what the primary sends.
fn operations(partition: &Partition) -> u64 {
    let followed = match partition.status.role {
        Role::Primary => 0,
        _ => partition.load_meter.writes(),
    };
    partition.load_meter.asks() + followed
}

#[cfg(test)]
#[path = "cpu_load_test.rs"]
mod cpu_load_test;
