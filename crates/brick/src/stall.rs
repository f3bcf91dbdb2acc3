//! Requests that cannot run now and may soon: a view is changing, the lease has run out, a backup does not yet
//! know the outcome of a write.
//!
//! In:  work with the one who waits for it. Out: the same work, placed anew when something has changed; an
//!      error that promises "not executed" when its time is up.
//!
//! Invariant: what is here has not been executed, not even in part (PROTOCOL rule 24).

use crate::brick::Brick;
use crate::connection::ConnectionId;
use crate::core::Core;
use crate::forward::{Forward, ForwardReply, ForwardRequest, Origin, Work};
use crate::keyed::{error_line, honest_line, no_table};
use crate::output::{Gate, HoleId, Lost};
use crate::remote::only_reads;
use crate::replica::Placing;
use crate::session::Shares;
use brickyard_command::{ErrorReply, table::flag};
use brickyard_metadata::CatalogVersion;
use brickyard_routing::Member;
use brickyard_types::{Instant, Slot, TableId};
use brickyard_wire::Protocol;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// What one connection asks of one slot of a table. Such requests run in the order in which they were sent. (Not of one
/// partition: the slot is in another one when that is split.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lane {
    pub(crate) member: Member,
    pub(crate) connection: ConnectionId,
    pub(crate) table: TableId,
    pub(crate) slot: Slot,
}

/// Lanes with something in them, and how much.
#[derive(Debug, Default)]
pub(crate) struct Lanes(BTreeMap<Lane, u32>);

impl Lanes {
    pub(crate) fn is_busy(&self, lane: Lane) -> bool {
        self.0.contains_key(&lane)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn enter(&mut self, lane: Option<Lane>) {
        if let Some(lane) = lane {
            *self.0.entry(lane).or_insert(0) += 1;
        }
    }

    pub(crate) fn leave(&mut self, lane: Option<Lane>) {
        if let Some(lane) = lane
            && let Some(count) = self.0.get_mut(&lane)
        {
            assert!(*count > 0, "nothing of {lane:?} waits");
            *count -= 1;
            if *count == 0 {
                self.0.remove(&lane);
            }
        }
    }
}

/// Bytes of requests that wait; past that further ones are refused.
const BYTES_MAX: usize = 64 << 20;

/// Which part of a request's time a node may be without a lease before it refuses what waits for one.
const CUT_OFF_PART: u32 = 4;

/// Bytes that one takes besides its arguments, about.
const STALLED_BYTES: usize = size_of::<Stalled>();

/// Work that waits.
#[derive(Debug)]
pub(crate) struct Stalled {
    request: ForwardRequest,
    origin: Origin,
    lane: Option<Lane>,
    until: Instant,
    rest: Option<Rest>,
}

/// A request that another brick has just refused: asking again at once would find nothing else.
#[derive(Clone, Copy, Debug)]
struct Rest {
    until: Instant,
    /// A newer catalog ends it.
    catalog: CatalogVersion,
}

/// How long such a request rests.
const REST: Duration = Duration::from_millis(10);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Stalls {
    waiting: VecDeque<Stalled>,
    bytes: usize,
    pub(crate) lanes: Lanes,
}

impl Stalled {
    /// Rises with what one connection asks.
    fn order(&self) -> (u64, HoleId, u32) {
        let token = self.request.token;
        (token.client, token.hole, token.part)
    }
}

impl Stalls {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Puts it where it belongs in its lane: one that comes back from another brick, or from waiting for a value,
    /// goes before what its connection sent after it (PROTOCOL rule 26).
    fn insert(&mut self, stalled: Stalled) {
        let is_after = |it: &Stalled| it.lane == stalled.lane && it.order() > stalled.order();
        let is_alone = stalled.lane.is_none_or(|lane| !self.lanes.is_busy(lane));
        let at = if is_alone {
            None
        } else {
            self.waiting.iter().position(is_after)
        };
        self.lanes.enter(stalled.lane);
        self.bytes += stalled.request.bytes() + STALLED_BYTES;
        match at {
            Some(at) => self.waiting.insert(at, stalled),
            None => self.waiting.push_back(stalled),
        }
    }

    /// The one that has waited longest.
    fn pop(&mut self) -> Option<Stalled> {
        let stalled = self.waiting.pop_front()?;
        let bytes = stalled.request.bytes() + STALLED_BYTES;
        assert!(
            self.bytes >= bytes,
            "a request of {bytes} bytes is taken from {}",
            self.bytes
        );
        self.bytes -= bytes;
        Some(stalled)
    }

    fn push(&mut self, stalled: Stalled) {
        self.bytes += stalled.request.bytes() + STALLED_BYTES;
        self.waiting.push_back(stalled);
    }
}

impl Core {
    /// When a request that begins now is given up; one that is placed anew keeps its time, however often it
    /// has to wait again (PROTOCOL rule 34).
    pub(crate) fn deadline(&self) -> Instant {
        let fresh = || self.now + self.shared.request_deadline;
        let placing = self.replicas.placing;
        placing.map_or_else(fresh, |placing| placing.until)
    }

    /// How often the request that is being placed was sent on in vain.
    pub(crate) fn moves(&self) -> u32 {
        self.replicas.placing.map_or(0, |placing| placing.moves)
    }
}

impl Brick {
    /// Sets work aside until something changes.
    pub(crate) fn stall_request(
        &mut self,
        request: ForwardRequest,
        origin: Origin,
        until: Instant,
    ) {
        self.set_aside(request, origin, until, None);
    }

    /// As [`Self::stall_request`], for a request of this brick's client that another brick does not serve.
    pub(crate) fn stall_returned(&mut self, mut request: ForwardRequest) {
        request.moves += 1;
        let origin = Origin {
            member: self.core.member(),
            token: request.token,
        };
        let until = request.until;
        let rest = Rest {
            until: self.core.now + REST,
            catalog: self.core.catalog.version(),
        };
        self.set_aside(request, origin, until, Some(rest));
    }

    fn set_aside(
        &mut self,
        request: ForwardRequest,
        origin: Origin,
        until: Instant,
        rest: Option<Rest>,
    ) {
        let is_full = self.stalls.bytes + request.bytes() > BYTES_MAX && !self.stalls.is_empty();
        if is_full {
            return self.refuse_stalled(origin);
        }
        let lane = self.lane(&origin, request.table, &request.work);
        self.stalls.insert(Stalled {
            request,
            origin,
            lane,
            until,
            rest,
        });
    }

    #[cold]
    fn refuse_stalled(&mut self, origin: Origin) {
        self.core.stats().refused_busy.add(1);
        let error = ErrorReply::new(format!(
            "BUSY brick {} has {} bytes of requests waiting for a view or a lease; the command was not executed, \
             try again later",
            self.core.id, self.stalls.bytes
        ));
        self.complete(origin, error_line(&error), Gate::OPEN);
    }

    /// The lane of a request; `None`: it is about a whole table.
    pub(crate) fn lane(&self, origin: &Origin, table: TableId, work: &Work) -> Option<Lane> {
        let key = work.first_key()?;
        let index = *self.core.table_by_id.get(&table)?;
        Some(Lane {
            member: origin.member,
            connection: origin.token.connection,
            table,
            slot: self.core.locate(index, key)?.slot,
        })
    }

    /// Places stalled work anew, if anything has changed since.
    pub(crate) fn run_stalled(&mut self) {
        if !std::mem::take(&mut self.core.replicas.is_woken) || self.stalls.is_empty() {
            return;
        }
        let mut still: BTreeSet<Lane> = BTreeSet::new();
        // What has to wait again is looked at when something has changed again.
        let mut round = std::mem::take(&mut self.stalls.waiting);
        while let Some(stalled) = round.pop_front() {
            let is_behind = stalled.lane.is_some_and(|lane| {
                still.contains(&lane) || self.has_asked(lane) || self.has_parked(lane)
            });
            let rests = stalled.rest.is_some_and(|rest| {
                self.core.now < rest.until && rest.catalog == self.core.catalog.version()
            });
            if is_behind || rests {
                still.extend(stalled.lane);
                self.stalls.waiting.push_back(stalled);
                continue;
            }
            self.stalls.bytes -= stalled.request.bytes() + STALLED_BYTES;
            let Stalled {
                request,
                origin,
                lane,
                until,
                rest: _,
            } = stalled;
            self.stalls.lanes.leave(lane);
            let before = self.stalls.waiting.len();
            let moves = request.moves;
            self.keep_time(Placing { until, moves }, |brick| {
                brick.place_again(request, origin, until);
            });
            if self.stalls.waiting.len() > before {
                still.extend(lane);
            }
        }
    }

    /// Runs what was asked for earlier: what it waits for from here on it waits for as long as it has left.
    pub(crate) fn keep_time(&mut self, placing: Placing, run: impl FnOnce(&mut Self)) {
        let before = self.core.replicas.placing.replace(placing);
        run(self);
        self.core.replicas.placing = before;
    }

    fn place_again(&mut self, request: ForwardRequest, origin: Origin, until: Instant) {
        let Some(table) = self.core.table_by_id.get(&request.table).copied() else {
            let error = no_table(request.work.named());
            return self.complete(origin, error_line(&error), Gate::OPEN);
        };
        let ForwardRequest {
            token,
            protocol,
            work,
            ..
        } = request;
        let is_own = origin.member == self.core.member();
        let work = match work {
            Work::Share(spec, args, share) if is_own && share != 0 && spec.has(flag::READONLY) => {
                let asked = Shares {
                    spec,
                    args,
                    table,
                    protocol,
                    is_named: true,
                };
                return self.ask_shares_again(&asked, token, until);
            }
            work => work,
        };
        let key = work.first_key().map(<[u8]>::to_vec);
        if is_own {
            self.place_until(work, table, protocol, token, key.as_deref(), until);
        } else {
            self.run_for_peer(work, table, protocol, origin, key.as_deref(), until);
        }
    }

    /// Whether this node has been without a lease for so long that clients had better ask another: a part of the time that
    /// a request may take, so that enough of it is left for that.
    pub(crate) fn is_cut_off(&self) -> bool {
        let patience = self.core.shared.request_deadline / CUT_OFF_PART;
        self.core.replicas.is_cut_off(self.core.now, patience)
    }

    /// Ends what has waited too long, or what waits here in vain.
    pub(crate) fn end_stalled(&mut self) {
        let now = self.core.now;
        let is_cut_off = self.is_cut_off();
        for _ in 0..self.stalls.waiting.len() {
            let Some(stalled) = self.stalls.pop() else {
                return;
            };
            if stalled.until > now && !is_cut_off {
                self.stalls.push(stalled);
                continue;
            }
            self.stalls.lanes.leave(stalled.lane);
            let error = self.why_stalled(&stalled.request.work);
            let line = honest_line(&stalled.request.work, &error);
            self.complete(stalled.origin, line, Gate::OPEN);
        }
    }

    /// Ends shares that have waited too long for what was prepared before them: where some of that is given up they wait
    /// for what was prepared since as well.
    pub(crate) fn end_deferred(&mut self) {
        let now = self.core.now;
        if self.deferred.iter().all(|(_, share)| share.until > now) {
            return;
        }
        let deferred = std::mem::take(&mut self.deferred);
        let (late, waiting): (Vec<_>, Vec<_>) =
            deferred.into_iter().partition(|it| it.1.until <= now);
        self.deferred = waiting.into();
        let error = ErrorReply::constant(
            "CLUSTERDOWN what was written to the table before has not committed in time; the command was not executed, \
             try again",
        );
        for (_, share) in late {
            let line = honest_line(&share.work, &error);
            self.complete(share.origin, line, Gate::OPEN);
        }
    }

    fn why_stalled(&self, work: &Work) -> ErrorReply {
        if !self.core.replicas.was_leased {
            return ErrorReply::constant(
                "LOADING this node has started and waits for a lease from its cluster's control plane; the command was \
                 not executed, try again",
            );
        }
        let what = match work {
            Work::Share(..) => "a part of the table",
            _ => "the key",
        };
        ErrorReply::new(format!(
            "CLUSTERDOWN {what} has no brick now that may serve it: a view is changing, too few replicas are in \
             sync, or this node has lost the control plane; the command was not executed, try again"
        ))
    }

    /// Tells another brick that its request does not belong here; it was not executed. One of this node gets what only
    /// reads back, since it has not kept it.
    pub(crate) fn refuse_misplaced(
        &mut self,
        work: Work,
        table: usize,
        protocol: Protocol,
        origin: Origin,
        until: Instant,
    ) {
        let Origin { member, token } = origin;
        let is_near = member.node == self.core.shared.node;
        if is_near
            && only_reads(&work)
            && let Some(request) = self.request(work, table, protocol, token, until)
        {
            return self
                .core
                .outbox
                .push(member, Forward::Returned(Box::new(request)));
        }
        let reply = ForwardReply {
            token,
            bytes: Vec::new(),
            is_misplaced: true,
        };
        self.core.outbox.push(member, Forward::Reply(reply));
    }

    /// Clients whose writes were cut, or wait for too long, are told that nobody knows (PROTOCOL rule 25).
    pub(crate) fn tell_lost(&mut self) {
        if self.core.replicas.lost.is_empty() {
            return;
        }
        let error = error_line(&ErrorReply::constant(
            "UNKNOWNRESULT the key's replicas changed before all of them had the write; it may or may not have been \
             executed: read the key to know",
        ));
        for lost in std::mem::take(&mut self.core.replicas.lost) {
            self.lose(lost, &error);
        }
        self.let_out();
    }

    /// Writes that have waited for their replicas for too long.
    pub(crate) fn give_up_writes(&mut self) {
        let deadline = self.core.shared.request_deadline;
        let before = Instant(self.core.now.0.saturating_sub(as_nanos(deadline)));
        let given_up = self.core.log.give_up(before);
        if given_up.is_empty() {
            return;
        }
        let error = error_line(&ErrorReply::new(format!(
            "UNKNOWNRESULT the key's replicas did not all take the write within {} ms; it may or may not have \
             been executed: read the key to know",
            deadline.as_millis()
        )));
        for (partition, batch) in given_up {
            self.lose(Lost::Only(partition, batch), &error);
        }
        self.let_out();
    }
}

fn as_nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
