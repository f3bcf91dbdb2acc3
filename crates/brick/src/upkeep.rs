//! What a brick does for its tables by itself: removals of what has expired or has no room, and figures for others.
//!
//! In:  turns and ticks. Out: whether there is more to remove; once a second, how many commands the node executes; which keys
//! stand out.

use crate::clean::segment_usage;
use crate::core::Core;
use crate::cpu_load::CpuLoad;
use crate::expire::expire_due;
use crate::key_walk;
use crate::memory::make_room_everywhere;
use crate::orphans;
use crate::prune;
use crate::stats::Stats;
use brickyard_types::Instant;
use std::time::Duration;

/// How often it is time for a sweep: what is looked at now and then, and costs something.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Upkeep {
    /// There are more expired keys to remove.
    has_expired: bool,
    /// A table is past its memory bound and can make room.
    is_crowded: bool,
    /// How busy the brick is.
    pub(crate) cpu_load: CpuLoad,
    last_sweep: Instant,
    last_tick: Instant,
    /// Whose keys are looked at first.
    walked: usize,
    /// Commands a second of the whole node over the last second or so, and the count that it was taken from.
    ops_per_second: u64,
    commands_at_sweep: u64,
}

impl Upkeep {
    /// Whether tables have more to remove than one turn's worth.
    pub(crate) fn has_work(&self) -> bool {
        self.has_expired || self.is_crowded
    }

    /// A turn's worth, between batches.
    pub(crate) fn on_turn(&mut self, core: &mut Core) {
        self.is_crowded = make_room_everywhere(core);
        if self.has_expired {
            self.has_expired = expire_due(core);
        }
    }

    /// Looks for what has expired, or has no room.
    pub(crate) fn on_tick(&mut self, core: &mut Core) {
        self.has_expired = expire_due(core);
        self.is_crowded = make_room_everywhere(core);
        let elapsed = core.now - std::mem::replace(&mut self.last_tick, core.now);
        key_walk::on_tick(core, &mut self.walked, elapsed);
        prune::on_tick(core);
        orphans::on_tick(core);
    }

    /// Whether it is time for a sweep, which begins then: the node's rate of commands is taken.
    pub(crate) fn begin_sweep(&mut self, now: Instant, all: &[Stats]) -> bool {
        assert!(
            now >= self.last_sweep,
            "time goes back from {:?} to {now:?}",
            self.last_sweep
        );
        let since = now - self.last_sweep;
        if since < SWEEP_EVERY {
            return false;
        }
        let commands = all.iter().map(|stats| stats.commands.value()).sum();
        let executed = u64::saturating_sub(commands, self.commands_at_sweep);
        self.ops_per_second = executed * 1000 / (since.as_millis() as u64).max(1);
        self.commands_at_sweep = commands;
        self.last_sweep = now;
        true
    }

    pub(crate) fn ops_per_second(&self) -> u64 {
        self.ops_per_second
    }
}

/// Copies the figures that anybody may read.
pub(crate) fn publish(core: &Core) {
    for state in core.tables.iter() {
        state.publish(core.unix);
    }
    let (segments, bytes) = core.segments.files();
    let usage = segment_usage(&core.tables, &core.segments, core.unix);
    let live = usage.values().map(|usage| usage.live).sum();
    let stats = core.stats();
    stats.log.segments.set(segments);
    stats.log.file_bytes.set(bytes);
    stats.log.live_bytes.set(live);
}
