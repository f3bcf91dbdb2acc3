//! Why bytes are not a request, or not a reply.

use std::fmt;

/// What a client sent is not RESP, or is beyond a bound; the connection cannot be used any more.
///
/// The texts are Redis's own, so that people who know them find what they know.
/// [`Reply::protocol_error`](crate::Reply::protocol_error) writes the reply; then the connection
/// is to be closed, since nobody knows where the next request starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The count after `*` is not a number or is above `arguments_max`.
    InvalidMultibulkLength,
    /// The count after `*` is above what a client may send before it has authenticated.
    UnauthenticatedMultibulkLength,
    /// An argument does not start with `$`.
    ExpectedBulk {
        /// What it starts with.
        got: u8,
    },
    /// The length after `$` is not a number or is above `bulk_bytes_max`.
    InvalidBulkLength,
    /// The length after `$` is above what a client may send before it has authenticated.
    UnauthenticatedBulkLength,
    /// The line that starts with `*` has no end within `inline_bytes_max`.
    MultibulkLineTooLong,
    /// The line that should start with `$` has no end within `inline_bytes_max`.
    BulkLineTooLong,
    /// An inline request has no end within `inline_bytes_max`.
    InlineTooLong,
    /// An inline request has a quote that is not closed, or text right after a closing quote.
    UnbalancedQuotes,
    /// The request as a whole is above `request_bytes_max`.
    RequestTooLong,
}

impl ProtocolError {
    /// The text up to where [`Self::ExpectedBulk`] shows the byte that it got.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::InvalidMultibulkLength => "Protocol error: invalid multibulk length",
            Self::UnauthenticatedMultibulkLength => {
                "Protocol error: unauthenticated multibulk length"
            }
            Self::ExpectedBulk { .. } => "Protocol error: expected '$', got '",
            Self::InvalidBulkLength => "Protocol error: invalid bulk length",
            Self::UnauthenticatedBulkLength => "Protocol error: unauthenticated bulk length",
            Self::MultibulkLineTooLong => "Protocol error: too big mbulk count string",
            Self::BulkLineTooLong => "Protocol error: too big bulk count string",
            Self::InlineTooLong => "Protocol error: too big inline request",
            Self::UnbalancedQuotes => "Protocol error: unbalanced quotes in request",
            Self::RequestTooLong => "Protocol error: too big request",
        }
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())?;
        if let Self::ExpectedBulk { got } = self {
            write!(f, "{}'", got.escape_ascii())?;
        }
        Ok(())
    }
}

impl std::error::Error for ProtocolError {}

/// What a server sent is not RESP, or is beyond a bound; the connection cannot be used any more.
///
/// Offsets count from the start of the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyError {
    /// A reply starts with a byte that is no RESP type.
    UnknownType {
        /// Where.
        offset: usize,
        /// The byte.
        got: u8,
    },
    /// A line that holds a number, a length or a boolean holds something else.
    InvalidLine {
        /// Where the line starts.
        offset: usize,
        /// Its type byte.
        kind: u8,
    },
    /// A string is not followed by CR LF, so its length is not to be believed.
    MissingEnd {
        /// Where CR LF should be.
        offset: usize,
    },
    /// A line has no end within `line_bytes_max`.
    LineTooLong {
        /// Where the line starts.
        offset: usize,
    },
    /// Arrays are nested deeper than `depth_max`.
    TooDeep {
        /// Where the first one too many starts.
        offset: usize,
    },
    /// The reply is, or announces to be, longer than `reply_bytes_max`.
    TooLong {
        /// Bytes that it takes at least.
        need: usize,
    },
}

impl fmt::Display for ReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownType { offset, got } => write!(
                f,
                "byte {offset} of the reply is '{}', which is no RESP type; is this a RESP server?",
                got.escape_ascii()
            ),
            Self::InvalidLine { offset, kind } => write!(
                f,
                "the line at byte {offset} of the reply is not valid after '{}'",
                kind.escape_ascii()
            ),
            Self::MissingEnd { offset } => {
                write!(
                    f,
                    "the string of the reply does not end with CR LF at byte {offset}"
                )
            }
            Self::LineTooLong { offset } => {
                write!(f, "the line at byte {offset} of the reply does not end")
            }
            Self::TooDeep { offset } => {
                write!(f, "the reply is nested too deep at byte {offset}")
            }
            Self::TooLong { need } => write!(
                f,
                "the reply takes {need} bytes or more, which is more than this client accepts"
            ),
        }
    }
}

impl std::error::Error for ReplyError {}
