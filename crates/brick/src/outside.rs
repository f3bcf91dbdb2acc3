//! The world outside of the brick, as work that is no request sees it: the time, what the driver is to do, what is counted.
//!
//! In:  reads, checkpoints, questions to the control plane. Out: [`Effect`]s, in their order.

use crate::effect::{ControlRequest, Effect};
use crate::log::Log;
use crate::stats::Stats;
use brickyard_types::{Instant, SegmentId};
use std::collections::VecDeque;

/// See the module.
pub(crate) struct Outside<'a> {
    pub(crate) effects: &'a mut VecDeque<Effect>,
    pub(crate) stats: &'a Stats,
    pub(crate) now: Instant,
}

impl Outside<'_> {
    /// Has a chunk of the log read, of about so many bytes.
    pub(crate) fn read_log(&mut self, (segment, from): (SegmentId, u32), bytes_max: u32) {
        assert!(bytes_max > 0, "a chunk of no bytes");
        self.effects.push_back(Effect::ReadSegment {
            segment,
            from,
            bytes_max,
        });
    }

    /// Tells the control plane something to which it gives no answer.
    pub(crate) fn tell_control(&mut self, request: ControlRequest) {
        self.effects.push_back(Effect::Control(0, request));
    }

    /// The batch that is being built goes to the log at once: what comes next is about the log as it is then.
    pub(crate) fn hand_over_building(&mut self, log: &mut Log) {
        let building = log.building_id();
        if let Some(append) = log.take_batch(self.now) {
            self.stats.log.batches.add(1);
            self.stats.log.bytes.add(append.bytes.len() as u64);
            self.effects.push_back(Effect::Append(append));
            assert!(
                log.building_id() > building,
                "{building:?} is handed over and open"
            );
        }
    }
}
