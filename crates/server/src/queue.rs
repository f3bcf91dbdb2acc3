//! Bounded queues between a loop and a thread of its own: orders one way, reports the other.
//!
//! The loop never waits: what a full ring refuses stays with it ([`Orders`]). The thread may wait,
//! and does so for a full ring of reports ([`Reports`]): then it is ahead of the loop anyway.

use crate::threads::{
    Consumer, Mutex, MutexGuard, Producer, PushError, RingBuffer, Thread, park, park_timeout,
};
use crate::wake::Waker;
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// How long a thread waits before it looks again whether the loop made room.
const FULL_PAUSE: Duration = Duration::from_millis(1);

/// The loop's end of its orders to a thread.
#[derive(Debug)]
pub(crate) struct Orders<T> {
    ring: Producer<T>,
    capacity: usize,
    /// Bounded by what the brick asks for: its pending bytes, its reads in flight.
    waiting: VecDeque<T>,
    /// Dropped after `ring` (fields are dropped in order), so that the thread sees that it ended.
    sleeper: Sleeper,
}

/// A thread that may sleep for want of orders; woken a last time when its loop has ended.
#[derive(Debug, Default)]
struct Sleeper(Option<Thread>);

impl Sleeper {
    fn wake(&self) {
        // Unparking a thread that is not parked is one atomic exchange, no system call.
        if let Some(thread) = &self.0 {
            thread.unpark();
        }
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.wake();
    }
}

/// A ring of orders: the loop's end and the thread's.
pub(crate) fn orders<T>(capacity: usize) -> (Orders<T>, Consumer<T>) {
    let (ring, consumer) = RingBuffer::new(capacity);
    (
        Orders {
            ring,
            capacity,
            waiting: VecDeque::new(),
            sleeper: Sleeper::default(),
        },
        consumer,
    )
}

impl<T> Orders<T> {
    /// Names the thread that is to be woken for orders.
    pub(crate) fn attach(&mut self, thread: Thread) {
        self.sleeper.0 = Some(thread);
    }

    /// Gives an order; the thread is woken by [`Orders::flush`].
    pub(crate) fn give(&mut self, order: T) {
        self.waiting.push_back(order);
    }

    /// Moves what waits into the ring and wakes the thread if there is something new.
    pub(crate) fn flush(&mut self) {
        let mut is_new = false;
        while let Some(order) = self.waiting.pop_front() {
            match self.ring.push(order) {
                Ok(()) => is_new = true,
                Err(PushError::Full(order)) => {
                    self.waiting.push_front(order);
                    break;
                }
            }
        }
        if is_new {
            self.sleeper.wake();
        }
    }

    /// What the thread works on, if it has nothing to do ([`serve`]): with that the loop overtakes no order.
    pub(crate) fn lend<'a, W>(&self, worker: &'a Mutex<W>) -> Option<MutexGuard<'a, W>> {
        let is_idle = self.waiting.is_empty() && self.ring.slots() == self.capacity;
        // An order that has left the ring is carried out before the lock is free.
        is_idle.then(|| worker.try_lock().ok()).flatten()
    }

    /// Whether an order waits because the ring is full.
    pub(crate) fn is_backed_up(&self) -> bool {
        !self.waiting.is_empty()
    }
}

/// A thread's end of its reports to a loop.
#[derive(Debug)]
pub(crate) struct Reports<T> {
    ring: Producer<T>,
    wakers: Arc<[Waker]>,
    brick: usize,
}

/// A ring of reports to the loop of brick `brick`.
pub(crate) fn reports<T>(
    capacity: usize,
    wakers: &Arc<[Waker]>,
    brick: usize,
) -> (Reports<T>, Consumer<T>) {
    let (ring, consumer) = RingBuffer::new(capacity);
    (
        Reports {
            ring,
            wakers: Arc::clone(wakers),
            brick,
        },
        consumer,
    )
}

impl<T> Reports<T> {
    /// Reports to the loop, waiting for room if need be; to a loop that has ended, nothing.
    pub(crate) fn give(&mut self, report: T) {
        let mut report = report;
        loop {
            match self.ring.push(report) {
                Ok(()) => break self.wake(),
                Err(PushError::Full(refused)) => {
                    if self.ring.is_abandoned() {
                        break;
                    }
                    report = refused;
                    self.wake();
                    park_timeout(FULL_PAUSE);
                }
            }
        }
    }

    /// Wakes the loop if it sleeps.
    pub(crate) fn wake(&self) {
        if let Some(waker) = self.wakers.get(self.brick) {
            waker.wake();
        }
    }
}

/// Takes the next order, sleeping until there is one; `None` when the loop has ended.
pub(crate) fn wait<T>(orders: &mut Consumer<T>) -> Option<T> {
    wait_for(orders, |orders| orders.pop().ok())
}

/// Carries out orders with a worker that the loop may borrow meanwhile ([`Orders::lend`]), until the loop has ended.
pub(crate) fn serve<T, W>(
    orders: &mut Consumer<T>,
    worker: &Mutex<W>,
    mut carry_out: impl FnMut(&mut W, T),
) {
    while wait_for(orders, |orders| (!orders.is_empty()).then_some(())).is_some() {
        // Taken from the ring only under the lock: one that is in the ring keeps the loop from borrowing.
        let mut worker = lock(worker);
        while let Ok(order) = orders.pop() {
            carry_out(&mut worker, order);
        }
    }
}

/// A thread that panicked stops the process, so what it held is of no concern.
pub(crate) fn lock<W>(worker: &Mutex<W>) -> MutexGuard<'_, W> {
    worker.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sleeps until `look` finds an order; `None` when the loop has ended and there is none.
fn wait_for<T, R>(
    orders: &mut Consumer<T>,
    mut look: impl FnMut(&mut Consumer<T>) -> Option<R>,
) -> Option<R> {
    loop {
        if let Some(found) = look(orders) {
            return Some(found);
        }
        // The ring is looked at once more after it was found abandoned: the last order may have
        // been pushed in between.
        if orders.is_abandoned() {
            return look(orders);
        }
        park();
    }
}
