//! The runtime that a client's connections run on, and who drives it.
//!
//! In:  futures that a Python thread waits for; work that goes on meanwhile. Out: their results.
//!
//! The usual way, a thread for the runtime, costs every call two changes of threads, which is several times what a GET costs otherwise. So
//! whoever waits drives: the Python thread itself writes, polls and reads until its result is there. A thread of ours drives when nobody
//! waits: for calls whose results are asked for later, and so that silence, pushes and closed connections are noticed in between. It steps
//! back when a thread begins to wait, and comes again when none has for [`LINGER`].
//!
//! Invariants:
//! - Somebody drives within [`LINGER`] whenever nobody waits, and at once while there is work in the background.
//! - Who drives only decides what a call costs: several may wait at once, with or without ours; the runtime sees to it that one of them
//!   polls.

use pyo3::prelude::*;
use std::{
    future::Future,
    io,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};
use tokio::{
    runtime::{Builder, Runtime},
    sync::Notify,
};

/// How long our thread leaves the runtime to calls that come one after the other.
const LINGER: Duration = Duration::from_millis(2);

/// See the module. The last one of a client ends its runtime.
#[derive(Debug)]
pub(crate) struct Engine {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    runtime: Runtime,
    /// Threads that wait, and drive if need be.
    callers: AtomicUsize,
    /// Waits that have come to an end, wrapping.
    served: AtomicU64,
    /// Calls whose results nobody waits for yet. Apart, since they are held by what the runtime holds.
    background: Arc<AtomicUsize>,
    /// Our thread drives.
    is_driven: AtomicBool,
    /// Asks our thread to step back.
    leave: Notify,
    is_closed: Mutex<bool>,
    changed: Condvar,
}

/// Something that lives on an engine, which it keeps going.
#[derive(Debug)]
pub(crate) struct Open<T> {
    /// Before the engine, so that it ends before it.
    pub(crate) inner: T,
    pub(crate) engine: Arc<Engine>,
}

impl Engine {
    /// A runtime and its thread.
    ///
    /// # Errors
    /// The system has no poller or no thread left.
    pub(crate) fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared {
            runtime: Builder::new_current_thread().enable_all().build()?,
            callers: AtomicUsize::new(0),
            served: AtomicU64::new(0),
            background: Arc::new(AtomicUsize::new(0)),
            is_driven: AtomicBool::new(false),
            leave: Notify::new(),
            is_closed: Mutex::new(false),
            changed: Condvar::new(),
        });
        let of_thread = Arc::clone(&shared);
        thread::Builder::new()
            .name("brickyard".to_owned())
            .spawn(move || of_thread.drive())?;
        Ok(Self { shared })
    }

    /// Makes a call and waits for it, without the interpreter's lock. It is made while this thread drives, so that nobody has to be woken.
    pub(crate) fn wait<T, F>(&self, py: Python<'_>, make: impl FnOnce() -> F + Send) -> T
    where
        T: Send,
        F: Future<Output = T>,
    {
        py.detach(|| {
            let shared = &*self.shared;
            let _caller = Caller::enter(shared);
            if shared.is_driven.load(SeqCst) && shared.background.load(SeqCst) == 0 {
                shared.leave.notify_one();
            }
            shared.runtime.block_on(async { make().await })
        })
    }

    /// Lets a call come to its end whether or not anybody waits.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let background = Background::begin(&self.shared);
        drop(self.shared.runtime.spawn(async move {
            work.await;
            drop(background);
        }));
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        *self.shared.closing() = true;
        self.shared.changed.notify_all();
        self.shared.leave.notify_one();
    }
}

impl Shared {
    /// The life of our thread. The runtime ends with it.
    fn drive(&self) {
        loop {
            let mut served = self.served.load(SeqCst).wrapping_sub(1);
            let mut is_closed = self.closing();
            loop {
                if *is_closed {
                    return;
                }
                let seen = self.served.load(SeqCst);
                let is_quiet = served == seen || self.background.load(SeqCst) > 0;
                if is_quiet && self.callers.load(SeqCst) == 0 {
                    break;
                }
                served = seen;
                let waited = self.changed.wait_timeout(is_closed, LINGER);
                is_closed = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            drop(is_closed);
            self.is_driven.store(true, SeqCst);
            self.runtime.block_on(self.leave.notified());
            self.is_driven.store(false, SeqCst);
        }
    }

    fn closing(&self) -> MutexGuard<'_, bool> {
        self.is_closed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// There is work in the background, and perhaps nobody who does it.
    fn call_driver(&self) {
        if !self.is_driven.load(SeqCst) && self.callers.load(SeqCst) == 0 {
            // Under the lock, lest it come between our thread's look and its sleep.
            drop(self.closing());
            self.changed.notify_all();
        }
    }
}

/// A thread that waits.
struct Caller<'a>(&'a Shared);

impl<'a> Caller<'a> {
    fn enter(shared: &'a Shared) -> Self {
        shared.callers.fetch_add(1, SeqCst);
        Self(shared)
    }
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        self.0.served.fetch_add(1, SeqCst);
        self.0.callers.fetch_sub(1, SeqCst);
        if self.0.background.load(SeqCst) > 0 {
            self.0.call_driver();
        }
    }
}

/// Work that goes on though nobody waits for it.
struct Background(Arc<AtomicUsize>);

impl Background {
    fn begin(shared: &Shared) -> Self {
        shared.background.fetch_add(1, SeqCst);
        shared.call_driver();
        Self(Arc::clone(&shared.background))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}
