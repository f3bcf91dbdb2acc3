//! How well this node's own disk keeps up with what the agreement wants stored.
//!
//! In:  ticks, with how long the oldest order is owed; refusals; that everything is stored. Out: whether the disk is bad now, whether it
//! was lately, and for how long this node leaves an election to others for that.
//!
//! A disk that stalls keeps a follower from answering and a leader from going on, and nobody but the node itself can tell it from a
//! disk that has nothing to do.
//!
//! Not here: what is owed (`pending_acks`), what a leader does about it (`succession`).

/// A disk is distrusted for so many ticks after it was bad last: five seconds, by ticks of 23 ms. One that stalls does so again.
const DISTRUST_TICKS: u64 = 200;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct OwnDisk {
    now: u64,
    /// The disk takes nothing, it says, and something is owed.
    is_refusing: bool,
    /// What is owed longest has been for too long.
    is_stalled: bool,
    /// The last tick at which it was bad.
    bad_at: Option<u64>,
    /// For how many ticks this node could have stood, and did not.
    held_back: u32,
}

impl OwnDisk {
    /// Ticks so far: what is handed out to be stored is dated by them.
    pub(crate) const fn now(&self) -> u64 {
        self.now
    }

    /// Time went on. `owed_since`: when the oldest thing that is not stored was handed out.
    pub(crate) fn tick(&mut self, owed_since: Option<u64>, patience: u32) {
        self.now += 1;
        if let Some(since) = owed_since {
            assert!(
                since <= self.now,
                "something is owed since tick {since}, and this is tick {}",
                self.now
            );
        }
        self.is_stalled = owed_since.is_some_and(|since| self.now - since >= u64::from(patience));
        self.note();
    }

    /// The disk took nothing; it is tried again.
    pub(crate) fn refuse(&mut self) {
        self.is_refusing = true;
        self.note();
    }

    /// The disk took something. What is still owed was handed out at `owed_since`.
    pub(crate) fn take(&mut self, owed_since: Option<u64>, patience: u32) {
        self.is_refusing = false;
        let now = self.now;
        assert!(
            owed_since.is_none_or(|since| since <= now),
            "something is owed since tick {owed_since:?}, and this is tick {now}"
        );
        self.is_stalled &= owed_since.is_some_and(|since| now - since >= u64::from(patience));
    }

    fn note(&mut self) {
        if self.is_bad() {
            self.bad_at = Some(self.now);
        }
    }

    /// Whether it takes nothing, or nothing has come of the oldest order for too long.
    pub(crate) const fn is_bad(&self) -> bool {
        self.is_refusing || self.is_stalled
    }

    /// Whether it is bad, or was lately.
    pub(crate) fn is_distrusted(&self) -> bool {
        self.bad_at.is_some_and(|at| self.now - at < DISTRUST_TICKS)
    }

    /// It is time for this node to stand: whether it leaves that to others, for so many ticks at most.
    pub(crate) fn holds_back(&mut self, ticks: u32) -> bool {
        if self.is_distrusted() && self.held_back < ticks {
            self.held_back += 1;
            assert!(
                self.held_back <= ticks,
                "held back for {} ticks of {ticks}",
                self.held_back
            );
            return true;
        }
        false
    }

    /// It is not time for that, or it has stood.
    pub(crate) const fn on_no_election(&mut self) {
        self.held_back = 0;
    }
}

#[cfg(test)]
#[path = "own_disk_test.rs"]
mod own_disk_test;
