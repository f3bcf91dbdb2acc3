//! In the place of `src/threads.rs`: threads that `loom` steers, and a ring that is a queue under its lock.

use loom::sync::{Arc, Condvar};
use loom::thread::{JoinHandle, yield_now};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

pub(crate) use loom::sync::{Mutex, MutexGuard};

/// A thread that may be parked. Not `loom`'s own, whose token is lost while the thread waits for a lock.
#[derive(Clone, Debug)]
pub(crate) struct Thread(Arc<Token>);

#[derive(Debug)]
struct Token {
    is_set: Mutex<bool>,
    is_changed: Condvar,
}

loom::thread_local! {
    static ME: RefCell<Option<Thread>> = RefCell::new(None);
}

impl Thread {
    fn new() -> Self {
        Self(Arc::new(Token {
            is_set: Mutex::new(false),
            is_changed: Condvar::new(),
        }))
    }

    pub(crate) fn unpark(&self) {
        *self.0.is_set.lock().expect("no panic under the lock") = true;
        self.0.is_changed.notify_one();
    }

    fn begin(&self) {
        ME.with(|me| *me.borrow_mut() = Some(self.clone()));
    }
}

/// The thread that asks.
pub(crate) fn current() -> Thread {
    let known = ME.with(|me| me.borrow().clone());
    known.unwrap_or_else(|| {
        let thread = Thread::new();
        thread.begin();
        thread
    })
}

/// Another thread, and its name for whoever wakes it.
pub(crate) fn spawn<R: 'static>(work: impl FnOnce() -> R + 'static) -> (JoinHandle<R>, Thread) {
    let thread = Thread::new();
    let theirs = thread.clone();
    let handle = loom::thread::spawn(move || {
        theirs.begin();
        work()
    });
    (handle, thread)
}

/// Waits until it is woken, or was.
pub(crate) fn park() {
    let Thread(token) = current();
    let mut is_set = token.is_set.lock().expect("no panic under the lock");
    while !*is_set {
        let woken = token.is_changed.wait(is_set);
        is_set = woken.expect("no panic under the lock");
    }
    *is_set = false;
}

/// Time passes as it likes: what waits for it lets others run.
pub(crate) fn park_timeout(_: Duration) {
    yield_now();
}

#[derive(Debug)]
struct Ring<T> {
    content: Mutex<VecDeque<T>>,
    capacity: usize,
    /// Gone with the producer, or the consumer.
    ends: Arc<()>,
}

/// Makes rings.
pub(crate) struct RingBuffer<T>(std::marker::PhantomData<T>);

/// The end that pushes.
#[derive(Debug)]
pub(crate) struct Producer<T> {
    ring: Arc<Ring<T>>,
    _end: Arc<()>,
}

/// The end that pops.
#[derive(Debug)]
pub(crate) struct Consumer<T> {
    ring: Arc<Ring<T>>,
    _end: Arc<()>,
}

/// Why nothing was pushed.
#[derive(Debug)]
pub(crate) enum PushError<T> {
    /// There is no room.
    Full(T),
}

/// There is nothing.
#[derive(Debug)]
pub(crate) struct Empty;

impl<T> RingBuffer<T> {
    #[expect(clippy::new_ret_no_self, reason = "as the ring that it stands for")]
    pub(crate) fn new(capacity: usize) -> (Producer<T>, Consumer<T>) {
        let ends = Arc::new(());
        let ring = Arc::new(Ring {
            content: Mutex::new(VecDeque::new()),
            capacity,
            ends: ends.clone(),
        });
        let producer = Producer {
            ring: ring.clone(),
            _end: ends.clone(),
        };
        (producer, Consumer { ring, _end: ends })
    }
}

impl<T> Ring<T> {
    fn is_abandoned(&self) -> bool {
        // The ring's own, and the asker's.
        Arc::strong_count(&self.ends) < 3
    }
}

impl<T> Producer<T> {
    pub(crate) fn push(&mut self, value: T) -> Result<(), PushError<T>> {
        let mut content = self.ring.content.lock().expect("no panic under the lock");
        if content.len() == self.ring.capacity {
            return Err(PushError::Full(value));
        }
        content.push_back(value);
        Ok(())
    }

    pub(crate) fn slots(&self) -> usize {
        let content = self.ring.content.lock().expect("no panic under the lock");
        self.ring.capacity - content.len()
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.ring.is_abandoned()
    }
}

impl<T> Consumer<T> {
    pub(crate) fn pop(&mut self) -> Result<T, Empty> {
        let mut content = self.ring.content.lock().expect("no panic under the lock");
        content.pop_front().ok_or(Empty)
    }

    pub(crate) fn is_empty(&self) -> bool {
        let content = self.ring.content.lock().expect("no panic under the lock");
        content.is_empty()
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.ring.is_abandoned()
    }
}
