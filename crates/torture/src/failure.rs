//! What can go wrong, to whom, and for how long.

use clap::ValueEnum;
use std::time::Duration;

/// How long gray failures last: longer than anything that Brickyard waits for by itself.
const LONG: Duration = Duration::from_secs(10);

/// A kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Failure {
    /// kill -9 of one node, which stays away for two leases
    Kill,
    /// kill -9 of the node that leads the control plane
    KillLeader,
    /// kill -9 of all nodes at once
    KillAll,
    /// kill -9 of one node that comes back at once
    Flap,
    /// SIGSTOP of one node for five leases
    Pause,
    /// SIGTERM of every node, one after the other
    RollingRestart,
    /// All cores are busy for a minute: nothing fails, and no replica may be taken out
    FullLoad,
    /// One node and the others cannot hear each other
    Cut,
    /// The others cannot hear one node
    CutFrom,
    /// One node cannot hear the others
    CutTo,
    /// Two nodes cannot hear each other, for ten seconds; neither leads the control plane
    CutLink,
    /// The node that leads the control plane and another one cannot hear each other, for ten seconds
    CutLeaderLink,
    /// A link is cut and back every half second, for ten seconds
    FlappingLink,
    /// 15 % of the packets between one node and the others are lost, for ten seconds
    Loss,
    /// The disk of a node that does not lead the control plane is full, for ten seconds
    DiskFull,
    /// It stalls for ten seconds
    DiskStall,
    /// What is written to it takes a quarter of a second, for ten seconds
    DiskSlow,
    /// The disk of the node that leads the control plane is full, for ten seconds
    LeaderDiskFull,
    /// It stalls for ten seconds
    LeaderDiskStall,
}

impl Failure {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::Kill,
        Self::KillLeader,
        Self::KillAll,
        Self::Flap,
        Self::Pause,
        Self::RollingRestart,
        Self::FullLoad,
        Self::Cut,
        Self::CutFrom,
        Self::CutTo,
        Self::CutLink,
        Self::CutLeaderLink,
        Self::FlappingLink,
        Self::Loss,
        Self::DiskFull,
        Self::DiskStall,
        Self::DiskSlow,
        Self::LeaderDiskFull,
        Self::LeaderDiskStall,
    ];

    /// Whether it takes a network that can be cut.
    #[must_use]
    pub const fn is_cut(self) -> bool {
        match self {
            Self::Cut
            | Self::CutFrom
            | Self::CutTo
            | Self::CutLink
            | Self::CutLeaderLink
            | Self::FlappingLink
            | Self::Loss => true,
            Self::Kill
            | Self::KillLeader
            | Self::KillAll
            | Self::Flap
            | Self::Pause
            | Self::RollingRestart
            | Self::FullLoad
            | Self::DiskFull
            | Self::DiskStall
            | Self::DiskSlow
            | Self::LeaderDiskFull
            | Self::LeaderDiskStall => false,
        }
    }

    /// Whether it takes disks that can be filled and stalled.
    #[must_use]
    pub const fn is_disk(self) -> bool {
        matches!(
            self,
            Self::DiskFull
                | Self::DiskStall
                | Self::DiskSlow
                | Self::LeaderDiskFull
                | Self::LeaderDiskStall
        )
    }

    /// To which of so many nodes it happens, of which one leads the control plane.
    #[must_use]
    pub fn victim(self, leader: usize, nodes: usize, draw: u64) -> usize {
        match self {
            Self::KillLeader
            | Self::CutLeaderLink
            | Self::LeaderDiskFull
            | Self::LeaderDiskStall => leader,
            Self::CutLink | Self::DiskFull | Self::DiskStall | Self::DiskSlow => {
                other_than(leader, nodes, draw)
            }
            _ => (draw % nodes as u64) as usize,
        }
    }

    /// How long a cut or a fault of a disk lasts at least, where leases last so long.
    #[must_use]
    pub const fn lasts(self, lease: Duration) -> Duration {
        match self {
            Self::Cut | Self::CutFrom | Self::CutTo => lease.saturating_mul(3),
            _ => LONG,
        }
    }

    /// How many nodes it takes.
    #[must_use]
    pub const fn nodes(self) -> u16 {
        match self {
            Self::CutLink => 3,
            Self::CutLeaderLink | Self::FlappingLink => 2,
            _ => 1,
        }
    }

    /// What a report calls it.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Kill => "kill -9 of a node, away for two leases",
            Self::KillLeader => "kill -9 of the control leader",
            Self::KillAll => "kill -9 of all nodes at once",
            Self::Flap => "kill -9 of a node, back at once",
            Self::Pause => "SIGSTOP for five leases",
            Self::RollingRestart => "rolling restart",
            Self::FullLoad => "all cores busy, no failure",
            Self::Cut => "cut, both directions",
            Self::CutFrom => "cut, from the node",
            Self::CutTo => "cut, to the node",
            Self::CutLink => "cut of one link, a third node leads",
            Self::CutLeaderLink => "cut of one link of the leader",
            Self::FlappingLink => "a link that flaps",
            Self::Loss => "15 % packet loss at a node",
            Self::DiskFull => "full disk of a node",
            Self::DiskStall => "stalled disk of a node",
            Self::DiskSlow => "slow disk of a node, 250 ms",
            Self::LeaderDiskFull => "full disk of the control leader",
            Self::LeaderDiskStall => "stalled disk of the control leader",
        }
    }
}

/// One of so many nodes, but not that one if there is another.
pub(crate) fn other_than(not: usize, nodes: usize, draw: u64) -> usize {
    let others = nodes.saturating_sub(1).max(1) as u64;
    (not + 1 + (draw % others) as usize) % nodes
}

/// Which failures come, by the seed.
#[derive(Clone, Debug)]
pub struct Order {
    kinds: Vec<Failure>,
    /// Those of this lap that are to come.
    left: Vec<Failure>,
    state: u64,
}

impl Order {
    /// All of these, lap after lap.
    #[must_use]
    pub fn new(kinds: &[Failure], seed: u64) -> Self {
        Self {
            kinds: kinds.to_vec(),
            left: Vec::new(),
            state: seed,
        }
    }

    /// The next failure (none: there are none), and a number that says to whom. Each kind comes once in a lap, so that a short campaign has
    /// seen all of them.
    pub fn draw_next(&mut self) -> Option<(Failure, u64)> {
        if self.left.is_empty() {
            self.left.clone_from(&self.kinds);
        }
        let at = self.draw() as usize;
        let count = self.left.len();
        (count > 0).then(|| (self.left.swap_remove(at % count), self.draw()))
    }

    /// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014).
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod failure_test {
    use super::*;

    #[test]
    fn every_kind_comes_once_in_a_lap_and_a_seed_says_in_which_order() {
        let lap = |order: &mut Order| -> Vec<(Failure, u64)> {
            (0..Failure::ALL.len())
                .filter_map(|_| order.draw_next())
                .collect()
        };
        let mut order = Order::new(&Failure::ALL, 7);
        let first = lap(&mut order);
        let mut kinds: Vec<Failure> = first.iter().map(|(kind, _)| *kind).collect();
        kinds.sort();
        assert_eq!(kinds, Failure::ALL);
        assert_ne!(first, lap(&mut order));
        assert_eq!(first, lap(&mut Order::new(&Failure::ALL, 7)));
        assert_ne!(first, lap(&mut Order::new(&Failure::ALL, 8)));
        assert_eq!(Order::new(&[], 1).draw_next(), None);
    }

    #[test]
    fn other_node_is_another_one_where_there_is_one() {
        for count in 2..6 {
            for not in 0..count {
                let drawn = (0..20).map(|draw| other_than(not, count, draw));
                let drawn: std::collections::BTreeSet<usize> = drawn.collect();
                let expected = (0..count).filter(|it| *it != not).collect();
                assert_eq!(drawn, expected);
            }
        }
        assert_eq!(other_than(0, 1, 7), 0);
    }
}
