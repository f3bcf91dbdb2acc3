//! How much one partition is asked for: measured by counting.
//!
//! In:  commands, one count each; ops, which count writes by themselves. Out: rates.
//!
//! Invariants:
//! - On a request's path one number is added to; no clock is read.
//! - Rates decay: half of what was a few seconds ago.
//!
//! Not here: what the brick makes of it (`cpu_load`).

use brickyard_types::Op;
use std::time::Duration;

/// Every so many commands the slot is looked at: a prime, so that no pipeline is in step with it.
const SAMPLED_EVERY: u64 = 13;

/// Fewer samples in a second say nothing.
const SAMPLES_MIN: u32 = 8;

/// Rates are kept in so many parts of one a second.
const PARTS: u64 = 16;

/// What is counted of one partition, and what that came to.
#[derive(Debug, Clone, Default)]
pub(crate) struct LoadMeter {
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

impl LoadMeter {
    /// A command ran on a key of that slot.
    #[inline]
    pub(crate) fn note(&mut self, slot: u16) {
        self.asked += 1;
        if self.asked.is_multiple_of(SAMPLED_EVERY) {
            self.vote.cast(slot);
        }
    }

    /// Takes rates, `elapsed` after they were taken last.
    pub(crate) fn look(&mut self, op: Op, elapsed: Duration) {
        let Some((asked, former)) = self.seen.replace((self.asked, op)) else {
            return;
        };
        assert!(
            self.asked >= asked,
            "{asked} commands have run, and now {}",
            self.asked
        );
        decay(&mut self.asks, self.asked - asked, elapsed);
        // A cut takes ops back.
        decay(&mut self.writes, op.0.saturating_sub(former.0), elapsed);
        if self.vote.samples >= SAMPLES_MIN {
            self.is_narrow = self.vote.has_majority();
            self.vote = Vote::default();
        }
    }

    /// Commands that ran here, as a rate; only to be compared with others.
    pub(crate) fn asks(&self) -> u64 {
        self.asks
    }

    /// Writes, wherever they were asked for, as a rate like that.
    pub(crate) fn writes(&self) -> u64 {
        self.writes
    }

    /// Whether most of it is of one slot.
    pub(crate) fn is_narrow(&self) -> bool {
        self.is_narrow
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
        assert!(
            self.lead <= self.samples,
            "{} of {} samples lead",
            self.lead,
            self.samples
        );
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

#[cfg(test)]
#[path = "load_meter_test.rs"]
mod load_meter_test;
