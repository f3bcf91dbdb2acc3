//! What goes wrong, and how often at the moment: that changes all the time (swarm testing, Groce et al., 2012).

use super::{NODES, Schedule};
use brickyard_metadata::{Alteration, Change, Recovery};
use brickyard_types::Durability;
use std::sync::Arc;
use std::time::Duration;

/// Once in how many steps what happens.
#[derive(Clone, Copy)]
pub(super) struct Mood {
    left: u64,
    elect: u64,
    restart: u64,
    pub(super) ask: u64,
    hang: u64,
    freeze: u64,
    alter: u64,
    force: u64,
    /// A message in so many is very late.
    pub(super) late: u64,
}

/// So many steps are of one mind.
const MOOD_STEPS: u64 = 60;

/// What the numbers of a mood are drawn from, and what does not change.
pub(in super::super) struct Moods {
    elect: [u64; 4],
    restart: [u64; 4],
    ask: [u64; 4],
    hang: [u64; 4],
    freeze: [u64; 4],
    alter: [u64; 4],
    force: [u64; 4],
    late: [u64; 4],
    /// Of those that restart one in so many runs on beside its successor.
    pub(super) clone: u64,
}

/// Everything goes wrong now and then.
pub(in super::super) const ANYTHING: Moods = Moods {
    elect: [20, 200, 200, 1_000],
    restart: [20, 200, 200, 1_000],
    ask: [5, 20, 20, 100],
    hang: [50, 200, 1_000, 1_000],
    freeze: [50, 400, 1_000, 1_000],
    alter: [30, 400, 1_000, 1_000],
    force: [20, 400, 1_000, 1_000],
    late: [3, 20, 20, 1_000],
    clone: 3,
};

/// Leaders and processes that do not last: who grants leases knows of earlier ones what the voters know, and of these
/// most have just started (PROTOCOL rule 22).
pub(in super::super) const BRIEF: Moods = Moods {
    elect: [5, 10, 20, 40],
    restart: [5, 10, 20, 40],
    hang: [1_000; 4],
    freeze: [1_000; 4],
    alter: [1_000; 4],
    force: [1_000; 4],
    late: [1_000; 4],
    clone: 2,
    ..ANYTHING
};

impl Mood {
    pub(super) const USUAL: Self = Self {
        left: 0,
        elect: 200,
        restart: 200,
        ask: 20,
        hang: 200,
        freeze: 400,
        alter: 400,
        force: 400,
        late: 20,
    };
}

impl Schedule {
    fn change_mood(&mut self) {
        let mut any = |of: [u64; 4]| of[self.chance.next(4) as usize];
        let moods = self.moods;
        self.mood = Mood {
            left: MOOD_STEPS,
            elect: any(moods.elect),
            restart: any(moods.restart),
            ask: any(moods.ask),
            hang: any(moods.hang),
            freeze: any(moods.freeze),
            alter: any(moods.alter),
            force: any(moods.force),
            late: any(moods.late),
        };
    }

    /// Something goes wrong, now and then.
    pub(super) fn strike(&mut self) {
        if self.mood.left == 0 {
            self.change_mood();
        }
        self.mood.left -= 1;
        let mood = self.mood;
        if self.chance.one_in(mood.elect) {
            self.elect();
        }
        if self.chance.one_in(mood.restart) {
            self.restart();
        }
        if self.chance.one_in(mood.freeze) {
            self.freeze();
        }
        if self.chance.one_in(mood.alter) {
            self.alter();
        }
        if self.chance.one_in(mood.force) {
            self.force();
        }
        if self.chance.one_in(mood.hang) {
            let at = self.chance.next(self.processes.len() as u64) as usize;
            self.processes[at].is_hung ^= true;
        }
    }

    /// An operator has the table promise more, or less.
    fn alter(&mut self) {
        let durability = match self.catalog().table("t").unwrap().attributes.durability {
            Durability::Fsync => Durability::Log,
            _ => Durability::Fsync,
        };
        self.apply(Change::AlterTable {
            name: "t".to_owned(),
            alteration: Alteration {
                durability: Some(durability),
                ..Alteration::default()
            },
        });
        self.tell_leader();
    }

    /// An operator goes on from what is left, where everybody in sync is gone.
    pub(super) fn force(&mut self) {
        let catalog = Arc::clone(self.catalog());
        let table = catalog.table("t").unwrap();
        let lost = table.partitions().filter(|(_, group)| {
            let mut in_sync = group.in_sync();
            !in_sync.any(|it| catalog.is_current(it))
        });
        let partitions: Vec<_> = lost.map(|(partition, _)| partition).collect();
        let Some(mut leader) = self.leaders.pop() else {
            return;
        };
        if !partitions.is_empty() && !self.is_frozen(leader.node) {
            let recovery = Change::Recover(Recovery {
                table: "t".to_owned(),
                partitions,
                is_confirmed: true,
            });
            let now = self.clock(leader.node);
            if let Ok(change) = leader.controller.admit(now, recovery) {
                leader.proposals.push((None, change));
            }
        }
        self.leaders.push(leader);
    }

    /// A machine stands still for a while, and does not know.
    fn freeze(&mut self) {
        let node = self.chance.next(NODES as u64) as usize;
        let length = Duration::from_millis(200 + self.chance.next(3_000));
        if !self.is_frozen(node) {
            self.frozen[node] = Some((self.now, self.now + length));
        }
    }

    pub(super) fn thaw(&mut self) {
        for node in 0..NODES {
            if let Some((since, until)) = self.frozen[node]
                && until <= self.now
            {
                self.frozen[node] = None;
                self.uncounted[node] += self.now - since;
            }
        }
    }
}
