//! What partitions cost this brick: measured by counting, told to the control plane.
//!
//! In:  commands, one count each on the partition that they run on; ops, which count writes by themselves; how much of a
//!      core's time the loop's thread has taken, some times a second. Out: every few seconds, how busy the brick is and with
//!      which partitions ([`BrickLoad`]).
//!
//! A partition's load is its part of the brick's operations, times how busy the brick is. Operations that cost more than
//! others count no more than these: what is looked for is a partition with most of them.
//!
//! Invariants:
//! - On a request's path one number is added to; no clock is read.
//! - Rates decay: half of what was a few seconds ago.
//!
//! Not here: what is done about a hot partition (`control`).

use crate::core::{Core, Partition};
use crate::effect::{ControlRequest, Effect};
use brickyard_metadata::{BrickLoad, PartitionLoad};
use brickyard_replication::Role;
use brickyard_types::{Instant, Op};
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

/// Every so many commands the slot is looked at: a prime, so that no pipeline is in step with it.
const SAMPLED_EVERY: u64 = 13;

/// Fewer samples in a second say nothing.
const SAMPLES_MIN: u32 = 8;

/// Rates are kept in so many parts of one a second.
const PARTS: u64 = 16;

/// What is counted of one partition, and what that came to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heat {
    /// Commands that ran here.
    asked: u64,
    /// Those, and the newest op, when rates were last taken.
    seen: Option<(u64, Op)>,
    /// A second, in [`PARTS`].
    asks: u64,
    writes: u64,
    vote: Vote,
    is_narrow: bool,
}

/// Whether most samples are of one slot: Boyer and Moore's majority vote.
#[derive(Debug, Clone, Copy, Default)]
struct Vote {
    slot: u16,
    lead: u32,
    samples: u32,
}

impl Heat {
    /// A command ran on a key of that slot.
    #[inline]
    pub(crate) fn note(&mut self, slot: u16) {
        self.asked += 1;
        if self.asked.is_multiple_of(SAMPLED_EVERY) {
            self.vote.cast(slot);
        }
    }

    fn look(&mut self, op: Op, elapsed: Duration) {
        let Some((asked, former)) = self.seen.replace((self.asked, op)) else {
            return;
        };
        decay(&mut self.asks, self.asked - asked, elapsed);
        // A cut takes ops back.
        decay(&mut self.writes, op.0.saturating_sub(former.0), elapsed);
        if self.vote.samples >= SAMPLES_MIN {
            self.is_narrow = self.vote.has_majority();
            self.vote = Vote::default();
        }
    }
}

impl Vote {
    fn cast(&mut self, slot: u16) {
        self.samples += 1;
        if self.slot == slot {
            self.lead += 1;
        } else if self.lead == 0 {
            self.slot = slot;
            self.lead = 1;
        } else {
            self.lead -= 1;
        }
    }

    /// Surely where more than five eighths are of one slot, and never where no slot has half.
    fn has_majority(self) -> bool {
        self.lead * 4 >= self.samples
    }
}

/// A rate comes a quarter nearer to what it was in the last while.
fn decay(rate: &mut u64, count: u64, elapsed: Duration) {
    let millis = (elapsed.as_millis() as u64).max(1);
    let now = count.saturating_mul(PARTS * 1000) / millis;
    *rate = (*rate * 3 + now) / 4;
}

/// What is known of the brick as a whole.
#[derive(Debug, Default)]
pub(crate) struct Burden {
    /// Time of a core that the loop has taken, ever.
    taken: Duration,
    /// That, when it was last looked at.
    seen: Option<(Instant, Duration)>,
    /// In thousandths of a core.
    busy: u64,
    told: Option<Instant>,
    was_idle: bool,
}

impl Core {
    /// How much of a core's time the loop's thread has taken since it began.
    pub(crate) fn note_taken(&mut self, taken: Duration) {
        self.burden.taken = taken;
    }

    /// Takes rates, about once a second, and tells them from time to time.
    pub(crate) fn look_at_load(&mut self) {
        let now = self.now;
        let burden = &mut self.burden;
        let Some((then, taken)) = burden.seen.replace((now, burden.taken)) else {
            return;
        };
        let elapsed = now - then;
        let share = burden.taken.saturating_sub(taken).as_millis() as u64 * 1000
            / (elapsed.as_millis() as u64).max(1);
        burden.busy = (burden.busy * 3 + share.min(1000)).div_ceil(4);
        let busy = burden.busy;
        let tables = self.tables.iter_mut().flatten();
        for partition in tables.flat_map(|state| state.partitions.iter_mut().flatten()) {
            let op = partition.op;
            partition.heat.look(op, elapsed);
        }
        self.stats().busy.set(busy);
        self.tell_load(now);
    }

    fn tell_load(&mut self, now: Instant) {
        let is_idle = self.burden.busy < IDLE;
        let pause = match is_idle && self.burden.was_idle {
            true => TOLD_IDLE_EVERY,
            false => TOLD_EVERY,
        };
        let is_early = self.burden.told.is_some_and(|told| now - told < pause);
        if is_early || self.catalog.nodes().len() < 2 {
            return;
        }
        self.burden.told = Some(now);
        self.burden.was_idle = is_idle;
        let request = ControlRequest::Load(self.load());
        self.effects.push_back(Effect::Control(0, request));
    }

    /// How busy the brick is, and with what.
    pub(crate) fn load(&self) -> BrickLoad {
        let busy = self.burden.busy;
        let tables = self.tables.iter().flatten();
        let held = tables.flat_map(|state| state.partitions.iter().flatten());
        let total: u64 = held.clone().map(|it| it.operations()).sum();
        let mut partitions: Vec<PartitionLoad> = held
            .filter_map(|partition| {
                let operations = partition.operations();
                let load = busy * operations / total.max(1);
                (load >= TOLD_FROM).then(|| PartitionLoad {
                    partition: partition.id,
                    load: load as u16,
                    writes: (partition.heat.writes.min(operations) * 1000 / operations.max(1))
                        as u16,
                    is_narrow: partition.heat.is_narrow,
                })
            })
            .collect();
        partitions.sort_by_key(|it| (std::cmp::Reverse(it.load), it.partition));
        partitions.truncate(TOLD_MAX);
        BrickLoad {
            busy: busy as u16,
            partitions,
        }
    }
}

impl Partition {
    /// What this brick does for the partition: commands that run here, and at a backup what the primary sends.
    fn operations(&self) -> u64 {
        let followed = match self.status.role {
            Role::Primary => 0,
            _ => self.heat.writes,
        };
        self.heat.asks + followed
    }
}

#[cfg(test)]
#[path = "heat_test.rs"]
mod heat_test;
