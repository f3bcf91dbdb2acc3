//! What a client has sent and is not executed yet.
//!
//! In:  bytes from its socket. Out: requests and where they stand; the bytes, lent while one of them is executed.
//!
//! Invariant: what was counted was executed, and what was executed has come.

use brickyard_wire::{Limits, ProtocolError, RequestDecoder, Span, Step};

/// Input kept for an idle connection, in bytes.
const KEPT: usize = 64 * 1024;

/// See the module.
#[derive(Debug)]
pub(crate) struct Input {
    bytes: Vec<u8>,
    /// Bytes that were executed.
    executed: usize,
    /// Those of them that were counted as received.
    counted: usize,
    /// Bytes counted as received, ever.
    received: u64,
    decoder: RequestDecoder,
}

impl Input {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            bytes: Vec::new(),
            executed: 0,
            counted: 0,
            received: 0,
            decoder: RequestDecoder::new(limits),
        }
    }

    /// Where the driver appends.
    #[inline]
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Up to where it was executed.
    #[inline]
    pub(crate) fn executed(&self) -> usize {
        self.executed
    }

    /// Bytes that were not executed; none while they are lent.
    #[inline]
    pub(crate) fn pending(&self) -> usize {
        self.bytes.len().saturating_sub(self.executed)
    }

    /// Whether the client has not said who it is.
    #[inline]
    pub(crate) fn is_strangers(&self) -> bool {
        self.decoder.limits().unauthenticated
    }

    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.decoder.set_limits(limits);
    }

    /// The next request from `at` on; its arguments go behind `spans`.
    #[inline]
    pub(crate) fn decode(
        &mut self,
        at: usize,
        spans: &mut Vec<Span>,
    ) -> Result<Step, ProtocolError> {
        self.decoder.decode(&self.bytes[at..], spans)
    }

    /// Puts `request` in the place of `len` bytes that say the same in quotes.
    pub(crate) fn unquote(&mut self, at: usize, len: usize, request: Vec<u8>) {
        assert!(at >= self.executed, "what was executed is not changed");
        self.bytes.splice(at..at + len, request);
    }

    /// What was parsed and not executed is parsed anew.
    pub(crate) fn parse_anew(&mut self) {
        self.decoder = RequestDecoder::new(*self.decoder.limits());
    }

    /// The bytes, for a command that may change all else of its connection. They come back by [`Self::give_back`].
    #[inline]
    pub(crate) fn lend(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// The bytes that were lent; they were executed up to there.
    #[inline]
    pub(crate) fn give_back(&mut self, bytes: Vec<u8>, executed: usize) {
        assert!(
            self.bytes.is_empty(),
            "{} bytes have come meanwhile",
            self.bytes.len()
        );
        self.bytes = bytes;
        self.skip_to(executed);
    }

    /// It was executed up to there.
    #[inline]
    pub(crate) fn skip_to(&mut self, executed: usize) {
        assert!(
            self.executed <= executed && executed <= self.bytes.len(),
            "{} bytes of {} were executed, and now {executed}",
            self.executed,
            self.bytes.len()
        );
        self.executed = executed;
    }

    /// Counts what was executed since; how many bytes.
    #[inline]
    pub(crate) fn count(&mut self) -> u64 {
        assert!(
            self.counted <= self.executed,
            "{} bytes were counted of {} that were executed",
            self.counted,
            self.executed
        );
        let taken = (self.executed - self.counted) as u64;
        self.counted = self.executed;
        self.received += taken;
        taken
    }

    /// Forgets what was executed; `is_queued`: there is more to execute soon.
    #[inline]
    pub(crate) fn trim(&mut self, is_queued: bool) {
        if self.executed == self.bytes.len() {
            self.bytes.clear();
            if self.bytes.capacity() > KEPT {
                self.bytes = Vec::new();
            }
        } else if is_queued && self.executed < self.bytes.len() / 2 {
            // Moving a long pipeline up after each few of its requests would cost more than they.
            return;
        } else if self.executed > 0 {
            self.bytes.drain(..self.executed);
        }
        self.executed = 0;
        self.counted = 0;
    }

    /// Gives back memory that nothing which has come needs.
    pub(crate) fn give_back_spare(&mut self) {
        if self.bytes.capacity() / 2 > self.bytes.len() {
            self.bytes.shrink_to_fit();
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Bytes that the client has sent, ever.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }
}

#[cfg(test)]
#[path = "input_test.rs"]
mod input_test;
