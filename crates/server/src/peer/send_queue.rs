//! What waits to be sent on one connection: bounded, what matters most first.
//!
//! The sender repeats everything on these connections that it needs, so what does not fit is dropped: the
//! oldest first, since newer ones say the same or more.

use brickyard_node::Urgency;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use tokio::sync::Notify;

/// Frames that may wait.
const FRAMES_MAX: usize = 1024;

/// Bytes that may wait, apart from one frame that may be longer.
const BYTES_MAX: usize = 32 << 20;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct SendQueue {
    waiting: RefCell<Waiting>,
    is_closed: Cell<bool>,
    has_more: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    urgent: VecDeque<Vec<u8>>,
    normal: VecDeque<Vec<u8>>,
    bytes: usize,
}

impl SendQueue {
    /// Queues a frame.
    pub(crate) fn push(&self, frame: Vec<u8>, urgency: Urgency) {
        self.waiting.borrow_mut().push(frame, urgency);
        self.has_more.notify_one();
    }

    /// The next frame to send; waits for one. `None`: the connection is to be closed.
    pub(crate) async fn next(&self) -> Option<Vec<u8>> {
        loop {
            if self.is_closed.get() {
                return None;
            }
            let frame = self.waiting.borrow_mut().pop();
            if frame.is_some() {
                return frame;
            }
            self.has_more.notified().await;
        }
    }

    /// Ends the connection: nothing more is sent, nor taken, on it.
    pub(crate) fn close(&self) {
        self.is_closed.set(true);
        self.has_more.notify_one();
    }

    /// Forgets everything: the connection is gone, and what waited is old.
    pub(crate) fn clear(&self) {
        *self.waiting.borrow_mut() = Waiting::default();
    }
}

impl Waiting {
    fn push(&mut self, frame: Vec<u8>, urgency: Urgency) {
        self.bytes += frame.len();
        match urgency {
            Urgency::High => self.urgent.push_back(frame),
            Urgency::Normal => self.normal.push_back(frame),
        }
        while self.len() > 1 && (self.len() > FRAMES_MAX || self.bytes > BYTES_MAX) {
            let dropped = match self.normal.len() {
                0 => self.urgent.pop_front(),
                _ => self.normal.pop_front(),
            };
            self.bytes -= dropped.map_or(0, |frame| frame.len());
        }
    }

    fn pop(&mut self) -> Option<Vec<u8>> {
        let frame = self
            .urgent
            .pop_front()
            .or_else(|| self.normal.pop_front())?;
        self.bytes -= frame.len();
        Some(frame)
    }

    fn len(&self) -> usize {
        self.urgent.len() + self.normal.len()
    }
}

#[cfg(test)]
#[path = "send_queue_test.rs"]
mod send_queue_test;
