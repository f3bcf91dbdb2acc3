//! Whether this brick's own log takes what it is given, by this brick's own judgement.
//!
//! In:  refusals of the log, and at each tick how far it is. Out: whether the log is *stuck*, so that what the brick were sent
//!      would wait for its disk; and whether the brick may learn.
//!
//! A brick whose log is stuck says so: it refuses what primaries send it, and hands over what it leads where others can take
//! that (`suspicion`). As a member it goes on as soon as its log does, since writes may wait for it. What it has fallen out of
//! it learns again after a pause, which doubles with each time and is forgotten after a minute without one: a disk that works
//! now and then does not have it come and go.

use crate::pace::Pace;
use crate::{LogMark, ReplicatorConfig};
use brickyard_types::Instant;
use std::time::Duration;

/// How long after a refusal the log counts as stuck: as long as the brick refuses writes unseen.
const REFUSES: Duration = Duration::from_millis(250);

/// How long a brick does not learn, the first time.
const PAUSE_MIN: Duration = Duration::from_secs(1);
/// And at most.
const PAUSE_MAX: Duration = Duration::from_secs(15);
/// After so long without a stuck log the pause is the first one again.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Fitness {
    appended: Pace,
    synced: Pace,
    /// The newest batch that somebody waits to be synced for.
    pub(crate) sync_wanted: LogMark,
    /// The newest batch that was refused: nobody waits for it.
    refused: LogMark,
    stuck: Option<Stuck>,
    /// It learns nothing before.
    learns_at: Instant,
    pause: Duration,
}

/// The log is stuck.
#[derive(Clone, Copy, Debug)]
struct Stuck {
    since: Instant,
    /// At least until then.
    until: Instant,
    /// It refused something: that is so whatever the disks of others do.
    refuses: bool,
}

/// How far the own log is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) ordered: LogMark,
    pub(crate) appended: LogMark,
    pub(crate) synced: LogMark,
}

impl Fitness {
    /// Whether what it were given would wait.
    pub(crate) const fn is_stuck(&self) -> bool {
        self.stuck.is_some()
    }

    /// Whether it refuses what it is given.
    pub(crate) fn refuses(&self) -> bool {
        self.stuck.is_some_and(|it| it.refuses)
    }

    /// For how long it has been stuck.
    pub(crate) fn stuck_for(&self, now: Instant) -> Duration {
        self.stuck.map_or(Duration::ZERO, |it| now - it.since)
    }

    /// Whether the brick may catch up with others.
    pub(crate) fn may_learn(&self, now: Instant) -> bool {
        !self.is_stuck() && now >= self.learns_at
    }

    /// Whether nothing is known against the own log, and nothing has waited for long.
    pub(crate) fn is_well(&self, patience: Duration) -> bool {
        let waited = self.appended.waited().max(self.synced.waited());
        !self.is_stuck() && !self.is_slow() && waited < patience
    }

    /// Whether it takes long as a rule.
    pub(crate) const fn is_slow(&self) -> bool {
        self.appended.is_slow() || self.synced.is_slow()
    }

    /// The log refused this batch.
    pub(crate) fn on_refused(&mut self, now: Instant, batch: LogMark) {
        self.refused = self.refused.max(batch);
        self.appended.give_up();
        self.synced.give_up();
        self.declare(now, true);
    }

    /// A tick: whether the log has come to be stuck since the one before.
    pub(crate) fn look(
        &mut self,
        now: Instant,
        passed: Duration,
        log: Progress,
        config: &ReplicatorConfig,
    ) -> bool {
        let was_stuck = self.is_stuck();
        let answered = log.appended.max(self.refused);
        self.appended.look(passed, log.ordered.0, answered.0);
        let wanted = self.sync_wanted.min(log.appended);
        self.synced.look(passed, wanted.0, log.synced.0);
        // Sooner than others suspect it: they need not wait for anything then.
        let (least, most) = (config.suspect_after * 3 / 4, config.eviction_timeout);
        let is_still = |pace: &Pace| pace.waited() >= pace.patience(least, most);
        let stands_still = is_still(&self.appended) || is_still(&self.synced);
        if stands_still && config.suspects_early() {
            self.declare(now, false);
        } else if self.stuck.is_some_and(|it| now >= it.until) {
            self.stuck = None;
        }
        self.is_stuck() && !was_stuck
    }

    fn declare(&mut self, now: Instant, refuses: bool) {
        // What it is refused before it learns again is of the same time.
        if self.stuck.is_none() && now >= self.learns_at {
            let is_again = self.pause > Duration::ZERO && now < self.learns_at + FORGOTTEN;
            let pause = if is_again { self.pause * 2 } else { PAUSE_MIN };
            self.pause = pause.min(PAUSE_MAX);
        }
        let before = self.stuck;
        self.stuck = Some(Stuck {
            since: before.map_or(now, |it| it.since),
            until: now + REFUSES,
            refuses: refuses || before.is_some_and(|it| it.refuses),
        });
        self.learns_at = now + self.pause;
    }
}

#[cfg(test)]
#[path = "fitness_test.rs"]
mod fitness_test;
