//! Bounds on what a peer may announce, each with its reason.

use brickyard_types::limits::{ARGUMENTS_MAX, INLINE_BYTES_MAX, VALUE_BYTES_MAX};

/// Most arguments of a request before its client has authenticated (Redis's bound: `HELLO` with
/// everything fits).
pub(crate) const UNAUTHENTICATED_ARGUMENTS_MAX: usize = 10;

/// Longest argument before its client has authenticated, in bytes (Redis's bound).
pub(crate) const UNAUTHENTICATED_BULK_BYTES_MAX: usize = 16 * 1024;

/// Bounds on one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest argument, in bytes. Default: the longest value, 64 MiB; Redis has 512 MiB.
    pub bulk_bytes_max: usize,
    /// Most arguments. Default: 1,048,576, Redis's bound before version 7.
    pub arguments_max: usize,
    /// Longest inline request or count line, in bytes before its end. Default: 64 KiB, as Redis.
    pub inline_bytes_max: usize,
    /// Longest request as a whole, in bytes: a request is kept in one piece until it is executed.
    /// Default: 256 MiB, so that `MSET` has room for several of the longest values. At most 2 GiB
    /// is used, since [`Span`](super::Span) counts in 32 bits.
    pub request_bytes_max: usize,
    /// The client has yet to authenticate: 10 arguments of 16 KiB are enough for that, and
    /// strangers get no more of our memory.
    pub unauthenticated: bool,
}

impl Limits {
    /// Upper bound on what [`Self::request_bytes_max`] can ask for.
    pub(crate) const REQUEST_BYTES_CEILING: usize = i32::MAX as usize;

    /// The bounds of an unconfigured redis-server 7.0.
    pub const REDIS: Self = Self {
        bulk_bytes_max: 512 * 1024 * 1024,
        arguments_max: i32::MAX as usize,
        inline_bytes_max: 64 * 1024,
        request_bytes_max: 1024 * 1024 * 1024,
        unauthenticated: false,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bulk_bytes_max: VALUE_BYTES_MAX,
            arguments_max: ARGUMENTS_MAX,
            inline_bytes_max: INLINE_BYTES_MAX,
            request_bytes_max: 256 * 1024 * 1024,
            unauthenticated: false,
        }
    }
}

/// Bounds on one reply, for the tools that read replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyLimits {
    /// Deepest nesting of arrays, maps, sets and pushes. Default: 32; `COMMAND` needs 6.
    pub depth_max: usize,
    /// Longest line (status, error, number, count), in bytes. Default: 64 KiB.
    pub line_bytes_max: usize,
    /// Longest reply as a whole, in bytes. Default: 1 GiB, for `MGET` of the longest values.
    pub reply_bytes_max: usize,
}

impl Default for ReplyLimits {
    fn default() -> Self {
        Self {
            depth_max: 32,
            line_bytes_max: 64 * 1024,
            reply_bytes_max: 1024 * 1024 * 1024,
        }
    }
}
