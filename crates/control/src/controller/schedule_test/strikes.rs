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
        self.mood = Mood {
            left: MOOD_STEPS,
            elect: any([20, 200, 200, 1_000]),
            restart: any([20, 200, 200, 1_000]),
            ask: any([5, 20, 20, 100]),
            hang: any([50, 200, 1_000, 1_000]),
            freeze: any([50, 400, 1_000, 1_000]),
            alter: any([30, 400, 1_000, 1_000]),
            force: any([20, 400, 1_000, 1_000]),
            late: any([3, 20, 20, 1_000]),
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
