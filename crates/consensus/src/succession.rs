//! Who leads instead of a leader whose own disk holds up the agreement.
//!
//! In:  ticks, refusals of the disk, what others have stored. Out: a hand-over to a voter that has stored more than this node; if nothing
//! comes of that, the end of its lead.
//!
//! A leader hears of its own entries, and decides by them, only when they are stored here. So one whose disk stalls leads on, is
//! heard, and nothing comes of anything that it is asked for.
//!
//! Invariant: the lead is given up only where a majority has stored, without this node, what it has not: where nobody is better off
//! (the only voter, or all disks are slow) it tries on.
//!
//! Not here: how long a disk may take (`own_disk`).

use crate::consensus::Consensus;
use crate::output::ConsensusOutput;

/// Ticks that a hand-over may take: it is one message, and one election that nobody else stands in.
const HAND_OVER_TICKS: u64 = 5;

/// Ticks after which it is forgotten that the lead was given up: half a minute, by ticks of 23 ms.
const MEMORY_TICKS: u64 = 1_200;

/// Most times that a leader's patience is doubled.
const DOUBLINGS_MAX: u32 = 3;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Succession {
    /// When this leader began to hand over, and when it asked a voter to stand last.
    began: Option<(u64, u64)>,
    /// How often this node gave the lead up lately, and when last. Where all disks are slow in turn, the lead would wander
    /// for ever: whoever gets it back is more patient.
    given_up: (u32, u64),
}

impl Succession {
    /// How long a leader's disk may owe something.
    pub(crate) fn patience(&self, now: u64, ticks: u32) -> u32 {
        // What is under way has been decided by the patience of before.
        let times = self
            .times(now)
            .saturating_sub(u32::from(self.began.is_some()));
        ticks << times.min(DOUBLINGS_MAX)
    }

    fn times(&self, now: u64) -> u32 {
        let (times, last) = self.given_up;
        if now - last < MEMORY_TICKS { times } else { 0 }
    }

    fn begin(&mut self, now: u64) {
        self.given_up = (self.times(now) + 1, now);
        self.began = Some((now, now));
    }
}

impl Consensus {
    /// For how many ticks the disk may owe something.
    pub(crate) fn disk_patience(&self) -> u32 {
        if self.is_leader() {
            let now = self.own_disk.now();
            self.succession.patience(now, self.config.disk_ticks)
        } else {
            self.config.disk_ticks
        }
    }

    /// Gives the lead up, if this node's disk is bad and others' are not.
    pub(crate) fn maintain_succession(&mut self) {
        if !self.is_leader() || !self.own_disk.is_bad() || !self.is_ahead_without_me() {
            self.succession.began = None;
            return;
        }
        let now = self.own_disk.now();
        match self.succession.began {
            None => {
                self.succession.begin(now);
                let to = self.hand_over();
                self.hand(ConsensusOutput::HandOver { to });
            }
            Some((began, _)) if now - began >= HAND_OVER_TICKS => self.step_down(),
            // It may have been busy with storing that something is committed, and a candidate has to have stored everything.
            Some((began, asked)) if asked < now => {
                self.succession.began = Some((began, now));
                self.raft.raft.abort_leader_transfer();
                self.hand_over();
            }
            Some(_) => {}
        }
    }

    /// Whether a majority has stored what this node has not.
    fn is_ahead_without_me(&self) -> bool {
        let log = &self.raft.raft.raft_log;
        log.committed > log.persisted
    }

    /// Asks a voter to stand that has stored more than this node; which one.
    fn hand_over(&mut self) -> Option<u64> {
        let log = &self.raft.raft.raft_log;
        let (persisted, committed) = (log.persisted, log.committed);
        assert!(
            persisted < committed,
            "the lead is handed over for entries up to {committed}, and {persisted} are stored here"
        );
        let progress = self.raft.raft.prs();
        let voters = progress.iter().filter(|(id, it)| {
            let is_voter = progress.conf().voters().contains(**id);
            is_voter && **id != self.config.id && it.matched > persisted
        });
        // Of those that have most, one that was heard since the leader last counted.
        let best = voters.max_by_key(|(id, it)| (it.recent_active, it.matched, **id));
        let to = best.map(|(id, _)| *id);
        if let Some(to) = to {
            self.raft.transfer_leader(to);
        }
        to
    }

    /// Leads no more: whoever hears no leader stands, and this node does not before the others.
    fn step_down(&mut self) {
        assert_ne!(
            self.voters(),
            [self.config.id],
            "the only voter leads, whatever its disk does"
        );
        self.succession.began = None;
        let term = self.term();
        self.raft.raft.become_follower(term, raft::INVALID_ID);
    }
}

#[cfg(test)]
#[path = "succession_test.rs"]
mod succession_test;
