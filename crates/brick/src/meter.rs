//! What commands cost: calls and time of each, and the slow ones.
//!
//! In:  which commands a run executed, the one of them that may take long, how long the run took. Out: counts,
//!      latency histograms, the slow log.
//!
//! A run is measured, not a command: reading the clock costs more than a GET. Each of its commands counts as the mean.

use crate::settings::Settings;
use crate::slowlog::{SlowCommand, Slowlog};
use crate::stats::Stats;
use brickyard_command::CommandId;
use std::time::Duration;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// What the last run executed: (command, how often).
    ran: Vec<(CommandId, u32)>,
    /// A command of it that goes into the slow log if the run was slow.
    slow: Option<SlowCommand>,
    slowlog: Slowlog,
}

impl Meter {
    /// The run executes a command.
    #[inline]
    pub(crate) fn note(&mut self, command: CommandId) {
        match self.ran.last_mut() {
            Some((last, count)) if *last == command => *count += 1,
            _ => self.ran.push((command, 1)),
        }
    }

    /// The run executes a command that may take long.
    pub(crate) fn note_slow(&mut self, command: SlowCommand) {
        assert_eq!(command.microseconds, 0, "its time is not known yet");
        self.slow = Some(command);
    }

    /// The run took `duration`.
    pub(crate) fn on_ran(&mut self, duration: Duration, stats: &Stats, settings: &Settings) {
        let count: u32 = self.ran.iter().map(|(_, count)| count).sum();
        if count == 0 {
            return;
        }
        let each = (duration.as_nanos() / u128::from(count)) as u64;
        let bucket = each
            .div_ceil(1000)
            .max(1)
            .next_power_of_two()
            .trailing_zeros() as usize;
        for (command, count) in self.ran.drain(..) {
            assert!(count > 0, "{command:?} ran no time");
            let count = u64::from(count);
            stats.commands.add(count);
            if let Some(command) = stats.commands_by_id.get(command as usize) {
                command.calls.add(count);
                command.nanoseconds.add(each * count);
                let bucket = bucket.min(command.latency.len() - 1);
                command.latency[bucket].add(count);
            }
        }
        if let Some(slow) = self.slow.take() {
            self.note_took(slow, each / 1000, settings);
        }
    }

    /// The command took so many microseconds.
    pub(crate) fn note_took(&mut self, mut slow: SlowCommand, took: u64, settings: &Settings) {
        if settings.is_slow(took) {
            slow.microseconds = took;
            let len_max = Settings::load(&settings.slowlog_max_len);
            self.slowlog.push(slow, len_max);
        }
    }

    pub(crate) fn slowlog(&mut self) -> &mut Slowlog {
        &mut self.slowlog
    }
}
