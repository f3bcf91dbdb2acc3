//! Situations that schedules of everything hardly ever come to. Each makes a few things likely, and leaves to chance what
//! becomes of them; who judges does not know which one it is.

use super::asks::{Form, Verb};
use super::mood::Range;
use super::strikes::Strike;
use crate::random::Random;
use brickyard_types::{Durability, Medium, TableAttributes};

/// See the module.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    /// What tables may promise, and how many replicas they may have.
    durability: &'static [Durability],
    replicas: &'static [u8],
    /// One table in so many keeps its values in the log alone.
    disk_one_in: u64,
    pub(super) nodes: &'static [usize],
    /// Of each table.
    pub(super) objects: usize,
    /// In one segment in so many nothing seems to be dead.
    pub(super) full: [usize; 4],
    /// A node's syncs take about so many turns.
    pub(super) syncs: [u64; 4],
    /// What goes wrong more often than the rest.
    strikes: &'static [(Strike, usize)],
    /// How often the rest does.
    others: usize,
    /// A partition is to be split once in so many steps, if there are fewer than so many.
    pub(super) splits: usize,
    pub(super) partitions_max: usize,
    /// Two are to be merged once in so many steps; `None`: never.
    pub(super) merges: Option<usize>,
    /// One after the other so many nodes fall, and no more before one is back.
    pub(super) down_max: usize,
    pub(super) moods: Range,
    /// One client in so many does nothing but read.
    pub(super) readers_one_in: usize,
    pub(super) forms: &'static [(Form, usize)],
    pub(super) verbs: &'static [(Verb, usize)],
    /// A request with an id is sent again once in so many steps.
    pub(super) again: usize,
}

const LOGGED: &[Durability] = &[Durability::Log, Durability::Fsync];
const ANY: &[Durability] = &[Durability::Memory, Durability::Log, Durability::Fsync];
const NEVER: u64 = u64::MAX;

/// What scenarios have in common, where they do not say otherwise.
const USUAL: Scenario = Scenario {
    name: "usual",
    durability: LOGGED,
    replicas: &[3],
    disk_one_in: 4,
    nodes: &[3],
    objects: 3,
    full: [2, 6, usize::MAX, usize::MAX],
    syncs: [2, 3, 6, 12],
    strikes: &[],
    others: 0,
    splits: 40,
    partitions_max: usize::MAX,
    merges: None,
    down_max: 9,
    moods: Range {
        strikes: [5, 12, 12, 30],
        asks: [1, 1, 2, 3],
        reads: [100; 4],
        rolls: [100, 1000, 1000, 1000],
        lags: [1, 1, 6, 12],
    },
    readers_one_in: 1000,
    forms: &[(Form::One, 1)],
    verbs: &[(Verb::Set, 4), (Verb::Incr, 4), (Verb::Del, 1)],
    again: 6,
};

impl Scenario {
    /// How likely a strike is beside others.
    pub(super) fn favour(&self, strike: Strike) -> usize {
        let found = self.strikes.iter().find(|it| it.0 == strike);
        found.map_or(self.others, |it| it.1)
    }

    pub(super) fn attributes(&self, random: &mut Random) -> TableAttributes {
        let mut pick = |n: usize| (random.next() % n as u64) as usize;
        let durability = self.durability[pick(self.durability.len())];
        let replicas = self.replicas[pick(self.replicas.len())];
        let is_disk =
            random.next().is_multiple_of(self.disk_one_in) && durability != Durability::Memory;
        TableAttributes {
            medium: if is_disk { Medium::Disk } else { Medium::Ram },
            maxmemory: is_disk.then_some(64),
            durability,
            replicas,
            ..TableAttributes::default()
        }
    }
}

/// Reads at backups while views change: of keys that are being written, of several keys, of values that the disk is
/// slow to give (PROTOCOL rules 5, 22, 24, 26, 33).
pub(super) const READS: Scenario = Scenario {
    name: "reads",
    disk_one_in: 2,
    strikes: &[
        (Strike::Kill, 2),
        (Strike::PowerCut, 8),
        (Strike::Restart, 4),
        (Strike::Hermit, 12),
        (Strike::FindControl, 4),
        (Strike::HandOver, 4),
        (Strike::BreakLinks, 2),
        (Strike::PauseInTurn, 4),
        (Strike::Pause, 2),
        (Strike::LateMaps, 2),
        (Strike::Mute, 4),
        (Strike::Mend, 4),
    ],
    moods: Range {
        reads: [2, 4, 4, 100],
        ..USUAL.moods
    },
    readers_one_in: 2,
    forms: &[(Form::One, 4), (Form::Pair, 2), (Form::Transaction, 1)],
    verbs: &[(Verb::Get, 1), (Verb::Set, 4), (Verb::Incr, 4)],
    ..USUAL
};

/// Deletions and cleaning while a replica is away for long (PROTOCOL rules 14, 15).
pub(super) const CLEANING: Scenario = Scenario {
    name: "cleaning",
    objects: 12,
    full: [usize::MAX; 4],
    strikes: &[
        (Strike::Kill, 8),
        (Strike::PowerCut, 4),
        (Strike::Restart, 1),
        (Strike::HandOver, 2),
        (Strike::DiskTrouble, 2),
        (Strike::MendDisks, 2),
    ],
    down_max: 1,
    moods: Range {
        asks: [1, 2, 20, 60],
        rolls: [4, 10, 20, 40],
        lags: [1, 1, 1, 6],
        ..USUAL.moods
    },
    forms: &[(Form::One, 8), (Form::Brief, 1), (Form::Transaction, 1)],
    verbs: &[
        (Verb::Set, 8),
        (Verb::Del, 6),
        (Verb::Getdel, 4),
        (Verb::Incr, 2),
    ],
    ..USUAL
};

/// Cleaning while processes die and power fails (PROTOCOL rules 13, 14, 27).
pub(super) const POWER: Scenario = Scenario {
    name: "power",
    full: [2, 2, 3, 6],
    strikes: &[
        (Strike::Kill, 4),
        (Strike::PowerCut, 12),
        (Strike::KillAll, 8),
        (Strike::Restart, 8),
        (Strike::DiskTrouble, 4),
        (Strike::MendDisks, 4),
        (Strike::DemoteToLearner, 2),
        (Strike::HandOver, 2),
    ],
    down_max: 9,
    ..CLEANING
};

/// Segments go while what was moved out of them is hardly ever synced, and power fails.
pub(super) const SYNCS: Scenario = Scenario {
    name: "syncs",
    durability: &[Durability::Log],
    syncs: [12, 24, 40, 60],
    strikes: &[
        (Strike::PowerCut, 16),
        (Strike::Restart, 8),
        (Strike::HandOver, 2),
    ],
    down_max: 1,
    ..CLEANING
};

/// Replicas that learn what is being written, and are slow to log it (PROTOCOL rules 12, 14, 15).
pub(super) const LEARNING: Scenario = Scenario {
    name: "learning",
    objects: 12,
    strikes: &[
        (Strike::Kill, 8),
        (Strike::Restart, 8),
        (Strike::DiskTrouble, 12),
        (Strike::MendDisks, 4),
        (Strike::DemoteToLearner, 12),
        (Strike::BreakLink, 4),
    ],
    moods: Range {
        strikes: [5, 5, 12, 12],
        asks: [1, 1, 1, 2],
        lags: [1, 6, 6, 12],
        ..USUAL.moods
    },
    verbs: &[(Verb::Set, 4), (Verb::Del, 4), (Verb::Getdel, 4)],
    ..USUAL
};

/// Writes that are cut, and requests that are sent again to one primary after the other (PROTOCOL rules 9, 19, 28).
pub(super) const RETRIES: Scenario = Scenario {
    name: "retries",
    durability: ANY,
    nodes: &[3, 4],
    strikes: &[
        (Strike::Kill, 4),
        (Strike::KillAll, 8),
        (Strike::Restart, 4),
        (Strike::Mute, 16),
        (Strike::Mend, 4),
        (Strike::HandOver, 16),
        (Strike::LoseControl, 4),
        (Strike::FindControl, 4),
    ],
    others: 1,
    moods: Range {
        strikes: [2, 5, 5, 12],
        asks: [1, 1, 20, 60],
        reads: [10, 100, 100, 100],
        rolls: [10, 20, 40, 100],
        ..USUAL.moods
    },
    readers_one_in: 8,
    forms: &[(Form::Named, 6), (Form::One, 2), (Form::Pair, 1)],
    verbs: &[
        (Verb::Incr, 6),
        (Verb::Append, 2),
        (Verb::Set, 6),
        (Verb::Setnx, 1),
    ],
    again: 12,
    ..USUAL
};

/// Writes of few keys that are cut, so that their numbers are used again, and what becomes of both in logs that are
/// cleaned and copied (PROTOCOL rules 14, 28).
pub(super) const CUTS: Scenario = Scenario {
    name: "cuts",
    disk_one_in: 2,
    replicas: &[2, 3],
    nodes: &[3, 4],
    objects: 1,
    full: [usize::MAX; 4],
    strikes: &[
        (Strike::Kill, 6),
        (Strike::Restart, 8),
        (Strike::Mute, 16),
        (Strike::Mend, 8),
        (Strike::HandOver, 16),
        (Strike::DemoteOrRoll, 4),
    ],
    down_max: 1,
    moods: Range {
        strikes: [5, 5, 12, 12],
        asks: [1, 3, 30, 200],
        rolls: [10, 20, 40, 40],
        ..USUAL.moods
    },
    forms: &[(Form::One, 4), (Form::Pair, 4)],
    verbs: &[(Verb::Set, 8), (Verb::Incr, 1)],
    again: 12,
    ..USUAL
};

/// Learners that are promoted, dropped and listed again while streams break and requests come late (PROTOCOL rule 4).
pub(super) const PROMOTIONS: Scenario = Scenario {
    name: "promotions",
    durability: ANY,
    replicas: &[2, 3],
    disk_one_in: NEVER,
    nodes: &[3, 4],
    strikes: &[
        (Strike::KillAll, 0),
        (Strike::DemoteToLearner, 12),
        (Strike::DropLearner, 16),
        (Strike::LateWishes, 12),
        (Strike::BreakLink, 8),
        (Strike::BreakLinks, 4),
        (Strike::LateMaps, 4),
    ],
    others: 1,
    moods: Range {
        strikes: [2, 5, 5, 12],
        reads: [10, 100, 100, 100],
        rolls: [1000; 4],
        ..USUAL.moods
    },
    readers_one_in: 8,
    forms: &[(Form::One, 4), (Form::Pair, 1)],
    ..USUAL
};

/// Partitions that are split all the time, while members change and primaries' words come late (PROTOCOL rule 31).
pub(super) const PARTING: Scenario = Scenario {
    name: "parting",
    durability: ANY,
    replicas: &[2, 3],
    nodes: &[3, 4],
    objects: 12,
    strikes: &[
        (Strike::Kill, 8),
        (Strike::KillAll, 2),
        (Strike::Restart, 8),
        (Strike::LateWishes, 12),
        (Strike::LateMaps, 8),
        (Strike::DemoteToLearner, 4),
        (Strike::DemoteOrRoll, 4),
        (Strike::HandOver, 4),
        (Strike::LoseControl, 8),
        (Strike::FindControl, 8),
        (Strike::Mute, 6),
        (Strike::Mend, 4),
    ],
    splits: 6,
    moods: Range {
        strikes: [5, 12, 12, 30],
        rolls: [10, 40, 100, 1000],
        ..USUAL.moods
    },
    forms: &[(Form::Named, 4), (Form::One, 4), (Form::Transaction, 1)],
    verbs: &[
        (Verb::Incr, 4),
        (Verb::Append, 2),
        (Verb::Set, 4),
        (Verb::Del, 1),
    ],
    again: 3,
    ..USUAL
};

/// Partitions that are split and merged, while nodes come and go (PROTOCOL rule 31).
pub(super) const JOINING: Scenario = Scenario {
    name: "joining",
    durability: ANY,
    objects: 8,
    full: [usize::MAX; 4],
    strikes: &[
        (Strike::Kill, 2),
        (Strike::PowerCut, 1),
        (Strike::Restart, 6),
        (Strike::LoseControl, 8),
        (Strike::FindControl, 8),
        (Strike::HandOver, 2),
    ],
    splits: 15,
    partitions_max: 12,
    merges: Some(25),
    down_max: 1,
    moods: Range {
        strikes: [5, 5, 12, 12],
        asks: [1, 1, 2, 6],
        rolls: [20, 40, 100, 1000],
        ..USUAL.moods
    },
    forms: &[(Form::Named, 1), (Form::One, 1)],
    verbs: &[
        (Verb::Incr, 4),
        (Verb::Append, 2),
        (Verb::Set, 4),
        (Verb::Del, 3),
    ],
    again: 3,
    ..USUAL
};

/// Partitions that are to be split or merged while their views change, and primaries' words come late (PROTOCOL rule 31).
pub(super) const OVERTAKEN: Scenario = Scenario {
    name: "overtaken",
    objects: 4,
    strikes: &[
        (Strike::LateWishes, 16),
        (Strike::LateMaps, 2),
        (Strike::DemoteOrRoll, 16),
        (Strike::DemoteToLearner, 16),
        (Strike::HandOver, 2),
        (Strike::Mute, 2),
        (Strike::Mend, 2),
    ],
    splits: 3,
    merges: Some(3),
    moods: Range {
        strikes: [2, 5, 5, 12],
        asks: [1, 1, 1, 2],
        rolls: [1000; 4],
        lags: [1, 1, 2, 6],
        ..USUAL.moods
    },
    verbs: &[(Verb::Incr, 4), (Verb::Append, 2), (Verb::Set, 4)],
    ..USUAL
};

/// All of them.
pub(super) const ALL: [&Scenario; 11] = [
    &READS,
    &CLEANING,
    &POWER,
    &SYNCS,
    &LEARNING,
    &RETRIES,
    &CUTS,
    &PROMOTIONS,
    &PARTING,
    &JOINING,
    &OVERTAKEN,
];
