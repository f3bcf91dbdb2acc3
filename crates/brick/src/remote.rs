//! Work between bricks of different nodes: messages as bytes, and what is under way.
//!
//! In:  [`Forward`]s for other nodes; messages of theirs. Out: bytes for the peer's stream; replies for clients.
//!
//! Invariants:
//! - A request that may have been executed is sent again only with an id, by which it is recognised; without one,
//!   or when its time is up, its client is told that nobody knows (rules `requests are executed once` and
//!   `an old primary knows no outcome`). One that only reads, or was not sent, is placed anew.
//! - What a peer sent is believed in nothing before it was decoded as a whole.
//!
//! The files: this one sends and takes answers, `hedge` says which replica reads, `elsewhere` sees to what is not
//! answered, `message` has the bytes, `posts` sends what nobody answers.

mod elsewhere;
mod hedge;
mod message;
mod posts;

pub(crate) use elsewhere::unknown;
pub(crate) use message::{Message, decode};
pub use message::{message_kind, reads_message};

use crate::channels::Published;
use crate::core::Core;
use crate::dispatch::waits::{await_view, await_view_again};
use crate::effect::Effect;
use crate::executed::OwnIds;
use crate::forward::{ForwardReply, NoRoom, ReplyKind};
use crate::keyed::honest_reply;
use crate::peer::Peers;
use crate::refusal::{CHANGING_HANDS, error_line};
use crate::replica::replica_of;
use crate::request::{Origin, Request, SessionOrder, Token, Work};
use crate::requests::Place;
use crate::room::CameBack;
use brickyard_command::ErrorReply;
use brickyard_replication::frame::RECORD_BYTES_MAX;
use brickyard_routing::{Member, Replica};
use brickyard_types::{Incarnation, Instant};
use hedge::{FailureDetector, may_hedge};
use message::{encode_reply, encode_request, encode_resume};
use posts::Posts;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A request that another node has, or will get; [`crate::requests`] has it under `id`.
#[derive(Debug)]
struct Remote {
    id: usize,
    to: Member,
    /// The stream's far end in the life in which it got the request; `None`: not sent.
    sent: Option<Replica>,
    order: Option<SessionOrder>,
    /// Since when it waits for its answer, or to be sent.
    since: Instant,
    only_reads: bool,
    /// Another replica than the primary may answer it.
    may_move: bool,
    /// A read that is for a backup.
    is_hedged: bool,
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
    /// Clients that have room again, and bricks that are to hear of it before they get anything else.
    resumes: Vec<(Member, u64)>,
    posts: Posts,
    pub(crate) failure_detector: FailureDetector,
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

    /// Whether peers are owed more than they take.
    pub(crate) fn is_choked(&self) -> bool {
        self.reply_bytes > REPLY_BYTES_MAX
    }

    fn number(&mut self, incarnation: Incarnation) -> u64 {
        self.next = self.next.max(incarnation.0 << NUMBER_BITS) + 1;
        self.next
    }

    fn add(&mut self, number: u64, remote: Remote) {
        self.unsent.push_back(number);
        let before = self.pending.insert(number, remote);
        assert!(before.is_none(), "request {number} is under way already");
    }

    fn remove(&mut self, number: u64) -> Option<Remote> {
        self.pending.remove(&number)
    }

    /// Whether the request of that number was sent.
    pub(crate) fn was_sent(&self, number: u64) -> bool {
        let remote = self.pending.get(&number);
        remote.is_some_and(|remote| remote.sent.is_some())
    }

    /// Its request is given up; whom it was for, and whether it was sent.
    pub(crate) fn forget(&mut self, number: u64) -> Option<(Member, bool)> {
        let remote = self.remove(number)?;
        Some((remote.to, remote.sent.is_some()))
    }

    /// Whether something of the order was sent after this request, to another brick than this one.
    fn is_overtaken(&self, number: u64, order: Option<SessionOrder>, peer: Replica) -> bool {
        let mut later = self.later(number, order);
        later.any(|it| it.sent.is_some_and(|replica| replica != peer))
    }

    /// Whether what the order sent before this request went another way than to that life of a brick, or was not sent itself:
    /// it has to be answered first, or it might be executed after this one. (So went all that is before it.)
    fn follows_another(&self, number: u64, order: Option<SessionOrder>, replica: Replica) -> bool {
        let mut earlier = self.pending.range(..number).rev();
        let before = earlier.find(|(_, it)| it.order == order);
        before.is_some_and(|(_, it)| it.sent != Some(replica))
    }

    /// Whether something of the order that came before this request is under way.
    fn has_earlier(&self, number: u64, order: Option<SessionOrder>) -> bool {
        let mut earlier = self.pending.range(..number);
        order.is_some() && earlier.any(|(_, it)| it.order == order)
    }

    /// Whether a write of the order was sent after this request: a read that is done later would see it.
    fn has_later_write(&self, number: u64, order: Option<SessionOrder>) -> bool {
        let mut later = self.later(number, order);
        later.any(|it| it.sent.is_some() && !it.only_reads)
    }

    /// Whether something of the order was sent after this request.
    fn has_later(&self, number: u64, order: Option<SessionOrder>) -> bool {
        self.later(number, order).any(|it| it.sent.is_some())
    }

    /// What of the order came after this request.
    fn later(&self, number: u64, order: Option<SessionOrder>) -> impl Iterator<Item = &Remote> {
        let later = self.pending.range(number + 1..).map(|(_, it)| it);
        later.filter(move |it| order.is_some() && it.order == order)
    }

    /// What of the order was not sent yet, in order.
    fn unsent_of(&self, order: SessionOrder) -> Vec<u64> {
        let is_its = |it: &Remote| it.order == Some(order) && it.sent.is_none();
        let numbers = self.pending.iter().filter(|(_, it)| is_its(it));
        numbers.map(|(number, _)| *number).collect()
    }
}

/// What clients are told, and for which part of which reply.
pub(crate) type Answers = Vec<(Token, Vec<u8>)>;

/// What goes to other nodes and comes from them, while something of it happens.
pub(crate) struct Exchange<'a> {
    core: &'a mut Core,
    remotes: &'a mut Remotes,
    answers: Answers,
    returned: Vec<NotExecuted>,
}

/// A client has no room for a reply of that brick, and the request that came back from there; `None`: it is answered already.
pub(crate) type NotExecuted = (Member, NoRoom, Option<Request>);

impl<'a> Exchange<'a> {
    pub(crate) fn new(core: &'a mut Core, remotes: &'a mut Remotes) -> Self {
        Self {
            core,
            remotes,
            answers: Vec::new(),
            returned: Vec::new(),
        }
    }

    /// What this brick's clients are to be told, and for what of theirs there was no room.
    pub(crate) fn end(self) -> (Answers, Vec<NotExecuted>) {
        (self.answers, self.returned)
    }

    /// That brick is to go on with what the client asks.
    pub(crate) fn resume(&mut self, at: Member, client: u64) {
        self.remotes.resumes.push((at, client));
    }

    /// What bricks of other nodes are told of copies.
    pub(crate) fn tell(&mut self) {
        for (to, notice) in self.core.outbox.take_notices() {
            self.remotes.posts.tell(self.core, to, &notice);
        }
    }

    /// A message to a channel goes to all other nodes.
    pub(crate) fn post(&mut self, published: &Published) {
        self.remotes.posts.add(self.core, published);
    }

    /// Takes what a client asked and was not sent yet.
    pub(crate) fn take_unsent(&mut self, client: u64) -> Vec<CameBack> {
        let unsent = self.remotes.unsent.iter().copied();
        let its = unsent.filter(|number| {
            let remote = self.remotes.pending.get(number);
            let request = remote.and_then(|remote| self.core.requests.get(remote.id));
            request.is_some_and(|request| request.client == client)
        });
        let its: Vec<u64> = its.collect();
        let taken = its
            .into_iter()
            .filter_map(|number| self.take_remote(number));
        taken
            .map(|(remote, request)| CameBack::new(remote.to, request, 0))
            .collect()
    }

    /// A request of a client of this brick goes to a brick of another node, as soon as there is a stream.
    pub(crate) fn send_to(&mut self, to: Member, request: Request) {
        assert_ne!(
            to.node,
            self.core.member().node,
            "a request for a brick of this node leaves it: {request:?}"
        );
        let number = self.remotes.number(self.core.replicas.me().incarnation);
        let (order, only_reads) = (request.order, request.work.only_reads());
        let may_move = order.is_some() && may_hedge(&request);
        if may_move {
            self.remotes.failure_detector.watch(self.core.now);
        }
        let id = self.core.requests.await_answer(request, number);
        let mut remote = Remote {
            id,
            to,
            sent: None,
            order,
            since: self.core.now,
            only_reads,
            may_move,
            is_hedged: false,
        };
        remote.is_hedged = may_move && remote.has_moved(self.core);
        self.remotes.add(number, remote);
    }

    /// Sends what is for other nodes, as far as there are streams.
    pub(crate) fn send_remote(&mut self, peers: &Peers) {
        self.leave_silent();
        for (to, reply) in self.core.outbox.take_remote() {
            let mut bytes = encode_reply(&reply);
            if bytes.len() > RECORD_BYTES_MAX {
                bytes = encode_reply(&too_long(reply.token));
            }
            self.remotes.reply_bytes += bytes.len();
            self.remotes.replies.push_back((to, bytes));
        }
        self.send_replies(peers);
        self.send_requests();
        self.remotes.posts.send(self.core);
    }

    /// A request that is with another node, or was to go there, is here again.
    fn take_remote(&mut self, number: u64) -> Option<(Remote, Request)> {
        let remote = self.remotes.remove(number)?;
        let request = self.core.requests.take(remote.id)?;
        Some((remote, request))
    }

    fn send_replies(&mut self, peers: &Peers) {
        for _ in 0..self.remotes.replies.len() {
            let Some((to, bytes)) = self.remotes.replies.pop_front() else {
                return;
            };
            // An answer goes back on the asker's stream. Without it the far end has lost its request too: it
            // knows that nobody knows.
            let link = peers.from(to);
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
        let is_owed = !self.remotes.replies.is_empty();
        assert!(is_owed || self.remotes.reply_bytes == 0, "for no reply");
    }

    /// Tells bricks of clients that have room again; those that could not be told yet.
    fn send_resumes(&mut self) -> BTreeSet<Member> {
        let mut waits = BTreeSet::new();
        for (to, client) in std::mem::take(&mut self.remotes.resumes) {
            let catalog = self.core.tables.catalog();
            // Where there is no stream there is nothing to resume: with the stream the far end forgets who is stalled.
            let Some((link, _)) = self.core.replicas.link_to(catalog, to) else {
                continue;
            };
            let bytes = encode_resume(client);
            if waits.contains(&to) || !self.core.replicas.engine.outbox.message(link, &bytes) {
                waits.insert(to);
                self.remotes.resumes.push((to, client));
            }
        }
        waits
    }

    fn send_requests(&mut self) {
        // What one brick is asked arrives in order: behind one that must wait, all wait.
        let mut waits = self.send_resumes();
        for _ in 0..self.remotes.unsent.len() {
            let Some(number) = self.remotes.unsent.pop_front() else {
                return;
            };
            let Some(remote) = self.remotes.pending.get(&number) else {
                continue;
            };
            // Behind one that is under way it must stay: that one may come back.
            let has_moved = if remote.is_hedged {
                remote.has_left(self.core)
            } else {
                remote.has_moved(self.core)
            };
            if has_moved && !self.remotes.has_earlier(number, remote.order) {
                // Another brick is primary now, or this one: it need not wait for the former.
                if let Some((remote, request)) = self.take_remote(number) {
                    self.core.replicas.wake();
                    self.dispatch_returned(request);
                    self.dispatch_unsent(remote.order);
                }
                continue;
            }
            let (id, to, order) = (remote.id, remote.to, remote.order);
            if waits.contains(&to) {
                self.remotes.unsent.push_back(number);
                continue;
            }
            let catalog = self.core.tables.catalog();
            let Some((link, replica)) = self.core.replicas.link_to(catalog, to) else {
                waits.insert(to);
                self.remotes.unsent.push_back(number);
                let dial = replica_of(catalog, to).map(Effect::Dial);
                self.core.effects.extend(dial);
                continue;
            };
            // Few orders have more than one request under way.
            let orders = self.core.requests.orders();
            let has_others = order.is_some_and(|it| orders.count(it, Place::Remote) > 1);
            if has_others && self.remotes.follows_another(number, order, replica) {
                self.remotes.unsent.push_back(number);
                continue;
            }
            let Some(request) = self.core.requests.get(id) else {
                continue;
            };
            let bytes = encode_request(number, request);
            if bytes.len() > RECORD_BYTES_MAX {
                let Some((_, request)) = self.take_remote(number) else {
                    continue;
                };
                let error = ErrorReply::constant(
                    "ERR the request is too long to be passed on to the brick that has its keys; the command was \
                     not executed. Split it, or send it to that brick",
                );
                self.answers
                    .push((request.origin.token, error_line(&error)));
                continue;
            }
            let is_sent = self.core.replicas.engine.outbox.message(link, &bytes);
            if let Some(remote) = self.remotes.pending.get_mut(&number).filter(|_| is_sent) {
                assert!(remote.sent.is_none(), "request {number} is sent twice");
                remote.sent = Some(replica);
                remote.since = self.core.now;
            } else {
                waits.insert(to);
                self.remotes.unsent.push_back(number);
            }
        }
    }

    /// A brick of another node has answered.
    pub(crate) fn on_reply(&mut self, peer: Replica, number: u64, reply: message::Reply) {
        let remote = self.remotes.pending.get(&number);
        if remote.is_none_or(|remote| remote.sent != Some(peer)) {
            if let ReplyKind::NoRoom(no_room) = reply.kind {
                // It was given up here, or asked elsewhere; its client is stalled there all the same.
                self.returned.push((peer.member, no_room, None));
            }
            return;
        }
        let Some((remote, request)) = self.take_remote(number) else {
            return;
        };
        let now = self.core.now;
        self.remotes
            .failure_detector
            .answered(peer, remote.since, now);
        self.core.replicas.wake();
        // What the connection sent after it may be done: then it would come too late.
        let is_overtaken = self.remotes.has_later(number, remote.order);
        let token = request.origin.token;
        if let ReplyKind::NoRoom(no_room) = reply.kind {
            self.returned.push((peer.member, no_room, Some(request)));
            return;
        }
        if reply.kind == ReplyKind::Misplaced {
            if is_overtaken && request.work.was_lost() {
                let reason = "the key's partition is changing hands";
                return self.answers.push((token, unknown(reason)));
            }
            if remote.only_reads && !self.remotes.has_later_write(number, remote.order) {
                return self.dispatch_refused(number, &remote, request);
            }
            if is_overtaken || matches!(request.work, Work::Subrequest(..)) {
                return self.answers.push((token, error_line(&CHANGING_HANDS)));
            }
            self.dispatch_returned(request);
            return self.dispatch_unsent(remote.order);
        }
        let Some(request) = self.ask_again(&remote, is_overtaken, request, &reply.bytes) else {
            return;
        };
        let bytes = match &request.work {
            Work::Attempt(attempt, ..) => honest_reply(*attempt, reply.bytes),
            _ => reply.bytes,
        };
        self.answers.push((token, bytes));
    }

    /// Dispatches a request with an id anew if its reply is none; else gives it back.
    fn ask_again(
        &mut self,
        remote: &Remote,
        is_overtaken: bool,
        mut request: Request,
        reply: &[u8],
    ) -> Option<Request> {
        let is_in_time = request.deadline > self.core.now;
        let now = self.core.unix;
        let Work::Attempt(attempt, ..) = &mut request.work else {
            return Some(request);
        };
        if !is_in_time || is_overtaken || !self.remotes.ids.revise(attempt, reply, now) {
            return Some(request);
        }
        self.dispatch_returned(request);
        self.dispatch_unsent(remote.order);
        None
    }

    /// A read that another brick has refused waits, and behind it the reads that its connection sent after it.
    fn dispatch_refused(&mut self, number: u64, remote: &Remote, request: Request) {
        let order = remote.order;
        let refused = await_view_again(self.core, request);
        self.tell_refused(refused);
        let later = self.remotes.pending.range(number + 1..);
        let later = later.filter(|(_, it)| order.is_some() && it.order == order);
        let later: Vec<u64> = later.map(|(number, _)| *number).collect();
        for number in later {
            if let Some((_, request)) = self.take_remote(number) {
                self.dispatch_returned(request);
            }
        }
    }

    /// What an order has not sent yet waits behind what has come back: else it would overtake that.
    fn dispatch_unsent(&mut self, order: Option<SessionOrder>) {
        let unsent = order.map(|order| self.remotes.unsent_of(order));
        for number in unsent.into_iter().flatten() {
            if let Some((_, request)) = self.take_remote(number) {
                self.dispatch_returned(request);
            }
        }
    }

    /// A request that comes back waits to be dispatched anew.
    fn dispatch_returned(&mut self, mut request: Request) {
        request.attempts += 1;
        let refused = await_view(self.core, request, None);
        self.tell_refused(refused);
    }

    fn tell_refused(&mut self, refused: Option<(Request, Vec<u8>)>) {
        if let Some((request, line)) = refused {
            let Origin { member, token } = request.origin;
            assert_eq!(member, self.core.member(), "it was sent for another brick");
            self.answers.push((token, line));
        }
    }
}

/// What was asked was executed, and its reply does not fit into a message.
fn too_long(token: Token) -> ForwardReply {
    let error = ErrorReply::constant(
        "UNKNOWNRESULT the reply is too long to be passed on; the command was executed. Ask for less at a time, \
         or ask the brick that has the keys",
    );
    ForwardReply::new(token, error_line(&error))
}
