//! The requests of this brick that are not answered yet and not in their clients' input: where each of them waits, and
//! for what.
//!
//! In:  a [`Request`] with what it waits for. Out: the same request, when that has come about or its time is up.
//!
//! ```text
//!                 a brick asks ──> Ready ──┐
//!  a client asks, not served at once ──────┤
//!                                          v
//!        ┌── Barrier <── what was prepared before must commit ── dispatch ──> executed: `replies` until it commits
//!        ├── Values  <── a value is in the log alone ───────────────┤
//!        ├── View    <── no replica may serve it now ───────────────┤
//!        └── Remote  <── another node's brick orders it ────────────┘
//! ```
//! Invariants:
//! - What is here in any state but `Remote` has not been executed, not even in part (rule
//!   `waiting reads are admitted anew`).
//! - What an order has in a state is counted in `orders` as long as it is here (rule `reads follow own writes`).
//! - `Ready` and `View`, which other bricks and other nodes' failures fill, are bounded in bytes.
//!
//! Not here: what happens to a request (`dispatch`), streams to other nodes (`remote`).

mod order;
mod replies;
mod values;

pub(crate) use order::{Orders, Place};
pub(crate) use replies::{Held, Replies};
pub(crate) use values::{ColdValue, Values};

use crate::distributed::Distributed;
use crate::log::KeyRef;
use crate::output::{CommitDependency, Lost, Meets, PlaceholderId};
use crate::request::{Request, SessionOrder, Token, Work};
use crate::room::Stalls;
use crate::version::Version;
use brickyard_metadata::CatalogVersion;
use brickyard_types::Instant;
use slab::Slab;
use std::collections::{BTreeMap, VecDeque};

/// Bytes of requests of other bricks that wait for their turn; past that further ones are refused.
const READY_BYTES_MAX: usize = 64 << 20;

/// Bytes of requests that wait for a view or a lease; past that further ones are refused.
const VIEW_BYTES_MAX: usize = 64 << 20;

/// What a request waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Another brick asked it: for its turn.
    Ready,
    /// For a view in which some replica may serve it, or for a lease.
    View(Option<Backoff>),
    /// For what was prepared before it to commit.
    Barrier,
    /// For values that are read back from the log, and for requests on its keys that came before.
    Values,
    /// For the answer of another node's brick, or for a stream to it: under this number (`remote`).
    Remote(u64),
}

/// A request that another brick has just refused: asking again at once would find nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Backoff {
    pub(crate) until: Instant,
    /// A newer catalog ends it.
    pub(crate) catalog: CatalogVersion,
}

#[derive(Debug)]
struct Waiting {
    request: Request,
    state: State,
}

impl Waiting {
    /// Rises with what one connection asks.
    const fn sequence(&self) -> (u64, PlaceholderId, u32) {
        let Token {
            client,
            placeholder,
            part,
            ..
        } = self.request.origin.token;
        (client, placeholder, part)
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Requests {
    waiting: Slab<Waiting>,
    orders: Orders,
    ready: VecDeque<usize>,
    ready_bytes: usize,
    view: VecDeque<usize>,
    view_bytes: usize,
    barrier: VecDeque<(CommitDependency, usize)>,
    pub(crate) values: Values,
    /// Reads that are with a backup on another brick of this node.
    local_reads: BTreeMap<(u64, PlaceholderId, u32), Option<SessionOrder>>,
    pub(crate) replies: Replies,
    pub(crate) stalls: Stalls,
    pub(crate) distributed: Distributed,
}

impl Requests {
    /// `coordinator`: what this life of the brick is called among those that coordinate.
    pub(crate) fn new(coordinator: u64) -> Self {
        Self {
            waiting: Slab::new(),
            orders: Orders::default(),
            ready: VecDeque::new(),
            ready_bytes: 0,
            view: VecDeque::new(),
            view_bytes: 0,
            barrier: VecDeque::new(),
            values: Values::default(),
            local_reads: BTreeMap::new(),
            replies: Replies::default(),
            stalls: Stalls::default(),
            distributed: Distributed::new(coordinator),
        }
    }

    /// Whether nothing is here, and no reply to another brick is held back.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.replies.all_left() && self.distributed.is_idle()
    }

    /// What is on its way, by order.
    #[inline]
    pub(crate) const fn orders(&self) -> &Orders {
        &self.orders
    }

    /// Whether a request of another brick waits for its turn.
    #[inline]
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether a request waits for a view.
    pub(crate) fn has_view(&self) -> bool {
        !self.view.is_empty()
    }

    /// How many requests wait for a view.
    pub(crate) fn view_len(&self) -> usize {
        self.view.len()
    }

    /// Bytes of requests that wait for their turn, and of those that wait for a view.
    pub(crate) const fn bytes(&self) -> (usize, usize) {
        (self.ready_bytes, self.view_bytes)
    }

    pub(crate) fn get(&self, id: usize) -> Option<&Request> {
        self.waiting.get(id).map(|waiting| &waiting.request)
    }

    pub(crate) fn get_mut(&mut self, id: usize) -> Option<&mut Request> {
        self.waiting.get_mut(id).map(|waiting| &mut waiting.request)
    }

    /// Whether another brick's request may wait for its turn. One always may.
    #[inline]
    pub(crate) fn has_turn_for(&self, request: &Request) -> bool {
        self.ready_bytes + request.bytes() <= READY_BYTES_MAX || !self.has_ready()
    }

    /// A request of another brick waits for its turn.
    #[inline]
    pub(crate) fn await_turn(&mut self, request: Request) {
        self.ready_bytes += request.bytes();
        let state = State::Ready;
        let id = self.waiting.insert(Waiting { request, state });
        self.ready.push_back(id);
    }

    /// The request whose turn it is.
    #[inline]
    pub(crate) fn take_ready(&mut self) -> Option<Request> {
        let id = self.ready.pop_front()?;
        let Waiting { request, state } = self.waiting.remove(id);
        assert_eq!(state, State::Ready, "request {id}");
        let bytes = request.bytes();
        assert!(
            self.ready_bytes >= bytes,
            "a request of {bytes} bytes is taken from {}",
            self.ready_bytes
        );
        self.ready_bytes -= bytes;
        assert!(
            self.has_ready() || self.ready_bytes == 0,
            "no request waits for its turn, but {} bytes",
            self.ready_bytes
        );
        Some(request)
    }

    /// Whether a request may wait for a view. One always may.
    pub(crate) fn has_view_for(&self, request: &Request) -> bool {
        self.view_bytes + request.bytes() <= VIEW_BYTES_MAX || !self.has_view()
    }

    /// A request waits for a view.
    ///
    /// It comes where it belongs in its order: one that comes back from another brick, or from waiting for a value,
    /// goes before what its connection sent after it (rule `reads follow own writes`).
    pub(crate) fn await_view(&mut self, request: Request, backoff: Option<Backoff>) {
        self.view_bytes += request.bytes();
        let order = request.order;
        let has_others = order.is_some_and(|order| self.orders.is_at(order, Place::View));
        let id = self.enter(request, State::View(backoff));
        let sequence = self.waiting[id].sequence();
        let is_after = |other: &usize| {
            let other = &self.waiting[*other];
            other.request.order == order && other.sequence() > sequence
        };
        let at = has_others.then(|| self.view.iter().position(is_after));
        match at.flatten() {
            Some(at) => self.view.insert(at, id),
            None => self.view.push_back(id),
        }
    }

    /// All that wait for a view, in order: each is to be taken, or to be kept.
    pub(crate) fn take_view(&mut self) -> VecDeque<usize> {
        std::mem::take(&mut self.view)
    }

    /// One of [`Self::take_view`] waits on.
    pub(crate) fn keep_view(&mut self, id: usize) {
        assert!(
            matches!(
                self.waiting.get(id).map(|it| it.state),
                Some(State::View(_))
            ),
            "request {id} waits for a view"
        );
        self.view.push_back(id);
    }

    /// Until when a request of [`Self::take_view`] leaves the brick that refused it alone.
    pub(crate) fn backoff(&self, id: usize) -> Option<Backoff> {
        match self.waiting.get(id)?.state {
            State::View(backoff) => backoff,
            _ => None,
        }
    }

    /// A request waits for what was prepared before it.
    pub(crate) fn await_barrier(&mut self, dependency: CommitDependency, request: Request) {
        let id = self.enter(request, State::Barrier);
        self.barrier.push_back((dependency, id));
    }

    /// The first of those that wait for what was prepared before them, if that has committed.
    pub(crate) fn take_behind_barrier(&mut self, log: &impl Meets) -> Option<Request> {
        let (dependency, id) = *self.barrier.front()?;
        if !log.meets(dependency) {
            return None;
        }
        self.barrier.pop_front();
        Some(self.leave(id))
    }

    /// A request waits for values, and for those on its keys that came before it.
    pub(crate) fn await_values(&mut self, request: Request, keys: Vec<KeyRef>) -> usize {
        let origin = request.origin;
        let id = self.enter(request, State::Values);
        let session = (origin.member, origin.token.connection);
        self.values.suspend(id, session, keys);
        id
    }

    /// Lends out what a request asks, while it runs on the brick that holds it here.
    pub(crate) fn lend_work(&mut self, id: usize) -> Option<Work> {
        let waiting = self.waiting.get_mut(id)?;
        assert_eq!(waiting.state, State::Values, "request {id} runs");
        let placeholder = Work::Transaction(Box::default());
        Some(std::mem::replace(&mut waiting.request.work, placeholder))
    }

    /// Takes it back.
    pub(crate) fn give_back_work(&mut self, id: usize, work: Work) {
        if let Some(request) = self.get_mut(id) {
            request.work = work;
        }
    }

    /// A request goes to another node, under a number of `remote`.
    pub(crate) fn await_answer(&mut self, request: Request, number: u64) -> usize {
        self.enter(request, State::Remote(number))
    }

    /// Takes a request that waits for values, for a view after [`Self::take_view`], or for an answer.
    pub(crate) fn take(&mut self, id: usize) -> Option<Request> {
        self.waiting.contains(id).then(|| self.leave(id))
    }

    /// A read goes to a backup on another brick of this node.
    pub(crate) fn enter_local_read(&mut self, token: Token, order: Option<SessionOrder>) {
        self.orders.enter(order, Place::LocalRead);
        let before = self
            .local_reads
            .insert((token.client, token.placeholder, token.part), order);
        assert!(before.is_none(), "{token:?} is with a backup already");
    }

    /// It is answered, or given back; whether it was one.
    pub(crate) fn leave_local_read(&mut self, token: Token) -> bool {
        if self.local_reads.is_empty() {
            return false;
        }
        let order = self
            .local_reads
            .remove(&(token.client, token.placeholder, token.part));
        self.orders.leave(order.flatten(), Place::LocalRead);
        order.is_some()
    }

    /// Takes those whose time is up, with what they waited for; where this node is cut off also those that wait for it
    /// not to be. `was_sent` says whether what has that number is with another node.
    pub(crate) fn take_overdue(
        &mut self,
        now: Instant,
        is_cut_off: bool,
        was_sent: impl Fn(u64) -> bool,
    ) -> Vec<(Request, State)> {
        let is_over = |waiting: &Waiting| {
            let is_late = waiting.request.deadline <= now;
            match waiting.state {
                State::Ready => false,
                State::Values | State::Barrier => is_late,
                State::View(_) => is_late || is_cut_off,
                State::Remote(number) => is_late || is_cut_off && !was_sent(number),
            }
        };
        let over: Vec<usize> = self
            .waiting
            .iter()
            .filter(|(_, waiting)| is_over(waiting))
            .map(|(id, _)| id)
            .collect();
        if over.is_empty() {
            return Vec::new();
        }
        // Both are in order of their numbers.
        let is_left = |id: &usize| over.binary_search(id).is_err();
        self.view.retain(is_left);
        self.barrier.retain(|(_, id)| is_left(id));
        let taken = over.iter().map(|id| {
            let state = self.waiting[*id].state;
            (self.leave(*id), state)
        });
        taken.collect()
    }

    /// Operations were lost: what waits for some of them to commit waits for what was prepared since.
    pub(crate) fn refuse(
        &mut self,
        lost: Lost,
        error: &[u8],
        barrier: impl Fn() -> CommitDependency,
    ) {
        for (dependency, _) in &mut self.barrier {
            if dependency.is_hit_by(lost) {
                *dependency = barrier();
            }
        }
        self.replies.refuse(lost, error);
    }

    /// Op numbers will be used again: what a transaction watches no longer says what it was.
    pub(crate) fn forget_watches(&mut self) {
        for (_, waiting) in &mut self.waiting {
            if let Work::Transaction(transaction) = &mut waiting.request.work {
                for watch in &mut transaction.watches {
                    watch.version = Version::Unknown;
                }
            }
        }
    }

    fn enter(&mut self, mut request: Request, state: State) -> usize {
        request.has_waited = true;
        for place in places(&request, state) {
            self.orders.enter(request.order, place);
        }
        self.waiting.insert(Waiting { request, state })
    }

    fn leave(&mut self, id: usize) -> Request {
        let Waiting { request, state } = self.waiting.remove(id);
        for place in places(&request, state) {
            self.orders.leave(request.order, place);
        }
        match state {
            State::Values => self.values.resume(id),
            State::View(_) => {
                let bytes = request.bytes();
                assert!(
                    self.view_bytes >= bytes,
                    "a request of {bytes} bytes is taken from {}",
                    self.view_bytes
                );
                self.view_bytes -= bytes;
            }
            State::Ready | State::Barrier | State::Remote(_) => {}
        }
        request
    }
}

/// As what a request counts in its order.
fn places(request: &Request, state: State) -> impl Iterator<Item = Place> {
    let place = match state {
        State::Ready | State::Barrier => None,
        State::View(_) => Some(Place::View),
        State::Values => Some(Place::Values),
        State::Remote(_) => Some(Place::Remote),
    };
    let writes = place == Some(Place::Remote) && !request.work.only_reads();
    let has_scripts = place == Some(Place::Values) && request.work.has_scripts();
    place
        .into_iter()
        .chain(writes.then_some(Place::RemoteWrite))
        .chain(has_scripts.then_some(Place::Script))
}
