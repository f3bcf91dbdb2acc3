//! Which version of RESP a connection speaks.

/// A version of the reply protocol; `HELLO` chooses it, connections start with [`Self::Resp2`].
///
/// Requests look the same in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Five types of reply; maps, sets and doubles are shown as arrays and strings.
    #[default]
    Resp2,
    /// Typed replies: map, set, push, double, boolean, verbatim string, big number, null.
    Resp3,
}

impl Protocol {
    /// The protocol of a `HELLO` argument, or nothing if it is a version that we do not speak
    /// (the client is told `-NOPROTO`).
    #[must_use]
    pub const fn from_version(version: i64) -> Option<Self> {
        match version {
            2 => Some(Self::Resp2),
            3 => Some(Self::Resp3),
            _ => None,
        }
    }

    /// The number that `HELLO` takes and reports.
    #[must_use]
    pub const fn version(self) -> i64 {
        match self {
            Self::Resp2 => 2,
            Self::Resp3 => 3,
        }
    }
}
