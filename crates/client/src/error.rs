//! How a call can fail, told apart by what became of it.
//!
//! In:  an error reply, a broken connection, a deadline. Out: an [`Error`].
//!
//! Invariant: after [`Error::UnknownOutcome`] a write may have been executed, after [`Error::Protocol`] it
//! was, in some way; every other variant promises that it was not and will not be.

use brickyard_wire::{Fate, fate};
use std::time::Duration;

/// Why a call has no result, and what became of it.
///
/// ```
/// use brickyard_client::Error;
///
/// fn what_to_do(error: &Error) -> &'static str {
///     match error {
///         Error::UnknownOutcome { .. } => "read before writing again",
///         Error::Refused { .. } | Error::Invalid { .. } => "correct the command",
///         _ => "try again later: nothing was written",
///     }
/// }
/// let refused = Error::Refused { text: "OOM the table is full".to_owned() };
/// assert_eq!(what_to_do(&refused), "correct the command");
/// assert_eq!(refused.prefix(), Some("OOM"));
/// assert!(refused.is_not_executed());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server said no: it was not executed and will not be.
    ///
    /// For refusals of the moment (`BUSY`, `LOADING`, `CLUSTERDOWN`, ...) this is the last one that came
    /// before the deadline: the call was sent again until then.
    #[error("the server refused: {text}")]
    Refused {
        /// The server's words, the prefix included.
        text: String,
    },
    /// A write whose fate is not known: it may have been executed, or may still be.
    ///
    /// Read before writing again, or write only what may be written twice.
    #[error("it is not known whether the write was executed: {reason}")]
    UnknownOutcome {
        /// What happened: the connection broke, the deadline passed, or the server's own words.
        reason: String,
    },
    /// A read that was not answered within its deadline.
    #[error("no answer within {after:?}; is the cluster overloaded, or the deadline too short?")]
    Timeout {
        /// How long it was waited.
        after: Duration,
    },
    /// No address of the cluster took it within the deadline: it was not executed.
    #[error("it was not sent: {reason}")]
    Unreachable {
        /// The last thing that stood in the way.
        reason: String,
    },
    /// As much was in flight as [`Options`](crate::Options) allow, and it would have waited too long for its turn: it was not
    /// sent.
    #[error(
        "it was not sent: its turn does not come within {after:?}; the cluster is asked for more than it can do"
    )]
    Overloaded {
        /// How long it waited, or would have.
        after: Duration,
    },
    /// It was answered with something that is no answer to it; the server is of another kind or version.
    #[error("the answer makes no sense: {reason}")]
    Protocol {
        /// What came, and what should have.
        reason: String,
    },
    /// The call makes no sense on connections that many calls share, or contradicts itself; it was not sent.
    #[error("that makes no sense: {reason}")]
    Invalid {
        /// What to do instead.
        reason: String,
    },
    /// The client was closed before the call could be sent, or its runtime stopped.
    #[error("the client is closed")]
    Closed,
}

impl Error {
    /// Whether the call is known not to have been executed, so that it may be made again as it is.
    #[must_use]
    pub const fn is_not_executed(&self) -> bool {
        !matches!(self, Self::UnknownOutcome { .. } | Self::Protocol { .. })
    }

    /// The first word of the server's error, such as `WRONGTYPE` or `BUSY`.
    #[must_use]
    pub fn prefix(&self) -> Option<&str> {
        match self {
            Self::Refused { text } => text.split(' ').next(),
            _ => None,
        }
    }

    /// The error that an error reply stands for.
    pub(crate) fn from_reply(line: &[u8]) -> Self {
        let text = String::from_utf8_lossy(line).into_owned();
        match fate(line) {
            Fate::Unknown => Self::UnknownOutcome { reason: text },
            Fate::NotExecuted | Fate::Damaged | Fate::Refused => Self::Refused { text },
        }
    }

    pub(crate) fn unreachable(reason: impl Into<String>) -> Self {
        Self::Unreachable {
            reason: reason.into(),
        }
    }

    pub(crate) fn unknown(reason: impl Into<String>) -> Self {
        Self::UnknownOutcome {
            reason: reason.into(),
        }
    }

    pub(crate) fn protocol(reason: impl Into<String>) -> Self {
        Self::Protocol {
            reason: reason.into(),
        }
    }

    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid {
            reason: reason.into(),
        }
    }
}

#[cfg(test)]
mod error_test {
    use super::*;

    #[test]
    fn only_an_unknown_result_leaves_the_fate_of_a_write_open() {
        for line in [
            "BUSY queue is full",
            "ERR syntax error",
            "WRONGTYPE x",
            "DAMAGED y",
        ] {
            let error = Error::from_reply(line.as_bytes());
            assert!(error.is_not_executed(), "{line}");
            assert_eq!(error.prefix(), line.split(' ').next());
        }
        let unknown = Error::from_reply(b"UNKNOWNRESULT the disk is full");
        assert!(!unknown.is_not_executed());
    }
}
