//! Numbers of this room that must not be mistaken for one another.

use std::fmt;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number!(
    /// One flush of this brick towards its peers; numbers what it sends on all its outgoing streams, from
    /// 1. A stream that had nothing to carry in a turn leaves its number out.
    Sequence(u64)
);
number!(
    /// A batch of this brick's own log, in the order of the log; 0: in no log (durability `memory`).
    LogMark(u64)
);
number!(
    /// A connected stream, of either direction; drawn by the owner as an index into a dense array and used
    /// again only after [`Replicator::on_closed`](crate::Replicator::on_closed).
    LinkId(u32)
);

impl Sequence {
    /// Not sent to anybody yet: no vote covers it.
    pub const NEVER: Self = Self(u64::MAX);
}

impl LogMark {
    /// In no log: as durable as it will ever be.
    pub const NONE: Self = Self(0);
    /// Refused by the log and not yet taken by it again: no progress of the log covers it.
    pub const NEVER: Self = Self(u64::MAX);
}

/// Who dialed a stream, and so which way its records go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Dialed by this brick, which sends records on it and gets votes back.
    Outgoing,
    /// Dialed by the peer: records come in, votes go back.
    Incoming,
}
