//! Between a brick's loop and the control thread: requests, answers, and the way to the end.

use crate::wake::Waker;
use brickyard_node::io::{Ask, LoopProgress};
use rtrb::{Consumer, Producer, PushError, RingBuffer};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::Notify;

/// Messages that may wait for a loop.
const TO_LOOP_MAX: usize = 256;

/// What the control thread tells a loop.
pub(crate) type ToLoop = brickyard_node::io::ToLoop<crate::tls::LoopSocket>;

/// What a loop asks the control thread.
#[derive(Debug)]
pub(crate) struct ToControl {
    pub(crate) brick: usize,
    pub(crate) ask: Ask,
}

/// What a loop has come to; it stores, the control thread reads.
#[derive(Debug, Default)]
pub(crate) struct LoopState {
    /// The version of the catalog that it works by.
    pub(crate) catalog: AtomicU64,
    /// Turns so far: that it goes up shows that the loop does not hang (rule `a hanging loop loses its lease`).
    pub(crate) turns: AtomicU64,
    /// Every removal up to this version of the catalog was acted on (rule `grants count for adopted maps`).
    pub(crate) stopped: AtomicU64,
    /// So far, and the log synced since (rule `a primary accepts its view`).
    pub(crate) accepted: AtomicU64,
    /// After [`ToLoop::Drain`]: nothing is in flight any more.
    pub(crate) is_drained: AtomicBool,
}

/// Tells that some loop's [`LoopState`] changed. Each has one waiter, so that none takes another's.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    /// A catalog was adopted, or something acknowledged.
    pub(crate) adopted: Notify,
    pub(crate) drained: Notify,
}

/// A loop's end.
#[derive(Debug)]
pub(crate) struct ControlLink {
    pub(crate) from_control: Consumer<ToLoop>,
    pub(crate) to_control: tokio::sync::mpsc::Sender<ToControl>,
    pub(crate) state: Arc<LoopState>,
    pub(crate) notices: Arc<Notices>,
}

impl ControlLink {
    /// Lets the control thread see what the loop has come to.
    pub(crate) fn publish(&self, progress: &LoopProgress) {
        self.publish_catalog(progress.catalog);
        self.publish_acknowledged(progress.stopped, progress.accepted);
        if progress.is_drained {
            self.publish_drained();
        }
    }

    /// Stores the catalog's version if it is new.
    fn publish_catalog(&self, version: u64) {
        if self.state.catalog.load(Ordering::Relaxed) != version {
            self.state.catalog.store(version, Ordering::Release);
            self.notices.adopted.notify_one();
        }
    }

    /// Stores what the brick has acknowledged, after a turn whose replies were sent.
    fn publish_acknowledged(&self, stopped: u64, accepted: u64) {
        let turns = self.state.turns.load(Ordering::Relaxed);
        self.state.turns.store(turns + 1, Ordering::Relaxed);
        let is_same = self.state.stopped.load(Ordering::Relaxed) == stopped
            && self.state.accepted.load(Ordering::Relaxed) == accepted;
        if !is_same {
            self.state.stopped.store(stopped, Ordering::Release);
            self.state.accepted.store(accepted, Ordering::Release);
            self.notices.adopted.notify_one();
        }
    }

    /// Says that nothing is in flight.
    fn publish_drained(&self) {
        if !self.state.is_drained.swap(true, Ordering::AcqRel) {
            self.notices.drained.notify_one();
        }
    }
}

/// The control thread's end of one loop.
#[derive(Debug)]
pub(crate) struct LoopLink {
    ring: Producer<ToLoop>,
    /// Bounded: answers by the requests in flight, the rest by what the control thread sends.
    waiting: VecDeque<ToLoop>,
    wakers: Arc<[Waker]>,
    brick: usize,
    pub(crate) state: Arc<LoopState>,
}

/// Both ends of the link of brick `brick`.
pub(crate) fn new(
    brick: usize,
    wakers: &Arc<[Waker]>,
    to_control: tokio::sync::mpsc::Sender<ToControl>,
    notices: &Arc<Notices>,
) -> (LoopLink, ControlLink) {
    let (ring, from_control) = RingBuffer::new(TO_LOOP_MAX);
    let state = Arc::new(LoopState::default());
    let control = ControlLink {
        from_control,
        to_control,
        state: Arc::clone(&state),
        notices: Arc::clone(notices),
    };
    let wakers = Arc::clone(wakers);
    (
        LoopLink {
            ring,
            waiting: VecDeque::new(),
            wakers,
            brick,
            state,
        },
        control,
    )
}

impl LoopLink {
    /// Sends a message, or keeps it until [`LoopLink::flush`] finds room.
    pub(crate) fn send(&mut self, message: ToLoop) {
        self.waiting.push_back(message);
        self.flush();
    }

    /// Moves what waits into the ring; whether all of it fitted.
    pub(crate) fn flush(&mut self) -> bool {
        while let Some(message) = self.waiting.pop_front() {
            if let Err(PushError::Full(message)) = self.ring.push(message) {
                self.waiting.push_front(message);
                break;
            }
        }
        if let Some(waker) = self.wakers.get(self.brick) {
            waker.wake();
        }
        self.waiting.is_empty()
    }
}

/// The same for all loops.
pub(super) fn send_all(loops: &RefCell<Vec<LoopLink>>, message: impl Fn() -> ToLoop) {
    for link in loops.borrow_mut().iter_mut() {
        link.send(message());
    }
}
