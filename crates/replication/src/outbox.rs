//! Bytes on their way to other bricks, by stream.
//!
//! In:  frames and records, as [`Action`](crate::Action)s say; copies of a catch-up; the gateway's messages. Out: bytes
//!      to send, and streams whose peers do not read.
//!
//! Invariants:
//! - What is put on a stream leaves in the order in which it was put there.
//! - Records stand in frames of at most 256 KiB, so that their receiver can begin with the first of them; another
//!   frame ends the one that is open.
//! - A stream that is shut takes nothing more.
//!
//! Not here: what is sent (`flush`), sockets (the owner).

use crate::frame::{Frame, HEAD_BYTES, RECORD_BYTES_MAX, Writer, byte};
use crate::{Direction, LinkId, ReplicatorConfig};
use brickyard_types::{Instant, PartitionId};
use std::collections::VecDeque;
use std::time::Duration;

/// A frame of records is ended once it is so long.
const RECORDS_BYTES: usize = 256 * 1024;

/// See the module.
#[derive(Debug)]
pub struct Outbox {
    limits: Limits,
    outputs: Vec<Option<Output>>,
    /// Links with bytes of which the owner was not told.
    queue: VecDeque<LinkId>,
    /// Links whose peers do not read, and of which the owner was not told.
    stuck: Vec<LinkId>,
}

/// How much may wait on one link.
#[derive(Clone, Copy, Debug)]
struct Limits {
    copies: usize,
    messages: usize,
    all: usize,
    ping: Duration,
}

#[derive(Debug)]
struct Output {
    direction: Direction,
    bytes: Vec<u8>,
    /// How many of them are sent.
    sent: usize,
    /// The frame of records that is being written.
    records: Option<Writer>,
    is_queued: bool,
    /// Nothing more is written.
    is_shut: bool,
    is_stuck: bool,
    pinged_at: Option<Instant>,
}

impl Outbox {
    /// An outbox without links.
    #[must_use]
    pub const fn new(config: &ReplicatorConfig) -> Self {
        Self {
            limits: Limits {
                copies: config.copy_bytes_max,
                messages: config.output_bytes_soft,
                all: config.output_bytes_max,
                ping: config.ping,
            },
            outputs: Vec::new(),
            queue: VecDeque::new(),
            stuck: Vec::new(),
        }
    }

    #[cfg(test)]
    pub(crate) const fn limit(&mut self, bytes_max: usize) {
        self.limits.all = bytes_max;
    }

    /// A stream is connected. What was to be sent on an earlier one of this number is gone.
    pub fn open(&mut self, link: LinkId, direction: Direction) {
        self.close(link);
        let at = link.0 as usize;
        if self.outputs.len() <= at {
            self.outputs.resize_with(at + 1, || None);
        }
        self.outputs[at] = Some(Output {
            direction,
            bytes: Vec::new(),
            sent: 0,
            records: None,
            is_queued: false,
            is_shut: false,
            is_stuck: false,
            pinged_at: None,
        });
    }

    /// A stream is closed.
    pub fn close(&mut self, link: LinkId) {
        if let Some(output) = self.outputs.get_mut(link.0 as usize) {
            *output = None;
        }
        self.queue.retain(|it| *it != link);
        self.stuck.retain(|it| *it != link);
    }

    /// A stream is to be closed: what is put on it from here on is dropped.
    pub fn shut(&mut self, link: LinkId) {
        if let Some(output) = self.output_mut(link) {
            output.is_shut = true;
        }
    }

    /// Sends a frame.
    pub fn frame(&mut self, link: LinkId, frame: &[u8]) {
        assert!(frame.len() >= HEAD_BYTES, "a frame without a head");
        let limit = self.limits.all;
        let Some(output) = self.open_mut(link) else {
            return;
        };
        output.end_records();
        output.bytes.extend_from_slice(frame);
        let is_stuck = output.unsent() > limit;
        if is_stuck && !std::mem::replace(&mut output.is_stuck, true) {
            self.stuck.push(link);
        }
        self.enqueue(link);
    }

    /// Sends pending records that stand one behind the other, together with those before them. A frame follows, at the latest with
    /// the turn's end.
    #[inline]
    pub fn records(&mut self, link: LinkId, records: &[u8]) {
        assert!(!records.is_empty(), "records whose bytes are gone");
        let Some(output) = self.open_mut(link) else {
            return;
        };
        let out = &mut output.bytes;
        let writer = match output.records {
            // They go into the frame that is being written, unless that would get too long.
            Some(writer) if writer.len(out) + records.len() <= RECORDS_BYTES => writer,
            _ => {
                output.end_records();
                Writer::begin(&mut output.bytes, byte::RECORDS)
            }
        };
        output.bytes.extend_from_slice(records);
        output.records = Some(writer);
    }

    /// Sends a copied record to a learner; whether there is room for another.
    pub fn copy(&mut self, link: LinkId, partition: PartitionId, record: &[u8]) -> bool {
        let Some(output) = self.open_mut(link) else {
            return false;
        };
        output.end_records();
        let out = &mut output.bytes;
        let writer = Writer::begin(out, byte::COPY);
        out.extend_from_slice(&partition.0.to_le_bytes());
        out.extend_from_slice(record);
        writer.end(out);
        self.enqueue(link);
        self.has_room(link)
    }

    /// Sends a message that is not of this room; false if there is no such link, or it is full.
    pub fn message(&mut self, link: LinkId, bytes: &[u8]) -> bool {
        let limit = self.limits.messages;
        let is_fit = bytes.len() <= RECORD_BYTES_MAX;
        let output = self.open_mut(link);
        let Some(output) = output.filter(|it| is_fit && it.unsent() <= limit) else {
            return false;
        };
        output.end_records();
        Frame::Message(bytes).encode(&mut output.bytes);
        self.enqueue(link);
        true
    }

    /// Time passes: each stream to a peer carries a ping now and then, whatever else it carries. Messages and copies are not answered on
    /// it, and a stream on which nothing is heard is closed.
    pub fn tick(&mut self, now: Instant) {
        let ping = self.limits.ping;
        for at in 0..self.outputs.len() {
            let Some(output) = self.outputs[at].as_mut() else {
                continue;
            };
            let pinged_at = *output.pinged_at.get_or_insert(now);
            let is_due = now - pinged_at >= ping && output.direction == Direction::Outgoing;
            if is_due && !output.is_shut {
                output.pinged_at = Some(now);
                output.end_records();
                Frame::Ping.encode(&mut output.bytes);
                self.enqueue(LinkId(at as u32));
            }
        }
    }

    /// Whether copies may be put on this link.
    #[must_use]
    pub fn has_room(&self, link: LinkId) -> bool {
        let output = self.output(link);
        output.is_some_and(|it| !it.is_shut && it.unsent() < self.limits.copies)
    }

    /// Bytes that wait on a link.
    #[must_use]
    pub fn unsent(&self, link: LinkId) -> usize {
        self.output(link).map_or(0, Output::unsent)
    }

    /// A link with bytes to send; it is named again when it has more.
    pub fn poll(&mut self) -> Option<LinkId> {
        while let Some(link) = self.queue.pop_front() {
            if let Some(output) = self.output_mut(link) {
                output.is_queued = false;
                if output.unsent() > 0 {
                    return Some(link);
                }
            }
        }
        None
    }

    /// A link whose peer does not read: [`on_stuck`](crate::Replicator::on_stuck) is to hear of it.
    pub fn poll_stuck(&mut self) -> Option<LinkId> {
        self.stuck.pop()
    }

    /// The bytes to send on a link.
    #[must_use]
    pub fn bytes(&self, link: LinkId) -> &[u8] {
        let Some(output) = self.output(link) else {
            return &[];
        };
        assert!(output.records.is_none(), "a turn that was not ended");
        &output.bytes[output.sent..]
    }

    /// `n` of [`Self::bytes`] are sent.
    pub fn on_sent(&mut self, link: LinkId, n: usize) {
        if let Some(output) = self.output_mut(link) {
            output.on_sent(n);
        }
    }

    fn output(&self, link: LinkId) -> Option<&Output> {
        self.outputs.get(link.0 as usize)?.as_ref()
    }

    fn output_mut(&mut self, link: LinkId) -> Option<&mut Output> {
        self.outputs.get_mut(link.0 as usize)?.as_mut()
    }

    #[inline]
    fn open_mut(&mut self, link: LinkId) -> Option<&mut Output> {
        self.output_mut(link).filter(|it| !it.is_shut)
    }

    #[inline]
    fn enqueue(&mut self, link: LinkId) {
        let Some(output) = self.output_mut(link) else {
            return;
        };
        if !std::mem::replace(&mut output.is_queued, true) {
            self.queue.push_back(link);
        }
    }
}

impl Output {
    fn unsent(&self) -> usize {
        assert!(self.sent <= self.bytes.len(), "more is sent than there was");
        self.bytes.len() - self.sent
    }

    fn end_records(&mut self) {
        if let Some(writer) = self.records.take() {
            writer.end(&mut self.bytes);
        }
    }

    fn on_sent(&mut self, n: usize) {
        /// A buffer that has grown past this is given back once it is empty.
        const KEPT: usize = 1 << 20;
        assert!(n <= self.unsent(), "{n} sent of {}", self.unsent());
        // A frame that is being written is named by its place.
        assert!(self.records.is_none(), "sent from within a turn");
        self.sent += n;
        if self.sent == self.bytes.len() {
            self.sent = 0;
            self.bytes.clear();
            self.bytes.shrink_to(KEPT);
        } else if self.sent > KEPT && self.sent > self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }
}

#[cfg(test)]
#[path = "outbox_test.rs"]
mod outbox_test;
