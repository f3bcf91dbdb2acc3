//! The rules of docs/protocol.md that the model can do without: each is a switch.

use std::fmt;

macro_rules! rules {
    ($($name:ident $rule:literal $text:literal,)*) => {
        /// One rule, or one of the parts that a rule has.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $(#[doc = $text] $name,)*
        }

        impl Rule {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The rule's name in docs/protocol.md.
            #[must_use]
            pub const fn rule(self) -> &'static str {
                match self {
                    $(Self::$name => $rule,)*
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
    RefusalsGoAhead "votes cover what was appended" "a refusal goes ahead of every vote that would pass it",
    StreamsAreNamed "votes belong to a stream" "votes of an older stream are dropped",
    RecordsFollow "votes belong to a stream" "a reconnect sends again what is pending, and a record follows the one before it",
    GrantsNameMaps "grants count for adopted maps" "a lease counts once the map that it names is adopted",
    TheLoopAcknowledges "grants count for adopted maps" "the brick acknowledges a removal, nobody on its behalf",
    LearnersVote "learner votes before promotion" "a caught-up learner's vote is required before its promotion is asked for",
    LearnersHoldAll "learner votes before promotion" "a promotion is asked for once the learner holds everything",
    PromotionsNameViews "learner votes before promotion" "a promotion is of the view in which it was asked for",
    VotesStayRequired "learner votes before promotion" "the vote stays required until a view answers",
    InheritedReadsWait "uncommitted ops are voted for again" "a new primary's reads wait for what it inherited",
    InheritedCommitsWait "uncommitted ops are voted for again" "what was inherited commits when all have voted again",
    ViewsTakeTwoSteps "a proposed view only stops" "a proposed view is not in effect",
    ProposalsNameTheirBase "a proposed view only stops" "a proposal for a view that has gone is refused",
    LeadersAskAfresh "a proposed view only stops" "a new leader of the control plane waits for leases that others gave",
    AllAreFenced "removed members are fenced" "fenced is who was in sync in the last effective view too, not only in the last proposed",
    PrimariesAccept "a primary accepts its view" "a view takes effect once its primary has accepted",
    AcceptingSyncs "a primary accepts its view" "accepting syncs the log",
    AcceptingStops "a primary accepts its view" "who has accepted neither votes nor commits in an older view",
    RestartsCutNothing "a restart cuts nothing" "a restart cuts nothing",
    ViewsNameLives "members name an incarnation" "members are bricks in one life",
    PromotionsNameLives "members name an incarnation" "a promotion is of one life",
    ViewsAreRemembered "acknowledged views are remembered" "a view that was acknowledged is remembered by whoever left the group",
    PendingGoesFirst "a learner begins with what is pending" "a learner's stream begins with what is pending",
    BaselinesEndCatchUps "log summaries begin at a baseline" "a log summary begins at a baseline record, written when a catch-up is complete",
    ClocksAreRead "leases count from the request" "the lease is looked at before anything is done, also after a pause",
    MemoryIsDeclaredLost "lost memory begins a generation" "a memory partition that crashed is declared lost, and never goes on silently",
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "rule `{}` ({}): {}",
            self.rule(),
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
