//! The rules of docs/protocol.md that the model can do without: each is a switch.

use std::fmt;

macro_rules! rules {
    ($($name:ident $number:literal $text:literal,)*) => {
        /// One rule, or one of the parts that a rule has.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $(#[doc = $text] $name,)*
        }

        impl Rule {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The rule's number in docs/protocol.md.
            #[must_use]
            pub const fn number(self) -> u8 {
                match self {
                    $(Self::$name => $number,)*
                }
            }

            /// What it asks, in a line.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// Its name, as the program takes it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

rules! {
    RefusalsGoAhead 1 "a refusal goes ahead of every vote that would pass it",
    StreamsAreNamed 2 "votes of an older stream are dropped",
    RecordsFollow 2 "a reconnect sends again what is pending, and a record follows the one before it",
    GrantsNameMaps 3 "a lease counts once the map that it names is adopted",
    TheLoopAcknowledges 3 "the brick acknowledges a removal, nobody on its behalf",
    LearnersVote 4 "a caught-up learner's vote is required before its promotion is asked for",
    LearnersHoldAll 4 "a promotion is asked for once the learner holds everything",
    PromotionsNameViews 4 "a promotion is of the view in which it was asked for",
    VotesStayRequired 4 "the vote stays required until a view answers",
    InheritedReadsWait 5 "a new primary's reads wait for what it inherited",
    InheritedCommitsWait 5 "what was inherited commits when all have voted again",
    ViewsTakeTwoSteps 6 "a proposed view is not in effect",
    ProposalsNameTheirBase 6 "a proposal for a view that has gone is refused",
    LeadersAskAfresh 6 "a new leader of the control plane waits for leases that others gave",
    AllAreFenced 7 "fenced is who was in sync in the last effective view too, not only in the last proposed",
    PrimariesAccept 8 "a view takes effect once its primary has accepted",
    AcceptingSyncs 8 "accepting syncs the log",
    AcceptingStops 8 "who has accepted neither votes nor commits in an older view",
    RestartsCutNothing 9 "a restart cuts nothing",
    ViewsNameLives 10 "members are bricks in one life",
    PromotionsNameLives 10 "a promotion is of one life",
    ViewsAreRemembered 11 "a view that was acknowledged is remembered by whoever left the group",
    PendingGoesFirst 12 "a learner's stream begins with what is pending",
    BasesEndCatchUps 15 "a claim begins at a base record, written when a catch-up is complete",
    ClocksAreRead 22 "the lease is looked at before anything is done, also after a pause",
    MemoryIsDeclaredLost 36 "a memory partition that crashed is declared lost, and never goes on silently",
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "rule {} ({}): {}",
            self.number(),
            self.name(),
            self.text()
        )
    }
}

/// Those that hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules(u64);

impl Rules {
    /// All hold.
    #[must_use]
    pub const fn all() -> Self {
        Self(u64::MAX)
    }

    /// All but one.
    #[must_use]
    pub const fn without(rule: Rule) -> Self {
        Self(!(1 << rule as u64))
    }

    /// Whether one is taken out.
    #[must_use]
    pub const fn lack(self, rule: Rule) -> bool {
        self.0 & (1 << rule as u64) == 0
    }
}
