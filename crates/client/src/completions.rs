//! Calls that are completed in whatever order they come to an end.
//!
//! In:  [`Pending`] calls. Out: a name for each, and later that name with its result; or a call of a handler.
//!
//! Beside futures this is the other way to write split-phase programs: a loop that makes calls and takes what has come to an end, by
//! looking or by waiting, with what it knows of a call kept under the call's name.
//!
//! Source: Gribble et al., "Scalable, Distributed Data Structures for Internet Service Construction" (OSDI 2000), section 4.4: a call
//! returns at once, and its completion goes to an upcall handler or to a queue that can be polled or blocked on.

use crate::{Error, Pending};
use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

/// The name of a call in the queue that it was added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(u64);

/// A queue of calls, from which each is taken when it has come to an end.
///
/// Calls that wait for their turn (more is in flight than [`Options`](crate::Options) allow) are sent while the queue is polled or
/// waited for. Dropping it gives up the results, not the calls.
///
/// ```no_run
/// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
/// use brickyard_client::Completions;
///
/// let mut calls = Completions::new();
/// let first = calls.add(table.incr("visits:start"));
/// calls.add(table.incr("visits:about"));
/// // What is there by now, without waiting.
/// while let Some((id, visits)) = calls.poll() {
///     println!("{} {:?}", id == first, visits?);
/// }
/// // All others, as they come.
/// while let Some((id, visits)) = calls.next().await {
///     println!("{} {:?}", id == first, visits?);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Completions<T> {
    calls: FuturesUnordered<Named<T>>,
    added: u64,
}

impl<T> Default for Completions<T> {
    fn default() -> Self {
        Self {
            calls: FuturesUnordered::new(),
            added: 0,
        }
    }
}

impl<T> Completions<T> {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a call, and returns the name that it comes out with.
    pub fn add(&mut self, call: Pending<T>) -> CallId {
        let id = CallId(self.added);
        self.added += 1;
        self.calls.push(Named { id, call });
        id
    }

    /// A call that has come to an end; `None`: none has, or there is none.
    pub fn poll(&mut self) -> Option<(CallId, Result<T, Error>)> {
        self.calls.next().now_or_never().flatten()
    }

    /// The next call that comes to an end; `None`: there is none left.
    pub async fn next(&mut self) -> Option<(CallId, Result<T, Error>)> {
        self.calls.next().await
    }

    /// How many calls are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}

impl<T: Send + 'static> Pending<T> {
    /// Has `handler` called with the result, on a task of its own.
    ///
    /// ```no_run
    /// # fn example(table: brickyard_client::Table) {
    /// table.incr("visits").upcall(|visits| println!("{visits:?}"));
    /// # }
    /// ```
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn upcall(self, handler: impl FnOnce(Result<T, Error>) + Send + 'static) {
        tokio::spawn(async move { handler(self.await) });
    }
}

/// A call with its name.
#[derive(Debug)]
struct Named<T> {
    id: CallId,
    call: Pending<T>,
}

impl<T> Future for Named<T> {
    type Output = (CallId, Result<T, Error>);

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { id, call } = self.get_mut();
        Pin::new(call).poll(context).map(|result| (*id, result))
    }
}

#[cfg(test)]
#[path = "completions_test.rs"]
mod completions_test;
