//! What may happen in a run: where it begins, and how often which fault comes.
//!
//! A scope is small enough for its whole state space; together they have what the protocol has to survive.

use crate::Rule;
use crate::map::{Group, Place, Role};
use crate::state::{BRICKS, Left};

/// When a table's write counts as held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// At once; there is no log.
    Memory,
    /// Once the operating system has it.
    Log,
    /// Once it is synced.
    Fsync,
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    /// Its name.
    pub name: &'static str,
    /// The roles in the first view.
    pub roles: [Role; BRICKS],
    /// The table's durability.
    pub durability: Durability,
    /// What may happen.
    pub left: Left,
    /// The views that may be proposed for other reasons than a restart or a promotion: members as bits, and
    /// who leads. None: any.
    pub proposed: &'static [(u8, u8)],
    /// The bricks that may fail, as bits.
    pub faulty: u8,
}

const A: u8 = 1;
const B: u8 = 2;
const C: u8 = 4;

const ALL: [Role; BRICKS] = [Role::Primary, Role::Backup, Role::Backup];
const PAIR: [Role; BRICKS] = [Role::Primary, Role::Backup, Role::None];
const LEARNER: [Role; BRICKS] = [Role::Primary, Role::Backup, Role::Learner];

const NOTHING: Left = Left {
    writes: 0,
    views: 0,
    promotions: 0,
    learners: 0,
    kills: 0,
    power_cuts: 0,
    restarts: 0,
    lapses: 0,
    grants: 0,
    reconnects: 0,
    leaders: 0,
};

/// Failures of three bricks; B and C stand for each other.
const FAILOVERS: &[(u8, u8)] = &[(B | C, 1), (B, 1), (A | B, 0), (A | B | C, 1)];

/// Of two.
const PAIRED: &[(u8, u8)] = &[(A, 0), (B, 1)];

/// A scope in which nothing happens yet.
const QUIET: Scope = Scope {
    name: "",
    roles: ALL,
    durability: Durability::Log,
    left: NOTHING,
    proposed: &[],
    faulty: A | B | C,
};

impl Scope {
    /// Those in which nothing may go wrong as long as all rules hold; small enough for every test run.
    pub const SMALL: &[Self] = &[
        Self {
            name: "crash",
            left: Left {
                writes: 1,
                views: 1,
                kills: 1,
                ..NOTHING
            },
            ..QUIET
        },
        Self {
            name: "two-views",
            roles: PAIR,
            left: Left {
                writes: 1,
                views: 2,
                kills: 1,
                ..NOTHING
            },
            ..QUIET
        },
        Self {
            name: "reconnect",
            roles: PAIR,
            left: Left {
                writes: 2,
                views: 1,
                kills: 1,
                reconnects: 1,
                ..NOTHING
            },
            ..QUIET
        },
        Self {
            name: "pause",
            roles: PAIR,
            left: Left {
                writes: 2,
                views: 1,
                lapses: 1,
                grants: 1,
                ..NOTHING
            },
            ..QUIET
        },
        Self {
            name: "restart",
            proposed: &[(A, 0)],
            faulty: B,
            roles: PAIR,
            left: Left {
                writes: 1,
                views: 1,
                kills: 1,
                restarts: 1,
                learners: 1,
                promotions: 1,
                ..NOTHING
            },
            ..QUIET
        },
        Self {
            name: "all-restart",
            proposed: PAIRED,
            roles: PAIR,
            left: Left {
                writes: 2,
                views: 2,
                kills: 2,
                restarts: 2,
                ..NOTHING
            },
            ..QUIET
        },
        Self {
            name: "power",
            proposed: PAIRED,
            roles: PAIR,
            left: Left {
                writes: 1,
                views: 2,
                kills: 1,
                power_cuts: 1,
                restarts: 2,
                ..NOTHING
            },
            ..QUIET
        },
        Self {
            name: "power-fsync",
            proposed: PAIRED,
            roles: PAIR,
            durability: Durability::Fsync,
            left: Left {
                writes: 1,
                views: 2,
                power_cuts: 2,
                restarts: 2,
                ..NOTHING
            },
            ..QUIET
        },
        Self {
            name: "promotion",
            roles: LEARNER,
            proposed: &[(C, 2)],
            left: Left {
                writes: 1,
                views: 1,
                promotions: 1,
                ..NOTHING
            },
            ..QUIET
        },
        Self {
            name: "memory",
            proposed: PAIRED,
            roles: PAIR,
            durability: Durability::Memory,
            left: Left {
                writes: 2,
                views: 2,
                kills: 2,
                restarts: 2,
                ..NOTHING
            },
            ..QUIET
        },
    ];

    /// The same on three bricks or with more of everything: millions of states each.
    pub const LARGE: &[Self] = &[
        Self {
            name: "crash-2",
            left: Left {
                writes: 2,
                views: 1,
                kills: 1,
                ..NOTHING
            },
            ..QUIET
        },
        Self {
            name: "reconnect-3",
            proposed: FAILOVERS,
            left: Left {
                writes: 1,
                views: 1,
                kills: 1,
                reconnects: 1,
                ..NOTHING
            },
            ..QUIET
        },
        Self {
            name: "pause-3",
            left: Left {
                writes: 1,
                views: 1,
                lapses: 1,
                grants: 1,
                ..NOTHING
            },
            ..QUIET
        },
        Self {
            name: "power-2",
            roles: PAIR,
            proposed: PAIRED,
            left: Left {
                writes: 2,
                views: 2,
                kills: 1,
                power_cuts: 1,
                restarts: 2,
                ..NOTHING
            },
            ..QUIET
        },
        Self {
            name: "learner-restart",
            roles: LEARNER,
            proposed: &[(C, 2)],
            faulty: C,
            left: Left {
                writes: 1,
                views: 1,
                promotions: 1,
                learners: 1,
                kills: 1,
                restarts: 1,
                ..NOTHING
            },
            ..QUIET
        },
    ];

    /// Too large to be searched to their end; for as long as one likes.
    pub const HUGE: &[Self] = &[
        Self {
            name: "two-views-3",
            proposed: FAILOVERS,
            left: Left {
                writes: 1,
                views: 2,
                kills: 1,
                ..NOTHING
            },
            ..QUIET
        },
        Self {
            name: "restart-3",
            proposed: FAILOVERS,
            left: Left {
                writes: 1,
                views: 1,
                kills: 1,
                restarts: 1,
                learners: 1,
                promotions: 1,
                ..NOTHING
            },
            ..QUIET
        },
        Self {
            name: "promotion-2",
            roles: LEARNER,
            proposed: FAILOVERS,
            left: Left {
                writes: 2,
                views: 1,
                promotions: 1,
                kills: 1,
                ..NOTHING
            },
            ..QUIET
        },
    ];

    /// The scope with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::SMALL.iter().chain(Self::LARGE).chain(Self::HUGE);
        all.find(|scope| scope.name == name).copied()
    }

    /// A scope in which that rule is needed.
    #[must_use]
    pub const fn of_rule(rule: Rule) -> Self {
        let pair = Self {
            name: rule.name(),
            roles: PAIR,
            ..QUIET
        };
        let all = Self { roles: ALL, ..pair };
        let learner = Self {
            roles: LEARNER,
            ..pair
        };
        let one = Left {
            writes: 1,
            views: 1,
            ..NOTHING
        };
        let died_one_by_one = Left {
            views: 2,
            kills: 1,
            power_cuts: 1,
            restarts: 1,
            ..one
        };
        let promoted = Left {
            promotions: 1,
            ..one
        };
        match rule {
            Rule::RefusalsGoAhead | Rule::TheLoopAcknowledges | Rule::ViewsTakeTwoSteps => {
                pair.with(one)
            }
            Rule::StreamsAreNamed | Rule::RecordsFollow => pair.with(Left {
                writes: 2,
                kills: 1,
                reconnects: 1,
                ..one
            }),
            Rule::GrantsNameMaps => pair.with(Left {
                lapses: 1,
                grants: 1,
                ..one
            }),
            Rule::LearnersVote | Rule::LearnersHoldAll | Rule::PendingGoesFirst => {
                learner.with(promoted)
            }
            Rule::VotesStayRequired => learner.with(Left {
                reconnects: 1,
                ..promoted
            }),
            Rule::PromotionsNameViews => Self {
                proposed: &[(B, 1)],
                ..learner.with(promoted)
            },
            Rule::InheritedReadsWait => all.with(Left { kills: 1, ..one }),
            Rule::InheritedCommitsWait => all.with(Left { views: 2, ..one }),
            Rule::ProposalsNameTheirBase => pair.with(Left { views: 2, ..one }),
            Rule::LeadersAskAfresh => pair.with(Left { leaders: 1, ..one }),
            Rule::AllAreFenced => all.with(Left { views: 2, ..one }),
            Rule::PrimariesAccept | Rule::AcceptingSyncs | Rule::AcceptingStops => Self {
                proposed: &[(B, 1)],
                ..pair.with(died_one_by_one)
            },
            Rule::RestartsCutNothing => pair.with(Left {
                kills: 2,
                restarts: 2,
                ..one
            }),
            Rule::ViewsNameLives => pair.with(Left {
                power_cuts: 1,
                restarts: 1,
                ..one
            }),
            Rule::PromotionsNameLives => Self {
                proposed: &[(C, 2)],
                faulty: C,
                ..learner.with(Left {
                    power_cuts: 1,
                    restarts: 1,
                    ..promoted
                })
            },
            Rule::ViewsAreRemembered => all.with(Left {
                reconnects: 1,
                ..one
            }),
            Rule::BaselinesEndCatchUps => Self {
                proposed: &[(C, 2)],
                faulty: C,
                ..learner.with(Left {
                    kills: 1,
                    restarts: 1,
                    learners: 1,
                    ..promoted
                })
            },
            Rule::ClocksAreRead => pair.with(Left { lapses: 1, ..one }),
            Rule::MemoryIsDeclaredLost => Self {
                durability: Durability::Memory,
                ..pair.with(Left {
                    kills: 2,
                    restarts: 2,
                    ..one
                })
            },
        }
    }

    const fn with(self, left: Left) -> Self {
        Self { left, ..self }
    }

    /// The first group.
    #[must_use]
    pub fn first(&self) -> Group {
        Group {
            view: 1,
            places: self.roles.map(|role| Place {
                role,
                life: u8::from(role != Role::None),
            }),
        }
    }

    /// Whether the unsynced end of a log can get lost.
    #[must_use]
    pub const fn has_power_cuts(&self) -> bool {
        self.left.power_cuts > 0 || matches!(self.durability, Durability::Fsync)
    }

    pub(crate) fn proposes(&self, members: u8, primary: u8) -> bool {
        self.proposed.is_empty() || self.proposed.contains(&(members, primary))
    }
}
