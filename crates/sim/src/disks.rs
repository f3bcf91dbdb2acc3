//! A machine's disks: the node's own directory and one a brick, and how long they take.
//!
//! In:  faults. Out: `store`'s [`MemDisk`], and delays.
//!
//! Invariants: what fails on one of a machine's directories fails on all, as they are on one device; only rot, the
//! last moments of a process and what is done to the control log alone are a directory's own. The node's own directory may be on
//! another device than its bricks' are.

use crate::clock::{Nanos, SECOND};
use crate::random::Random;
use brickyard_store::{Fault, MemDisk};

pub(crate) struct Disks {
    own: MemDisk,
    bricks: Vec<MemDisk>,
    /// How much longer everything takes.
    slow: u64,
    /// Until when nothing is done.
    stuck_until: Nanos,
    control: ControlDisk,
}

/// What is wrong with the node's own directory alone, where the control log is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ControlDisk {
    Well,
    /// Everything takes so many times as long.
    Slow(u64),
    /// Nothing is done until then.
    Stuck(Nanos),
    /// It has no room.
    Full,
}

/// No write of the control log takes longer, unless the disk is stuck.
const CONTROL_MAX: Nanos = 10 * SECOND;

impl Disks {
    pub(crate) fn new(node: usize, bricks: u32, chance: &mut Random) -> Self {
        let mut disk = |name: String| MemDisk::in_directory(&name, chance.next());
        Self {
            own: disk(format!("node{node}")),
            bricks: (0..bricks)
                .map(|brick| disk(format!("node{node}/brick-{brick}")))
                .collect(),
            slow: 1,
            stuck_until: 0,
            control: ControlDisk::Well,
        }
    }

    /// The node's own directory.
    pub(crate) fn own(&self) -> &MemDisk {
        &self.own
    }

    /// The directories of its bricks' logs.
    pub(crate) fn bricks(&self) -> &[MemDisk] {
        &self.bricks
    }

    fn all(&self) -> impl Iterator<Item = &MemDisk> {
        self.bricks.iter().chain([&self.own])
    }

    /// From now on `fault` happens.
    fn inject(&self, fault: Fault) {
        self.all().for_each(|disk| disk.inject(fault));
    }

    fn lift(&self, fault: Fault) {
        self.all().for_each(|disk| disk.lift(fault));
    }

    /// No more than so many bytes than there are now fit into each directory.
    pub(crate) fn fill(&self, room: u64) {
        self.inject(Fault::Crowded { room });
    }

    pub(crate) fn make_room(&self) {
        self.lift(Fault::Crowded { room: 0 });
    }

    /// From now on syncs fail, or succeed again.
    pub(crate) fn fail_syncs(&self, is_failing: bool) {
        let fault = Fault::SyncFails { after: 0 };
        if is_failing {
            self.inject(fault);
        } else {
            self.lift(fault);
        }
    }

    /// A bit of a brick's log turns over: in which file, and where.
    pub(crate) fn rot(&self, random: &mut Random) -> Option<(String, usize)> {
        let disk = &self.bricks[random.index(self.bricks.len())];
        let mut segments = disk.stored();
        segments.retain(|(name, len)| name.ends_with(".seg") && *len > 0);
        let (name, len) = segments.get(random.index(segments.len()))?;
        let offset = random.index(*len);
        disk.flip(name, offset, 1 << random.below(8));
        Some((name.clone(), offset))
    }

    pub(crate) fn slow_down(&mut self, times: u64) {
        self.slow = times;
    }

    pub(crate) fn hold(&mut self, until: Nanos) {
        self.stuck_until = until;
    }

    pub(crate) fn stuck_until(&self) -> Nanos {
        self.stuck_until
    }

    /// How long something takes that typically takes so long.
    pub(crate) fn delay(&self, now: Nanos, typical: Nanos, chance: &mut Random) -> Nanos {
        self.delay_of(now, typical * self.slow, chance)
    }

    fn delay_of(&self, now: Nanos, typical: Nanos, chance: &mut Random) -> Nanos {
        self.stuck_until.saturating_sub(now) + chance.delay(typical)
    }

    /// From now on that is wrong with the control log's disk, and nothing else.
    pub(crate) fn set_control(&mut self, control: ControlDisk) {
        self.control = control;
        if matches!(control, ControlDisk::Full) {
            self.own.inject(Fault::Crowded { room: 0 });
        } else {
            self.own.lift(Fault::Crowded { room: 0 });
        }
    }

    /// As [`Self::delay`], of the control log.
    pub(crate) fn control_delay(&self, now: Nanos, typical: Nanos, chance: &mut Random) -> Nanos {
        let (times, until) = match self.control {
            ControlDisk::Slow(times) => (times, 0),
            ControlDisk::Stuck(until) => (1, until),
            ControlDisk::Well | ControlDisk::Full => (1, 0),
        };
        let stuck = until.saturating_sub(now);
        // The slower of the two, and not for ever: one write would hold the node up for minutes after the last fault.
        let slow = self.delay_of(now, typical * times.max(self.slow), chance);
        slow.min(CONTROL_MAX).max(stuck)
    }

    /// A process starts.
    pub(crate) fn begin(&self, chance: &mut Random) {
        self.lift(Fault::Dead);
        for disk in self.all() {
            // Memory may have been wanted for something else.
            if chance.one_in(2) {
                disk.drop_page_cache();
            }
        }
    }

    /// The process is killed, in the middle of what it does with a brick's log: the last of it may get anywhere.
    pub(crate) fn die(&self, brick: usize, chance: &mut Random) {
        let fault = match chance.below(5) {
            0 => Fault::Dead,
            calls => Fault::Dies { after: calls - 1 },
        };
        self.bricks[brick].inject(fault);
    }

    /// No process is there any more.
    pub(crate) fn end(&self) {
        self.inject(Fault::Dead);
    }

    pub(crate) fn cut_power(&self) {
        self.all().for_each(MemDisk::power_cut);
    }

    /// Nothing is wrong with them any more.
    pub(crate) fn heal(&mut self) {
        self.make_room();
        self.fail_syncs(false);
        self.slow = 1;
        self.stuck_until = 0;
        self.control = ControlDisk::Well;
    }
}
