//! What other bricks have asked of this one and it has not executed yet, bounded in bytes over all of them.
//!
//! In:  requests. Out: the same ones in order; past the bound a refusal that promises "not executed".
//!
//! Each client has but so many bytes of requests with other bricks at a time, and there may be many clients,
//! of many nodes: a brick that falls behind would hold what all of them ask.

use crate::brick::Brick;
use crate::forward::{ForwardRequest, Origin};
use crate::keyed::error_line;
use crate::output::Gate;
use brickyard_command::ErrorReply;
use brickyard_routing::Member;
use std::collections::VecDeque;

/// Bytes of requests past which further ones are refused.
const BYTES_MAX: usize = 64 << 20;

/// Bytes that a request takes besides its arguments, about.
const REQUEST_BYTES: usize = size_of::<(Member, ForwardRequest)>();

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    requests: VecDeque<(Member, ForwardRequest)>,
    bytes: usize,
}

impl Inbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Whether there are not too many bytes of requests for this one. One is always taken.
    #[inline]
    fn has_room(&self, request: &ForwardRequest) -> bool {
        self.is_empty() || self.bytes + request.bytes() + REQUEST_BYTES <= BYTES_MAX
    }

    #[inline]
    fn push(&mut self, from: Member, request: ForwardRequest) {
        self.bytes += request.bytes() + REQUEST_BYTES;
        self.requests.push_back((from, request));
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Member, ForwardRequest)> {
        let (from, request) = self.requests.pop_front()?;
        let bytes = request.bytes() + REQUEST_BYTES;
        assert!(
            self.bytes >= bytes,
            "a request of {bytes} bytes is taken from {}",
            self.bytes
        );
        self.bytes -= bytes;
        assert!(
            !self.requests.is_empty() || self.bytes == 0,
            "no request waits, but {} bytes",
            self.bytes
        );
        Some((from, request))
    }
}

impl Brick {
    /// Takes a request of another brick, to be executed in its turn.
    #[inline]
    pub(crate) fn take_request(&mut self, from: Member, request: ForwardRequest) {
        if self.inbox.has_room(&request) {
            self.inbox.push(from, request);
        } else {
            self.refuse_request(from, &request);
        }
    }

    #[cold]
    fn refuse_request(&mut self, from: Member, request: &ForwardRequest) {
        self.core.stats().refused_busy.add(1);
        let error = ErrorReply::new(format!(
            "BUSY brick {} has {} bytes of requests of other bricks waiting; the command was not executed, try \
             again later",
            self.core.id, self.inbox.bytes
        ));
        let origin = Origin {
            member: from,
            token: request.token,
        };
        self.complete(origin, error_line(&error), Gate::OPEN);
    }
}

#[cfg(test)]
#[path = "inbox_test.rs"]
mod inbox_test;
