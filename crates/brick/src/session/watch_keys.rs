//! `WATCHKEYS`: a client follows the committed changes of a table, from a position on.
//!
//! In:  the command; a brick's partitions, for its share; wake-ups. Out: rounds of shares, until the client is answered.
//!
//! Each share is a subrequest, to all bricks that lead something of what is followed by the map here. A brick tells of what it leads by now, and waits for nothing: what
//! nobody tells of is told in a later round, from where it was, so that one partition whose view is changing holds up no other.
//!
//! Invariants:
//! - Only the primary of a partition tells, while it has a lease.
//! - Rights are looked at before each round: who has lost them while it waited is told nothing more.
//!
//! Not here: what a partition keeps, and how it is read (`changes`).

use super::next::{Next, Outcome, Subrequests};
use crate::accepted::ConnectionId;
use crate::brick::Brick;
use crate::changes::{
    Budget, ChangeRing, Feed, FeedState, Feeds, Pattern, Piece, Place, Position, PositionError,
    RoundEnd, Share, Source, Told, Waiter, follow,
};
use crate::clients::{Clients, wants_reply};
use crate::connection::{Blocked, Connection};
use crate::core::Core;
use crate::gather::{Gather, Join};
use crate::output::CommitDependency;
use crate::refusal::{dropped_table, error_line};
use crate::request::Token;
use crate::tables::TableState;
use crate::tracking::Notice;
use brickyard_command::request::{WatchKeysArgs, Watched};
use brickyard_command::{Args, ErrorReply, KeyValue, OwnedArgs, Spec, payload_of};
use brickyard_routing::{Member, NodeId, TableMap};
use brickyard_types::record::Kind;
use brickyard_types::{BrickId, Op, PartitionId, UnixMillis, ValueType, View};
use brickyard_wire::{Protocol, Reply};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// Bytes of changes that a reply has, about: a batch that is longer is told whole all the same.
const REPLY_BYTES: usize = 1 << 20;

/// Parts of a reply are numbered on from round to round, so that one that comes late is none of a later round.
const PARTS_OF_ROUND: u32 = 1 << 16;

const NO_POSITION: ErrorReply = ErrorReply::constant(
    "ERR the position is none that WATCHKEYS has answered; give one back as it came, or take one with FROM NOW",
);

const LATER_POSITION: ErrorReply = ErrorReply::constant(
    "ERR a later version of the program has answered this position; upgrade this node first, or take a position with FROM NOW",
);

const OTHER_KEYS: ErrorReply = ErrorReply::constant(
    "ERR the position was answered to who follows other keys of the table; take one of these with FROM NOW",
);

const MAY_NOT: ErrorReply = ErrorReply::constant(
    "NOPERM WATCHKEYS tells of keys of every name, and this user may not read all of them; KEY tells of one",
);

const MAY_NOT_KEY: ErrorReply = ErrorReply::constant("NOPERM No permissions to access a key");

/// See the module.
pub(super) fn watch_keys(
    core: &Core,
    clients: &mut Clients,
    feeds: &mut Feeds,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
) -> Outcome {
    let asked = WatchKeysArgs::parse(args)?;
    let connection = &clients[id];
    let (table, protocol) = (connection.session.table, connection.session.protocol);
    let state = core.table(table).ok_or_else(dropped_table)?;
    let pattern = Pattern::of(asked.watched);
    check(core, connection, table, &pattern)?;
    if let Some(text) = asked.from {
        position_of(state, text)?;
    }
    let now = core.now;
    let until = |ms: u64| (ms > 0).then(|| now + Duration::from_millis(ms));
    let gather = Gather::new(Join::Changes, protocol, 1).reading(true);
    let token = clients.open_gather(id, gather);
    // How many shares there are is known when the round begins.
    clients[id].gathers.end(token.placeholder);
    let feed = Feed {
        token,
        table: state.id,
        spec,
        protocol,
        pattern,
        from: asked.from.map(<[u8]>::to_vec),
        count: asked.count,
        waits: asked.block_ms.map(until),
        is_silent: !wants_reply(&clients[id]),
        round: 0,
        state: FeedState::Due,
        is_woken: false,
        since: now,
        begun: now,
    };
    feeds.begin(feed);
    clients[id].blocked = Some(Blocked::Drain);
    Ok(Next::Round(token))
}

/// Whether its user may follow that, and the table can be followed.
fn check(
    core: &Core,
    connection: &Connection,
    table: usize,
    pattern: &Pattern,
) -> Result<(), ErrorReply> {
    let session = &connection.session;
    let may_read = session.granted.is_free || session.granted.rights.read;
    let acl = session.user.as_ref().map(|user| &user.acl);
    if !may_read {
        return Err(MAY_NOT);
    }
    match pattern {
        Pattern::Key(key) if !acl.is_some_and(|acl| acl.may_read(key)) => return Err(MAY_NOT_KEY),
        Pattern::All | Pattern::Prefix(_) if !acl.is_some_and(|acl| acl.has_all_keys()) => {
            return Err(MAY_NOT);
        }
        _ => {}
    }
    let state = core.table(table).ok_or_else(dropped_table)?;
    if let Some(error) = state.refusal() {
        return Err(error);
    }
    if !state.keeps_changes() {
        return Err(keeps_none(state));
    }
    Ok(())
}

/// The changes behind some places are not all kept.
#[cold]
fn compacted(partition: PartitionId, ring: &ChangeRing, places: &[Place]) -> ErrorReply {
    let kept = format!(
        "partition {partition} keeps those of ops {} to {} of generation {}",
        ring.after.next(),
        ring.upto,
        ring.generation
    );
    let asked = places.iter().map(|it| {
        let Place {
            generation,
            view,
            op,
            ..
        } = it;
        format!("op {op} of view {view} and generation {generation}")
    });
    let asked: Vec<String> = asked.take(3).collect();
    ErrorReply::new(format!(
        "COMPACTED the changes behind this position are not kept any more ({kept}, and the position is at {}); take a new position with FROM NOW, \
         read the table with SCAN, then go on from that position",
        asked.join(", ")
    ))
}

fn keeps_none(state: &TableState) -> ErrorReply {
    let name = &state.name;
    ErrorReply::new(format!(
        "ERR table '{name}' keeps none of its changes, so that nobody can follow them; let it: TABLE ALTER {name} HISTORY 1mb"
    ))
}

/// A client's position in a table.
fn position_of(state: &TableState, text: &[u8]) -> Result<Position, ErrorReply> {
    let position = Position::parse(text).map_err(|error| match error {
        PositionError::Garbage => NO_POSITION,
        PositionError::Version => LATER_POSITION,
    })?;
    if position.table != state.id {
        return Err(ErrorReply::new(format!(
            "ERR the position is one of another table than '{}'; give it where that is used, or take one with FROM NOW",
            state.name
        )));
    }
    Ok(position)
}

/// The leaves of a table whose shares make a round.
pub(super) fn leaves(map: &TableMap, args: Args<'_>) -> Range<usize> {
    match WatchKeysArgs::parse_share(args).map(|it| it.watched) {
        Ok(Watched::Key(key)) => {
            let leaf = map.locate(key).leaf as usize;
            leaf..leaf + 1
        }
        Ok(_) => 0..map.partitions().leaves().len(),
        Err(_) => 0..0,
    }
}

/// The bricks whose shares make a round.
pub(super) fn watched_bricks(state: &TableState, args: Args<'_>) -> Vec<Member> {
    let groups = &state.map.groups()[leaves(&state.map, args)];
    let mut members: Vec<Member> = groups.iter().map(|it| it.primary.member).collect();
    members.sort_unstable();
    members.dedup();
    members
}

impl Brick {
    /// A client's feed asks all whom it concerns.
    pub(crate) fn begin_round(&mut self, token: Token) {
        let Some(feed) = self.feeds.of(token) else {
            return;
        };
        let Some(connection) = self.clients.named_mut(token) else {
            self.feeds.end(token.connection);
            return;
        };
        let table = self.core.tables.index_of(feed.table);
        let checked = match table {
            Some(table) => check(&self.core, connection, table, &feed.pattern),
            None => Err(dropped_table()),
        };
        let table = match (checked, table) {
            (Ok(()), Some(table)) => table,
            (Err(error), _) => return self.end_feed(token, error_line(&error)),
            (Ok(()), None) => return self.end_feed(token, error_line(&dropped_table())),
        };
        assert_ne!(
            feed.state,
            FeedState::Asking,
            "a feed begins a round while one is under way"
        );
        feed.round += 1;
        (feed.state, feed.is_woken, feed.since) = (FeedState::Asking, false, self.core.now);
        let waiter = match feed.waits {
            Some(_) => token.client,
            None => 0,
        };
        let Some(state) = self.core.table(table) else {
            return;
        };
        let (words, count) = (words_of(feed), feed.count);
        let bricks = watched_bricks(state, words.as_args());
        let shares = bricks.len().max(1) as u64;
        let args = with_share(
            &words,
            [
                (count / shares).max(1),
                (REPLY_BYTES as u64) / shares,
                waiter,
                feed.round,
            ],
            self.core.member(),
        );
        let first = (feed.round as u32 % PARTS_OF_ROUND) * PARTS_OF_ROUND;
        let mut gather = Gather::new(Join::Changes, feed.protocol, bricks.len().max(1))
            .reading(true)
            .numbered_from(first);
        gather.is_silent = feed.is_silent;
        let asked = Subrequests {
            spec: feed.spec,
            args,
            table,
            protocol: feed.protocol,
            // A brick tells of what it leads by now; what nobody tells of is asked for in the next round.
            is_named: false,
            deadline: feed.round_ends(self.core.now),
            is_again: true,
        };
        connection.blocked = Some(Blocked::Drain);
        connection.gathers.begin(token.placeholder, gather);
        let token = Token {
            part: first,
            ..token
        };
        self.ask_subrequests(&asked, bricks, token);
    }

    /// All shares of a round are there.
    pub(crate) fn end_round(&mut self, token: Token, whole: &[u8]) {
        let now = self.core.now;
        let Some(feed) = self.feeds.of(token) else {
            return;
        };
        match feed.end_round(whole, now) {
            RoundEnd::Answer(bytes) => {
                if bytes.starts_with(b"-COMPACTED") {
                    self.core.stats().feeds.compacted.add(1);
                }
                self.end_feed(token, bytes);
            }
            RoundEnd::GoesOn => {
                let is_due = feed.state == FeedState::Due;
                let Some(connection) = self.clients.named_mut(token) else {
                    return;
                };
                if connection.end.is_ended {
                    // It might wait for ever, and for what it will not read.
                    return self.clients.on_broken(token.connection);
                }
                connection.blocked = Some(Blocked::Watch);
                if is_due {
                    self.feeds.push_due(token.connection);
                }
            }
        }
    }

    /// The client is answered.
    fn end_feed(&mut self, token: Token, bytes: Vec<u8>) {
        let Some(feed) = self.feeds.end(token.connection) else {
            return;
        };
        let Self { core, clients, .. } = self;
        clients.fill_waiting(
            token,
            (bytes, feed.is_silent),
            &core.shared.settings,
            &core.log,
        );
        if let Some(last) = self.clients.take_last(token.connection) {
            self.begin_now(last);
        }
    }

    /// Feeds begin the rounds that are due.
    pub(crate) fn begin_rounds(&mut self) {
        for id in self.feeds.take_due() {
            let connection = self.clients.get(id);
            let token = connection.and_then(|it| self.feeds.token_of(id, it.client));
            if let Some(token) = token {
                self.begin_round(token);
            }
        }
    }

    /// Those who wait for what has committed are told so.
    pub(crate) fn wake_waiters(&mut self) {
        let own = self.core.member();
        let woken = self.core.tables.take_woken();
        for ((member, client), round) in woken {
            if member == own {
                self.on_changed(client, round);
            } else {
                let notice = Notice::Changed { client, round };
                self.core.outbox.tell(member, notice);
            }
        }
    }

    /// There is something to read for a client of this brick.
    pub(crate) fn on_changed(&mut self, client: u64, round: u64) {
        let found = self.core.shared.directory.find(client);
        if let Some((brick, id)) = found
            && brick == self.core.id
        {
            self.feeds.wake((id, client), round);
        }
    }

    /// Several times a second.
    pub(crate) fn tick_feeds(&mut self) {
        let now = self.core.now;
        for (token, bytes) in self.feeds.tick(now) {
            if let Some(connection) = self.clients.named_mut(token) {
                connection.gathers.end(token.placeholder);
            }
            self.end_feed(token, bytes);
        }
        self.core.tables.followed.waiters.forget_old(now);
        let stats = &self.core.stats().feeds;
        stats.waiting.set(self.feeds.waiting() as u64);
        let tables = self.core.tables.iter().filter(|it| it.keeps_changes());
        let bytes: usize = tables.map(TableState::changes_memory).sum();
        stats.history_bytes.set(bytes as u64);
    }
}

/// The command as the client has sent it, from where it is by now.
fn words_of(feed: &Feed) -> OwnedArgs {
    let now: &[u8] = b"now";
    let mut words: Vec<&[u8]> = vec![b"watchkeys"];
    match &feed.pattern {
        Pattern::All => words.push(b"all"),
        Pattern::Prefix(prefix) => words.extend([&b"prefix"[..], prefix]),
        Pattern::Key(key) => words.extend([&b"key"[..], key]),
    }
    words.extend([b"from", feed.from.as_deref().unwrap_or(now)]);
    words.into_iter().map(<[u8]>::to_vec).collect()
}

fn with_share(
    words: &OwnedArgs,
    [count, bytes, client, round]: [u64; 4],
    asker: Member,
) -> OwnedArgs {
    let words = words.as_args();
    let first = (0..words.len()).map(|at| words.at(at).to_vec());
    let (node, brick) = (asker.node.0.into(), asker.brick.0.into());
    let numbers = [bytes, client, round, node, brick].map(|it: u64| it.to_string().into_bytes());
    let rest = [
        b"count".to_vec(),
        count.to_string().into_bytes(),
        b"share".to_vec(),
    ];
    first.chain(rest).chain(numbers).collect()
}

/// This brick's share of a round, for a client of that brick.
pub(super) fn share(
    core: &mut Core,
    table: usize,
    args: Args<'_>,
    out: &mut Vec<u8>,
) -> CommitDependency {
    match shared(core, table, args) {
        Ok(share) => share.encode(out),
        Err(error) => out.extend(error_line(&error)),
    }
    CommitDependency::NONE
}

fn shared(core: &mut Core, table: usize, args: Args<'_>) -> Result<Share, ErrorReply> {
    let asked = WatchKeysArgs::parse_share(args)?;
    let wanted = asked.share.ok_or(ErrorReply::SYNTAX)?;
    let draw = core.random.next();
    let me = core.member();
    let own = core.table(table).map_or_else(Vec::new, |state| {
        // Of others nothing is told: whoever leads them by now tells that.
        let is_well = |leaf: &usize| {
            let held = state.partitions.get(*leaf).and_then(Option::as_ref);
            let primary = state.map.groups()[*leaf].primary.member;
            primary == me && held.is_some_and(|it| core.has_in_hand(it, false))
        };
        let own = leaves(&state.map, args).filter(is_well);
        own.filter(|_| core.replicas.is_leased).collect::<Vec<_>>()
    });
    let Core {
        tables,
        replicas,
        now,
        ..
    } = core;
    let state = tables.get_mut(table).ok_or_else(dropped_table)?;
    if !state.keeps_changes() {
        return Err(keeps_none(state));
    }
    let from = match asked.from {
        Some(text) => Some(position_of(state, text)?),
        None => None,
    };
    assert!(asked.count > 0, "a share of no changes");
    let mut budget = Budget::new(
        usize::try_from(asked.count).unwrap_or(usize::MAX),
        usize::try_from(wanted.bytes).unwrap_or(usize::MAX),
    );
    let mut share = Share::default();
    let mut waiter = Waiter {
        table: state.id,
        pattern: Pattern::of(asked.watched),
        round: wanted.round,
        seen: BTreeMap::new(),
        since: *now,
    };
    let mut count_all = 0;
    // Where much happens in one partition the others are not behind it for ever.
    let first = usize::try_from(draw % own.len().max(1) as u64).unwrap_or(0);
    for leaf in own[first..].iter().chain(&own[..first]) {
        let prefix = state.map.partitions().leaves()[*leaf].prefix;
        let view_at = |op: Op| {
            let id = state.partitions.get(*leaf)?.as_ref()?.id;
            replicas.replicator().view_at(id, op)
        };
        let begun = ring_begin(state, *leaf, view_at);
        let Some(Some(held)) = state.partitions.get_mut(*leaf) else {
            continue;
        };
        if let Some((view, op)) = begun {
            let ring = ChangeRing::new(prefix, held.generation, (view, op));
            held.changes = Some(Box::new(ring));
        }
        let (id, prepared) = (held.id, held.op);
        let Some(Some(held)) = state.partitions.get(*leaf) else {
            continue;
        };
        let Some(ring) = held.changes.as_deref() else {
            continue;
        };
        let hasher = state.map.hasher();
        let source = Source {
            ring,
            prepared,
            view_at: |op| replicas.replicator().view_at(id, op),
            hash: |key: &[u8]| hasher.routing_hash(key),
            watched: asked.watched,
        };
        let wanted_places = match &from {
            Some(position) => source.narrowed(position).ok_or(OTHER_KEYS)?,
            None => vec![ring.end()],
        };
        let mut piece = Piece::default();
        let (count, changes) = (&mut piece.count, &mut piece.changes);
        let mut failed = None;
        let followed = follow(&source, &wanted_places, &mut budget, &mut |told| {
            *count += 1;
            let mut reply = Reply::new(changes, Protocol::Resp2);
            if let Err(error) = write(&told, asked.watched, &mut reply) {
                failed = Some(error);
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let places = followed.map_err(|_| compacted(id, ring, &wanted_places))?;
        let position = Position::of(state.id, places);
        assert!(position.is_sound(), "places of {id} overlap");
        piece.position = position.text().into_bytes();
        count_all += piece.count;
        share.pieces.push(piece);
        waiter.seen.insert(id, ring.upto);
    }
    share.is_cut = budget.is_spent;
    let asker = Member {
        node: NodeId(wanted.node),
        brick: BrickId(wanted.brick),
    };
    let who = (asker, wanted.client);
    let waiters = &mut tables.followed.waiters;
    if wanted.client != 0 && count_all == 0 && !share.is_cut {
        waiters.add(who, waiter);
    } else if wanted.client != 0 {
        waiters.forget(who);
    }
    Ok(share)
}

/// Where a partition's ring begins that has none, or one that does not reach to what has committed; `None`: it is well.
fn ring_begin(
    state: &TableState,
    leaf: usize,
    view_at: impl Fn(Op) -> Option<View>,
) -> Option<(View, Op)> {
    let held = state.partitions.get(leaf)?.as_ref()?;
    let is_well =
        |ring: &ChangeRing| ring.upto == held.committed && ring.generation == held.generation;
    if held.changes.as_deref().is_some_and(is_well) {
        return None;
    }
    let view = match held.committed {
        Op(0) => View(0),
        op => view_at(op).unwrap_or(held.status.view),
    };
    Some((view, held.committed))
}

/// A change as clients get it.
fn write(told: &Told<'_>, watched: Watched<'_>, reply: &mut Reply<'_>) -> Result<(), ErrorReply> {
    let Told { change, scope } = told;
    match (change.kind, watched) {
        (Kind::Put, _) => {
            let is_string = matches!(
                change.value_type,
                ValueType::String | ValueType::BuiltString
            );
            reply.array(4);
            reply.bulk(if is_string { b"set" } else { b"restore" });
            reply.bulk(change.key());
            if is_string {
                reply.bulk(change.value());
            } else {
                let entry = KeyValue {
                    value: change.value(),
                    expires_at: change.expires_at,
                    op: change.op,
                    value_type: change.value_type,
                };
                // As it was written: fields whose time is over by now, too. There may be no others.
                reply.bulk(&payload_of(&entry, UnixMillis(0))?);
            }
            reply.integer(change.expires_at.map_or(-1, |at| at.0 as i64));
        }
        (Kind::Clear, Watched::Key(key)) => {
            reply.array(2);
            reply.bulk(b"del");
            reply.bulk(key);
        }
        (Kind::Clear, _) => {
            let slots = scope.slots();
            reply.array(4);
            reply.bulk(b"clear");
            reply.integer(slots.begin.into());
            reply.integer((slots.end - 1).into());
            reply.bulk(scope.to_string().trim_end_matches('*').as_bytes());
        }
        _ => {
            reply.array(2);
            reply.bulk(b"del");
            reply.bulk(change.key());
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "watch_keys_test.rs"]
mod watch_keys_test;
