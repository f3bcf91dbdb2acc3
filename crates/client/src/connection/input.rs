//! Bytes that have arrived and are not decoded yet.
//!
//! In:  reads into [`Input::space`]. Out: [`Input::unread`], once it is worth looking at.
//!
//! Invariants:
//! - The buffer grows to twice what has arrived, never to what a length announces.
//! - An unfinished reply is looked at again only when the bytes that the decoder asked for are there, so a
//!   huge string is not scanned once a packet.

/// Room for one read.
const READ_BYTES: usize = 64 * 1024;

/// An empty buffer with more room than this gives it back.
const ROOM_MAX: usize = 1024 * 1024;

#[derive(Debug)]
pub(super) struct Input {
    /// All initialised; `start..end` is what has arrived and was not decoded.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes after `start` without which there is nothing new to find.
    need: usize,
}

impl Input {
    pub(super) const fn new() -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            end: 0,
            need: 1,
        }
    }

    /// Room for the next read; never empty.
    pub(super) fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.bytes.len() > ROOM_MAX {
                self.bytes = Vec::new();
            }
        }
        if self.bytes.len() - self.end < READ_BYTES / 2 {
            self.bytes.drain(..self.start);
            self.end -= self.start;
            self.start = 0;
            self.bytes.resize(2 * self.end + READ_BYTES, 0);
        }
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    pub(super) fn fill(&mut self, count: usize) {
        self.end += count;
        debug_assert!(
            self.end <= self.bytes.len(),
            "more was read than there is room"
        );
    }

    /// What was not decoded, if there is enough of it.
    pub(super) fn unread(&self) -> Option<&[u8]> {
        let unread = self.bytes.get(self.start..self.end)?;
        (unread.len() >= self.need).then_some(unread)
    }

    pub(super) const fn wait_for(&mut self, need: usize) {
        self.need = need;
    }

    pub(super) const fn consume(&mut self, count: usize) {
        self.start += count;
        self.need = 1;
    }
}
