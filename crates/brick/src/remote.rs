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
//! Layout of a message, little-endian: `1, id u64, connection u32, table u32, protocol u8, work` for a request,
//! `2, id u64, misplaced u8, bytes` for a reply. Work: `0, command`, `1, count u32, steps, count u32, watches`
//! `2, share u64, command`, or `3, client u64, sequence u64, again u8, command`; a command is `count u32` arguments, the first its name; an argument `len u32, bytes`.

use crate::brick::Brick;
use crate::connection::ConnectionId;
use crate::core::Core;
use crate::forward::{Forward, ForwardReply, ForwardRequest, Origin, Token, Work};
use crate::keyed::{error_line, honest_reply};
use crate::output::{Gate, HoleId};
use crate::requests::{OwnIds, Request};
use crate::stall::{Lane, Lanes};
use crate::transaction::{Step, Transaction, Watch};
use crate::watch::Version;
use brickyard_command::{ErrorReply, OwnedArgs, Spec, is_data_command, lookup, table::flag};
use brickyard_replication::frame::RECORD_BYTES_MAX;
use brickyard_routing::{Group, Member, Seat};
use brickyard_types::record::RequestId;
use brickyard_types::{Incarnation, Instant, TableId};
use brickyard_wire::Protocol;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A request that another node has, or will get.
#[derive(Debug)]
pub(crate) struct Remote {
    to: Member,
    /// The stream's far end in the life in which it got the request; `None`: not sent.
    sent: Option<Seat>,
    request: ForwardRequest,
    lane: Option<Lane>,
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

    fn take(&mut self, id: u64) -> Option<Remote> {
        let remote = self.pending.remove(&id)?;
        self.lanes.leave(remote.lane);
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
        for (to, message) in std::mem::take(&mut self.core.outbox.remote) {
            match message {
                Forward::Request(request) => {
                    let id = self.remotes.number(self.core.replicas.incarnation);
                    let lane = request.lane;
                    let remote = Remote {
                        to,
                        sent: None,
                        request,
                        lane,
                    };
                    self.remotes.pending.insert(id, remote);
                    self.remotes.unsent.push_back(id);
                }
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
                link.is_some_and(|link| !self.core.replicas.replicator_mut().message(link, &bytes));
            if is_kept {
                self.remotes.replies.push_back((to, bytes));
            } else {
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
            if self.core.has_moved(remote) && !self.remotes.has_earlier(id, remote.lane) {
                // Another brick is primary now, or this one: it need not wait for the former.
                if let Some(remote) = self.remotes.take(id) {
                    self.core.replicas.wake();
                    self.stall_remote(remote);
                }
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
            if self.core.replicas.replicator_mut().message(link, &bytes) {
                remote.sent = Some(seat);
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
                None => {
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

    fn stall_unsent(&mut self, lane: Option<Lane>) {
        let behind = lane.map(|lane| self.remotes.take_unsent(lane));
        for remote in behind.into_iter().flatten() {
            self.stall_one(remote);
        }
    }

    fn stall_one(&mut self, remote: Remote) {
        let request = remote.request;
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

    /// The stream to a brick is gone, and what it had been asked with it.
    pub(crate) fn on_remote_lost(&mut self, peer: Seat) {
        let pending = self.remotes.pending.iter();
        let lost = pending.filter(|(_, remote)| remote.sent == Some(peer));
        let lost = lost.map(|(id, _)| *id).collect();
        self.ask_elsewhere(peer, lost);
    }

    /// By a new catalog the partition goes on without the brick that was asked. That one may never answer, though the
    /// stream to it stands: its process is paused, or the network swallows what is sent. What may be asked
    /// twice is asked of the new primary.
    pub(crate) fn leave_removed(&mut self) {
        let mut left: BTreeMap<Seat, Vec<u64>> = BTreeMap::new();
        for (id, remote) in &self.remotes.pending {
            let work = &remote.request.work;
            let may_repeat = only_reads(work) || matches!(work, Work::Request(..));
            if let Some(peer) = remote.sent
                && may_repeat
                && self.core.has_left(remote, peer)
            {
                left.entry(peer).or_default().push(*id);
            }
        }
        for (peer, ids) in left {
            self.ask_elsewhere(peer, ids);
        }
    }

    /// `peer` does not answer these.
    fn ask_elsewhere(&mut self, peer: Seat, lost: Vec<u64>) {
        let mut stalled = BTreeSet::new();
        for id in lost {
            let Some(mut remote) = self.remotes.take(id) else {
                continue;
            };
            self.core.replicas.wake();
            let is_overtaken = self.remotes.is_overtaken(id, remote.lane, peer);
            if let Work::Request(request, ..) = &mut remote.request.work
                && !is_overtaken
            {
                request.lose();
                stalled.insert(remote.lane);
                self.stall_one(remote);
            } else if !only_reads(&remote.request.work) {
                let reason = format!("the connection to brick {} broke", remote.to);
                self.tell_unknown(remote.request.token, &reason);
            } else if matches!(remote.request.work, Work::Share(..))
                || self.remotes.has_later_write(id, remote.lane)
            {
                // Read again, it would see what its connection wrote only afterwards.
                self.refuse_unplaced(remote.request.token);
            } else {
                stalled.insert(remote.lane);
                self.stall_one(remote);
            }
        }
        // Behind all of them.
        for lane in stalled {
            self.stall_unsent(lane);
        }
    }

    /// Requests whose time is up.
    pub(crate) fn end_remote(&mut self) {
        let now = self.core.now;
        let is_cut_off = self.is_cut_off();
        let is_over =
            |remote: &Remote| remote.request.until <= now || (is_cut_off && remote.sent.is_none());
        let over: Vec<u64> = self
            .remotes
            .pending
            .iter()
            .filter(|(_, remote)| is_over(remote))
            .map(|(id, _)| *id)
            .collect();
        for id in over {
            let Some(remote) = self.remotes.take(id) else {
                continue;
            };
            self.core.replicas.wake();
            let token = remote.request.token;
            let reason = format!("brick {} did not answer in time", remote.to);
            let was_sent = remote.sent.is_some() || remote.request.work.was_lost();
            if was_sent && !only_reads(&remote.request.work) {
                self.tell_unknown(token, &reason);
            } else {
                let error = ErrorReply::new(format!(
                    "CLUSTERDOWN {reason}; the command was not executed, try again"
                ));
                self.on_part(token, error_line(&error), Gate::OPEN);
            }
        }
    }

    fn tell_unknown(&mut self, token: Token, reason: &str) {
        let error = ErrorReply::new(format!(
            "UNKNOWNRESULT {reason}; the write may or may not have been executed: read the key to know"
        ));
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

impl Core {
    /// Whether what a request is about has another primary than the one that it is for.
    fn has_moved(&self, remote: &Remote) -> bool {
        let group = self.group_of(remote);
        group.is_some_and(|group| group.primary.member != remote.to)
    }

    /// Whether what a request is about is in sync with others, and not with the one that was asked.
    fn has_left(&self, remote: &Remote, peer: Seat) -> bool {
        let group = self.group_of(remote);
        group.is_some_and(|group| group.in_sync().all(|seat| seat != peer))
    }

    /// The replica group that a request is about.
    fn group_of(&self, remote: &Remote) -> Option<&Group> {
        let key = remote.request.work.first_key()?;
        let table = *self.table_by_id.get(&remote.request.table)?;
        let leaf = self.locate(table, key)?.leaf;
        self.table(table)?.map.groups().get(leaf as usize)
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn put_command(out: &mut Vec<u8>, spec: &Spec, args: &OwnedArgs) {
    let args = args.as_args();
    out.extend_from_slice(&(args.len() as u32).to_le_bytes());
    // The name as this version knows it, whatever the client wrote.
    put_bytes(out, spec.name.as_bytes());
    for at in 1..args.len() {
        put_bytes(out, args.at(at));
    }
}

fn encode_request(out: &mut Vec<u8>, id: u64, request: &ForwardRequest) {
    out.push(1);
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(&request.token.connection.0.to_le_bytes());
    out.extend_from_slice(&request.table.0.to_le_bytes());
    out.push(u8::from(request.protocol == Protocol::Resp3));
    match &request.work {
        Work::Command(spec, args) => {
            out.push(0);
            put_command(out, spec, args);
        }
        Work::Request(request, spec, args) => {
            out.push(3);
            out.extend_from_slice(&request.id.client.to_le_bytes());
            out.extend_from_slice(&request.id.sequence.to_le_bytes());
            out.push(u8::from(request.is_again));
            put_command(out, spec, args);
        }
        Work::Share(spec, args, share) => {
            out.push(2);
            out.extend_from_slice(&share.to_le_bytes());
            put_command(out, spec, args);
        }
        Work::Transaction(transaction) => {
            out.push(1);
            out.extend_from_slice(&(transaction.steps.len() as u32).to_le_bytes());
            for step in &transaction.steps {
                match step {
                    Step::Command(spec, args) => {
                        out.push(0);
                        put_command(out, spec, args);
                    }
                    Step::Later => out.push(1),
                }
            }
            out.extend_from_slice(&(transaction.watches.len() as u32).to_le_bytes());
            for watch in &transaction.watches {
                out.extend_from_slice(&watch.table.0.to_le_bytes());
                for number in watch.version.encode() {
                    out.extend_from_slice(&number.to_le_bytes());
                }
                put_bytes(out, &watch.key);
            }
        }
    }
}

fn encode_reply(out: &mut Vec<u8>, reply: &ForwardReply) {
    out.push(2);
    out.extend_from_slice(&reply.token.client.to_le_bytes());
    out.push(u8::from(reply.is_misplaced));
    out.extend_from_slice(&reply.bytes);
}

/// What is left to read of a message.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.bytes::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let len = self.u32()? as usize;
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn command(&mut self) -> Option<(&'static Spec, OwnedArgs)> {
        let count = self.u32()? as usize;
        // An argument takes four bytes at least: a count cannot ask for more memory than was sent.
        if count == 0 || count > self.0.len() / 4 {
            return None;
        }
        let name = self.string()?;
        let spec = lookup(name)?;
        let mut args = OwnedArgs::with_capacity(self.0.len().min(1 << 16), count);
        args.push(name);
        for _ in 1..count {
            args.push(self.string()?);
        }
        (spec.subcommands.is_empty() && spec.accepts(count)).then_some((spec, args))
    }

    fn work(&mut self) -> Option<Work> {
        match self.u8()? {
            0 => {
                let (spec, args) = self.command()?;
                return Some(Work::Command(spec, args));
            }
            3 => {
                let id = RequestId {
                    client: self.u64()?,
                    sequence: self.u64()?,
                };
                let request = Request {
                    id,
                    is_again: self.u8()? != 0,
                    was_lost: false,
                };
                let (spec, args) = self.command()?;
                let is_write = is_data_command(spec.id) && spec.has(flag::WRITE);
                return is_write.then_some(Work::Request(request, spec, args));
            }
            2 => {
                let share = self.u64()?;
                let (spec, args) = self.command()?;
                return Some(Work::Share(spec, args, share));
            }
            _ => {}
        }
        let mut transaction = Transaction::default();
        for _ in 0..self.u32()? {
            transaction.steps.push(if self.u8()? == 0 {
                let (spec, args) = self.command()?;
                Step::Command(spec, args)
            } else {
                Step::Later
            });
        }
        for _ in 0..self.u32()? {
            let table = TableId(self.u32()?);
            let version = [self.u64()?, self.u64()?, self.u64()?, self.u64()?];
            transaction.watches.push(Watch {
                table,
                version: Version::decode(version),
                key: self.string()?.to_vec(),
            });
        }
        Some(Work::Transaction(Box::new(transaction)))
    }
}

fn token(id: u64, connection: u32) -> Token {
    Token {
        connection: ConnectionId(connection),
        client: id,
        hole: HoleId(0),
        part: 0,
    }
}

/// Whether a message of another node's brick can be read; for whoever tries that with any bytes (`crates/fuzz`).
#[doc(hidden)]
#[must_use]
pub fn reads_message(bytes: &[u8]) -> bool {
    decode(bytes).is_some()
}

fn decode(bytes: &[u8]) -> Option<Forward> {
    let mut input = Input(bytes);
    match input.u8()? {
        1 => {
            let id = input.u64()?;
            let connection = input.u32()?;
            let table = TableId(input.u32()?);
            let protocol = if input.u8()? == 0 {
                Protocol::Resp2
            } else {
                Protocol::Resp3
            };
            let work = input.work()?;
            input.0.is_empty().then(|| {
                Forward::Request(ForwardRequest {
                    token: token(id, connection),
                    table,
                    protocol,
                    work,
                    // Not sent: how long it may take here is for this brick to say.
                    until: Instant(0),
                    lane: None,
                })
            })
        }
        2 => {
            let id = input.u64()?;
            let is_misplaced = input.u8()? != 0;
            Some(Forward::Reply(ForwardReply {
                token: token(id, 0),
                bytes: input.0.to_vec(),
                is_misplaced,
            }))
        }
        _ => None,
    }
}
