//! A call's result, some time later.
//!
//! In:  a call that was sent, or one that waits until less is in flight. Out: a future.
//!
//! Invariants:
//! - What is in flight makes its way whether or not its future is polled.
//! - What had to wait is held by its future, so that the caller pays for it and not the library; it is sent
//!   when its turn comes while the future is polled, and never if the future is dropped before.

use crate::{Error, prepared::Prepared, router::Router};
use brickyard_wire::Value;
use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};
use tokio::{sync::oneshot, time::timeout_at};

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// How a reply becomes a result.
pub(crate) type Convert<T> = fn(Value) -> Result<T, Error>;

/// The result of a call that has been made, to be awaited whenever it suits.
///
/// A call is sent when it is made. Make many and await them afterwards: they travel together. Calls that are
/// in flight at the same time have no order among each other; await one before making another that builds on
/// it.
///
/// Only if more is in flight than [`Options`](crate::Options) allow does a call wait in its `Pending`, and is
/// sent while that is polled. Dropping a `Pending` gives up its result, not the call; whether a call is
/// executed whose `Pending` was dropped is known only to the table.
///
/// ```no_run
/// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
/// let (one, two) = (table.get("one"), table.get("two")); // both are under way
/// println!("{:?} {:?}", one.await?, two.await?);
/// # Ok(())
/// # }
/// ```
#[must_use = "only its Pending tells what became of a call"]
pub struct Pending<T> {
    state: State<T>,
}

// Nothing in it is pinned: what is polled is in boxes.
impl<T> Unpin for Pending<T> {}

enum State<T> {
    /// In flight.
    Sent(oneshot::Receiver<Result<Value, Error>>, Convert<T>),
    /// Too much is in flight.
    Waiting(Box<Waiting>, Convert<T>),
    /// Made of other calls.
    Joined(Boxed<Result<T, Error>>),
    /// Refused before it was sent; nothing, once that was told.
    Failed(Option<Error>),
    /// Answered before it was sent; the same.
    Known(Option<T>),
}

struct Waiting {
    router: Arc<Router>,
    /// Nothing, once it is sent.
    prepared: Option<Prepared>,
    cost: u32,
    times: (Instant, Instant),
    /// Whether its turn came before the deadline.
    turn: Boxed<bool>,
}

impl<T> Pending<T> {
    /// Sends a request, or waits for its turn.
    pub(crate) fn start(
        router: &Arc<Router>,
        prepared: Prepared,
        times: (Instant, Instant),
        convert: Convert<T>,
    ) -> Self {
        let cost = router.client.budget.cost(prepared.bytes().len());
        let state = if router.client.budget.try_take(cost) {
            State::Sent(router.start(prepared, cost, times), convert)
        } else if let Some(until) = turn_until(router, times) {
            let client = Arc::clone(&router.client);
            let turn = async move {
                let turn = client.budget.take(cost);
                timeout_at(until.into(), turn).await.is_ok()
            };
            let waiting = Waiting {
                router: Arc::clone(router),
                prepared: Some(prepared),
                cost,
                times,
                turn: Box::pin(turn),
            };
            State::Waiting(Box::new(waiting), convert)
        } else {
            let after = router.client.budget.expected_wait();
            State::Failed(Some(Error::Overloaded { after }))
        };
        Self { state }
    }

    pub(crate) const fn failed(error: Error) -> Self {
        Self {
            state: State::Failed(Some(error)),
        }
    }

    pub(crate) const fn known(result: T) -> Self {
        Self {
            state: State::Known(Some(result)),
        }
    }

    pub(crate) fn joined(future: impl Future<Output = Result<T, Error>> + Send + 'static) -> Self {
        Self {
            state: State::Joined(Box::pin(future)),
        }
    }

    /// The results of several calls, in their order, however each came out.
    ///
    /// What waits for its turn is sent as soon as that comes, while this is polled.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// use brickyard_client::Pending;
    /// let visits = ["start", "about"].map(|page| table.incr(page));
    /// for visits in Pending::all(visits.into()).await? {
    ///     println!("{}", visits?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn all(calls: Vec<Self>) -> Pending<Vec<Result<T, Error>>>
    where
        T: Send + 'static,
    {
        Pending::joined(async move { Ok(join(calls).await) })
    }

    /// Sends what waits, if its turn has come; whether nothing waits any more.
    pub(crate) fn poll_sent(&mut self, context: &mut Context<'_>) -> bool {
        let State::Waiting(waiting, convert) = &mut self.state else {
            return true;
        };
        let Poll::Ready(is_in_time) = waiting.turn.as_mut().poll(context) else {
            return false;
        };
        let Some(prepared) = waiting.prepared.take() else {
            return true;
        };
        // Its turn may have come long before anybody looked.
        let is_late = Instant::now() >= waiting.times.1;
        self.state = if !is_in_time {
            let after = waiting.times.0.elapsed();
            State::Failed(Some(Error::Overloaded { after }))
        } else if is_late || waiting.router.is_closed() {
            waiting.router.client.budget.give_back(waiting.cost);
            State::Failed(Some(if is_late {
                too_late(&prepared, waiting.times)
            } else {
                Error::Closed
            }))
        } else {
            let receiver = waiting.router.start(prepared, waiting.cost, waiting.times);
            State::Sent(receiver, *convert)
        };
        true
    }
}

/// Until when a call may wait for its turn; `None`: it would have to wait longer.
fn turn_until(router: &Router, (started, deadline): (Instant, Instant)) -> Option<Instant> {
    let client = &router.client;
    let half = deadline.saturating_duration_since(started) / 2;
    let longest = half.min(client.options.turn_wait_max);
    (client.budget.expected_wait() < longest).then(|| started + longest)
}

fn too_late(prepared: &Prepared, (started, deadline): (Instant, Instant)) -> Error {
    let after = deadline.saturating_duration_since(started);
    if prepared.shape.is_read {
        Error::Timeout { after }
    } else {
        Error::unreachable(format!(
            "as much as Options allow was in flight for {after:?}"
        ))
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let pending = self.get_mut();
        if !pending.poll_sent(context) {
            return Poll::Pending;
        }
        match &mut pending.state {
            State::Sent(receiver, convert) => Pin::new(receiver).poll(context).map(|told| {
                // Every call tells its outcome, so this fails only if it is polled once more.
                told.unwrap_or(Err(Error::Closed)).and_then(*convert)
            }),
            State::Joined(future) => future.as_mut().poll(context),
            State::Failed(error) => Poll::Ready(Err(error.take().unwrap_or(Error::Closed))),
            State::Known(result) => Poll::Ready(result.take().ok_or(Error::Closed)),
            State::Waiting(..) => Poll::Pending,
        }
    }
}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Sent(..) => "sent",
            State::Waiting(..) => "waiting",
            State::Joined(_) => "joined",
            State::Failed(_) => "failed",
            State::Known(_) => "known",
        };
        f.debug_struct("Pending").field("state", &state).finish()
    }
}

/// All results, in the order of the calls, however each came out.
pub(crate) async fn join<T>(mut parts: Vec<Pending<T>>) -> Vec<Result<T, Error>> {
    let mut results = Vec::with_capacity(parts.len());
    // Those before this place are in flight, and make their way by themselves.
    let mut sent = 0;
    std::future::poll_fn(move |context| {
        loop {
            while parts
                .get_mut(sent)
                .is_some_and(|part| part.poll_sent(context))
            {
                sent += 1;
            }
            let Some(part) = parts.get_mut(results.len()) else {
                return Poll::Ready(std::mem::take(&mut results));
            };
            match Pin::new(part).poll(context) {
                Poll::Ready(result) => results.push(result),
                Poll::Pending => return Poll::Pending,
            }
        }
    })
    .await
}
