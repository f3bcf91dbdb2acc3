//! Work between bricks of different nodes: messages as bytes, and what is under way.
//!
//! In:  [`Forward`]s for other nodes; messages of theirs. Out: bytes for the peer's stream; replies for clients.
//!
//! Invariants:
//! - A request that may have been executed is sent again only with an id, by which it is recognised; without one,
//!   or when its time is up, its client is told that nobody knows (PROTOCOL rules 19 and 25). One that only
//!   reads, or was not sent, is placed anew.
//! - What a peer sent is believed in nothing before it was decoded as a whole.
//!
//! The files: this one sends and takes answers, `hedge` says which replica reads, `elsewhere` sees to what is not
//! answered, `message` has the bytes.

mod elsewhere;
mod hedge;
mod message;

pub use message::reads_message;

use crate::brick::Brick;
use crate::forward::{Forward, ForwardReply, ForwardRequest, Origin, Token, Work};
use crate::keyed::{error_line, honest_reply};
use crate::output::Gate;
use crate::requests::OwnIds;
use crate::stall::{Lane, Lanes};
use crate::transaction::Step;
use brickyard_command::{ErrorReply, table::flag};
use brickyard_replication::frame::RECORD_BYTES_MAX;
use brickyard_routing::{Member, Seat};
use brickyard_types::{Incarnation, Instant};
use hedge::{Hearing, NearReads, may_stray};
use message::{decode, encode_reply, encode_request};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A request that another node has, or will get.
#[derive(Debug)]
pub(crate) struct Remote {
    to: Member,
    /// The stream's far end in the life in which it got the request; `None`: not sent.
    sent: Option<Seat>,
    request: ForwardRequest,
    lane: Option<Lane>,
    /// Since when it waits for its answer, or to be sent.
    since: Instant,
    /// A read that is for a backup.
    is_stray: bool,
}

impl Remote {
    /// Whether another replica may answer it.
    fn is_movable(&self) -> bool {
        may_stray(&self.request.work) && self.lane.is_some()
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Remotes {
    /// Numbers of requests count on from here in a life of the node: a reply to one of an earlier life, which
    /// the far end still owed, names none of this one.
    next: u64,
    pending: BTreeMap<u64, Remote>,
    /// Not sent yet, in order.
    unsent: VecDeque<u64>,
    /// Replies that wait for a stream, and their bytes.
    replies: VecDeque<(Member, Vec<u8>)>,
    reply_bytes: usize,
    pub(crate) lanes: Lanes,
    /// Those of them with something that writes.
    pub(crate) writing: Lanes,
    /// How many requests are reads for a backup.
    strays: usize,
    pub(crate) near: NearReads,
    pub(crate) hearing: Hearing,
    pub(crate) ids: OwnIds,
}

/// Bytes of replies that wait for peers that do not read; past that nothing more is executed for peers.
const REPLY_BYTES_MAX: usize = 64 << 20;

/// How many of a request's number's bits count within a life.
const NUMBER_BITS: u32 = 40;

impl Remotes {
    /// Whether nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.pending.is_empty() && self.replies.is_empty()
    }

    /// Whether no lane has anything under way.
    pub(crate) fn is_quiet(&self) -> bool {
        self.lanes.is_empty() && self.near.is_empty()
    }

    /// Whether peers are owed more than they take.
    pub(crate) fn is_choked(&self) -> bool {
        self.reply_bytes > REPLY_BYTES_MAX
    }

    fn number(&mut self, incarnation: Incarnation) -> u64 {
        self.next = self.next.max(incarnation.0 << NUMBER_BITS) + 1;
        self.next
    }

    fn take(&mut self, id: u64) -> Option<Remote> {
        let remote = self.pending.remove(&id)?;
        self.lanes.leave(remote.lane);
        if !only_reads(&remote.request.work) {
            self.writing.leave(remote.lane);
        }
        let stray = usize::from(remote.is_stray);
        assert!(self.strays >= stray, "a stray of {} ends", self.strays);
        self.strays -= stray;
        Some(remote)
    }

    /// Whether something of the lane was sent after this request, to another brick than this one.
    fn is_overtaken(&self, id: u64, lane: Option<Lane>, peer: Seat) -> bool {
        let mut later = self.pending.range(id + 1..);
        lane.is_some()
            && later.any(|(_, it)| it.lane == lane && it.sent.is_some_and(|seat| seat != peer))
    }

    /// Whether something of the lane that came before this request is under way.
    fn has_earlier(&self, id: u64, lane: Option<Lane>) -> bool {
        let mut earlier = self.pending.range(..id);
        lane.is_some() && earlier.any(|(_, it)| it.lane == lane)
    }

    /// Whether a write of the lane was sent after this request: a read that is done later would see it.
    fn has_later_write(&self, id: u64, lane: Option<Lane>) -> bool {
        let mut later = self.pending.range(id + 1..);
        lane.is_some()
            && later.any(|(_, it)| {
                it.lane == lane && it.sent.is_some() && !only_reads(&it.request.work)
            })
    }

    /// What of the lane was not sent yet, in order.
    fn take_unsent(&mut self, lane: Lane) -> Vec<Remote> {
        let is_its = |it: &Remote| it.lane == Some(lane) && it.sent.is_none();
        let ids = self.pending.iter().filter(|(_, it)| is_its(it));
        let ids: Vec<u64> = ids.map(|(id, _)| *id).collect();
        ids.into_iter().filter_map(|id| self.take(id)).collect()
    }

    /// Whether something of the lane was sent after this request.
    fn has_later(&self, id: u64, lane: Lane) -> bool {
        let mut later = self.pending.range(id + 1..);
        later.any(|(_, it)| it.lane == Some(lane) && it.sent.is_some())
    }
}

/// Whether work may be done twice without harm.
pub(crate) fn only_reads(work: &Work) -> bool {
    match work {
        Work::Command(spec, _) | Work::Share(spec, ..) => spec.has(flag::READONLY),
        Work::Request(..) => false,
        Work::Transaction(transaction) => transaction.steps.iter().all(|step| match step {
            Step::Command(spec, _) => spec.has(flag::READONLY),
            Step::Later => true,
        }),
    }
}

impl Brick {
    /// Sends what is for other nodes, as far as there are streams.
    pub(crate) fn send_remote(&mut self) {
        self.leave_silent();
        for (to, message) in std::mem::take(&mut self.core.outbox.remote) {
            match message {
                Forward::Request(request) => {
                    let id = self.remotes.number(self.core.replicas.incarnation);
                    let lane = request.lane;
                    let mut remote = Remote {
                        to,
                        sent: None,
                        request,
                        lane,
                        since: self.core.now,
                        is_stray: false,
                    };
                    remote.is_stray = remote.is_movable() && self.core.has_moved(&remote);
                    if remote.is_movable() {
                        self.remotes.hearing.watch(self.core.now);
                    }
                    self.remotes.strays += usize::from(remote.is_stray);
                    self.remotes.pending.insert(id, remote);
                    self.remotes.unsent.push_back(id);
                }
                // Within a node alone.
                Forward::Returned(_) => {}
                Forward::Reply(reply) => {
                    let mut bytes = Vec::with_capacity(reply.bytes.len() + 10);
                    encode_reply(&mut bytes, &reply);
                    if bytes.len() > RECORD_BYTES_MAX {
                        bytes.clear();
                        encode_reply(&mut bytes, &too_long(reply.token));
                    }
                    self.remotes.reply_bytes += bytes.len();
                    self.remotes.replies.push_back((to, bytes));
                }
            }
        }
        self.send_replies();
        self.send_requests();
    }

    fn send_replies(&mut self) {
        for _ in 0..self.remotes.replies.len() {
            let Some((to, bytes)) = self.remotes.replies.pop_front() else {
                return;
            };
            // An answer goes back on the asker's stream. Without it the far end has lost its request too: it
            // knows that nobody knows.
            let link = self.peers.from(to);
            let is_kept =
                link.is_some_and(|link| !self.core.replicas.engine.outbox.message(link, &bytes));
            if is_kept {
                self.remotes.replies.push_back((to, bytes));
            } else {
                assert!(
                    self.remotes.reply_bytes >= bytes.len(),
                    "a reply of {} bytes of {}",
                    bytes.len(),
                    self.remotes.reply_bytes
                );
                self.remotes.reply_bytes -= bytes.len();
            }
        }
    }

    fn send_requests(&mut self) {
        // What one brick is asked arrives in order: behind one that must wait, all wait.
        let mut waits: BTreeSet<Member> = BTreeSet::new();
        for _ in 0..self.remotes.unsent.len() {
            let Some(id) = self.remotes.unsent.pop_front() else {
                return;
            };
            let Some(remote) = self.remotes.pending.get(&id) else {
                continue;
            };
            // Behind one that is under way it must stay: that one may come back.
            let has_moved = if remote.is_stray {
                self.core.has_left(remote)
            } else {
                self.core.has_moved(remote)
            };
            if has_moved && !self.remotes.has_earlier(id, remote.lane) {
                // Another brick is primary now, or this one: it need not wait for the former.
                if let Some(remote) = self.remotes.take(id) {
                    self.core.replicas.wake();
                    self.stall_remote(remote);
                }
                continue;
            }
            if self.remotes.follows_stray(id, remote) {
                self.remotes.unsent.push_back(id);
                continue;
            }
            let Some(remote) = self.remotes.pending.get_mut(&id) else {
                continue;
            };
            if waits.contains(&remote.to) {
                self.remotes.unsent.push_back(id);
                continue;
            }
            let Some((link, seat)) = self.core.link_to(remote.to) else {
                waits.insert(remote.to);
                self.remotes.unsent.push_back(id);
                self.core.dial(remote.to);
                continue;
            };
            let mut bytes = Vec::new();
            encode_request(&mut bytes, id, &remote.request);
            if bytes.len() > RECORD_BYTES_MAX {
                let token = remote.request.token;
                self.remotes.take(id);
                let error = ErrorReply::constant(
                    "ERR the request is too long to be passed on to the brick that has its keys; the command was \
                     not executed. Split it, or send it to that brick",
                );
                self.on_part(token, error_line(&error), Gate::OPEN);
                continue;
            }
            if self.core.replicas.engine.outbox.message(link, &bytes) {
                remote.sent = Some(seat);
                remote.since = self.core.now;
            } else {
                waits.insert(remote.to);
                self.remotes.unsent.push_back(id);
            }
        }
    }

    /// Takes what other nodes' bricks have sent.
    pub(crate) fn take_messages(&mut self) {
        for (peer, bytes) in std::mem::take(&mut self.core.replicas.messages) {
            match decode(&bytes) {
                Some(Forward::Request(request)) => self.take_request(peer.member, request),
                Some(Forward::Reply(reply)) => self.on_remote_reply(peer, reply),
                Some(Forward::Returned(_)) | None => {
                    let text = format!("brick {peer} sent a message that is none; it was ignored");
                    self.core
                        .effects
                        .push_back(crate::effect::Effect::Report(text));
                }
            }
        }
    }

    fn on_remote_reply(&mut self, peer: Seat, reply: ForwardReply) {
        let id = reply.token.client;
        let is_its = self
            .remotes
            .pending
            .get(&id)
            .is_some_and(|remote| remote.sent == Some(peer));
        let Some(remote) = is_its.then(|| self.remotes.take(id)).flatten() else {
            return;
        };
        let now = self.core.now;
        self.remotes.hearing.answered(peer, remote.since, now);
        self.core.replicas.wake();
        if reply.is_misplaced {
            // What the connection sent after it may be done: then it would come too late.
            let is_overtaken = remote
                .lane
                .is_some_and(|lane| self.remotes.has_later(id, lane));
            if is_overtaken && remote.request.work.was_lost() {
                let reason = "the key's partition is changing hands";
                return self.tell_unknown(remote.request.token, reason);
            }
            if only_reads(&remote.request.work) && !self.remotes.has_later_write(id, remote.lane) {
                return self.take_back(id, remote);
            }
            if is_overtaken || matches!(remote.request.work, Work::Share(..)) {
                return self.refuse_unplaced(remote.request.token);
            }
            return self.stall_remote(remote);
        }
        let Some(remote) = self.ask_again(id, remote, &reply.bytes) else {
            return;
        };
        let bytes = match &remote.request.work {
            Work::Request(request, ..) => honest_reply(*request, reply.bytes),
            _ => reply.bytes,
        };
        self.on_part(remote.request.token, bytes, Gate::OPEN);
    }

    /// Places a request with an id anew if its reply is none; else gives it back.
    fn ask_again(&mut self, id: u64, mut remote: Remote, reply: &[u8]) -> Option<Remote> {
        let is_in_time = remote.request.until > self.core.now;
        let is_overtaken = remote
            .lane
            .is_some_and(|lane| self.remotes.has_later(id, lane));
        let now = self.core.unix;
        let Work::Request(request, ..) = &mut remote.request.work else {
            return Some(remote);
        };
        if !is_in_time || is_overtaken || !self.remotes.ids.revise(request, reply, now) {
            return Some(remote);
        }
        self.stall_remote(remote);
        None
    }

    /// Sets a request aside that comes back, and behind it what its lane has not sent yet: that would overtake it.
    fn stall_remote(&mut self, remote: Remote) {
        let lane = remote.lane;
        self.stall_one(remote);
        self.stall_unsent(lane);
    }

    /// Sets a read aside that comes back, and behind it the reads that its lane sent after it.
    fn take_back(&mut self, id: u64, remote: Remote) {
        let lane = remote.lane;
        self.stall_returned(remote.request);
        let later = self.remotes.pending.range(id + 1..);
        let later = later.filter(|(_, it)| lane.is_some() && it.lane == lane);
        let later: Vec<u64> = later.map(|(id, _)| *id).collect();
        for id in later {
            if let Some(remote) = self.remotes.take(id) {
                self.stall_one(remote);
            }
        }
    }

    fn stall_unsent(&mut self, lane: Option<Lane>) {
        let behind = lane.map(|lane| self.remotes.take_unsent(lane));
        for remote in behind.into_iter().flatten() {
            self.stall_one(remote);
        }
    }

    fn stall_one(&mut self, remote: Remote) {
        let mut request = remote.request;
        request.moves += 1;
        let origin = Origin {
            member: self.core.member(),
            token: request.token,
        };
        let until = request.until;
        self.stall_request(request, origin, until);
    }

    fn refuse_unplaced(&mut self, token: Token) {
        let error = ErrorReply::constant(
            "CLUSTERDOWN the key's partition is changing hands; the command was not executed, try again",
        );
        self.on_part(token, error_line(&error), Gate::OPEN);
    }
}

/// What was asked was executed, and its reply does not fit into a message.
fn too_long(token: Token) -> ForwardReply {
    let error = ErrorReply::constant(
        "UNKNOWNRESULT the reply is too long to be passed on; the command was executed. Ask for less at a time, \
         or ask the brick that has the keys",
    );
    ForwardReply {
        token,
        bytes: error_line(&error),
        is_misplaced: false,
    }
}
