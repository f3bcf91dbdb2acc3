//! How long what is waited for takes, as ticks see it: a vote of a peer, an append of the own log.
//!
//! In:  at each tick how much was given and how much came back. Out: how long the wait at hand lasts, how long one may last,
//!      whether waits are long as a rule.
//!
//! One thing is watched at a time: the newest that was given when the one before came back. So nothing is noted for each
//! record, and what is oldest is never more than two ticks older than what is watched. What comes back before the next tick
//! took no time; so did all that came and went between two ticks.
//!
//! Invariants:
//! - Time counts as far as ticks come: a loop that stood still, or got no time, does not blame others for that
//!   ([`TICK_MAX`]).
//! - Patience grows with waits that ended, and not with one that was found to be too long: a second fault is found as soon as
//!   the first.
//! - What is slow and has nothing to do is not slow for ever ([`FORGOTTEN`]): nothing else would ever show that it is well.

use std::time::Duration;

/// No tick counts for more than this. They come every 100 ms, or late.
pub(crate) const TICK_MAX: Duration = Duration::from_millis(200);

/// How many times as long as the longest of late a wait may last.
const PATIENCE: u32 = 3;

/// The longest of late fades by one in so many at each tick: in eighteen seconds by half. A failure that has ended does not make
/// for long that the next one is found late.
const FADES: u32 = 256;

/// Waits of this length are slow as a rule, if so many of them in a row keep the average above it.
const SLOW: Duration = Duration::from_millis(100);
const SLOW_COUNT: u32 = 8;

/// That waits are slow is forgotten after so long without one.
const FORGOTTEN: Duration = Duration::from_secs(10);

/// The average moves towards a new one by one in so many.
const AVERAGE_OF: u32 = 4;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pace {
    /// What is watched, and for how long.
    awaited: Option<(u64, Duration)>,
    /// What had come back by the last tick.
    reached: u64,
    longest: Duration,
    average: Duration,
    /// How many waits in a row ended with an average above [`SLOW`].
    slow_count: u32,
    /// For how long nothing has been waited for.
    idle: Duration,
}

impl Pace {
    /// A tick: so much time has passed, and of what was given up to `given` everything up to `reached` came back.
    pub(crate) fn look(&mut self, passed: Duration, given: u64, reached: u64) {
        self.longest -= self.longest / FADES;
        match &mut self.awaited {
            Some((target, waited)) if reached >= *target => {
                let waited = *waited;
                self.learn(waited);
            }
            Some((_, waited)) => {
                *waited += passed.min(TICK_MAX);
                return;
            }
            None if self.reached < reached && reached == given => self.learn(Duration::ZERO),
            None => self.rest(passed),
        }
        self.reached = reached;
        self.awaited = (given > reached).then_some((given, Duration::ZERO));
    }

    fn rest(&mut self, passed: Duration) {
        self.idle += passed.min(TICK_MAX);
        if self.idle >= FORGOTTEN {
            (self.average, self.slow_count) = (Duration::ZERO, 0);
        }
    }

    fn learn(&mut self, waited: Duration) {
        self.idle = Duration::ZERO;
        self.longest = self.longest.max(waited);
        self.average = self.average - self.average / AVERAGE_OF + waited / AVERAGE_OF;
        self.slow_count = if self.average >= SLOW {
            self.slow_count.saturating_add(1)
        } else {
            0
        };
    }

    /// What is watched will not come back, or its wait says nothing of those to come.
    pub(crate) fn give_up(&mut self) {
        self.awaited = None;
    }

    /// For how long the one at hand has been waited for.
    pub(crate) fn waited(&self) -> Duration {
        self.awaited.map_or(Duration::ZERO, |(_, waited)| waited)
    }

    /// How long a wait may last: `least`, or more where waits were long of late, and never more than `most`.
    pub(crate) fn patience(&self, least: Duration, most: Duration) -> Duration {
        (self.longest * PATIENCE).max(least).min(most)
    }

    /// Whether waits take long as a rule.
    pub(crate) const fn is_slow(&self) -> bool {
        self.slow_count >= SLOW_COUNT
    }
}

#[cfg(test)]
#[path = "pace_test.rs"]
mod pace_test;
