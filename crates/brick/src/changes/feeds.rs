//! Clients of this brick that follow a table (`WATCHKEYS`), until each is answered.
//!
//! In:  what a client asks; what the shares of a round bring; wake-ups, ticks, newer maps. Out: which client begins another round, waits, or is
//!      answered with what.
//!
//! A client asks in *rounds*: in each, all bricks that lead something of what it follows give their shares. It is answered by the first round that brings a
//! change. Where there is none, and it may wait, a wake-up begins another. So does anything that may have lost one: a newer map, a stream that broke, and
//! [`ASKED_EVERY`] anyway.
//!
//! Invariants:
//! - A client has the position that it is answered with, or the one before: rounds that fail change nothing.
//! - An error that another round may mend is not told before the client's time is over.
//! - A client follows once at a time.
//!
//! Not here: asking the bricks (`session/watch_keys`), who waits at a brick (`waiters`).

use super::follow::width;
use super::position::{Place, Position, overlapping};
use super::waiters::Pattern;
use crate::accepted::ConnectionId;
use crate::request::Token;
use brickyard_command::Spec;
use brickyard_routing::Prefix;
use brickyard_types::{Instant, TableId};
use brickyard_wire::Protocol;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a client waits for a wake-up that may have been lost.
const ASKED_EVERY: Duration = Duration::from_secs(2);

/// Bricks of this program never tell that.
const STRANGE: &[u8] =
    b"-ERR a brick has told something else than changes of its own keys; report this\r\n";

/// Some partitions have nobody who may speak for them, and the client does not wait.
const NOT_ALL: &[u8] =
    b"-TRYAGAIN some partitions have nobody now who may tell of them: views are changing; ask again from the same position\r\n";

/// How long a client that does not wait for changes waits for those who tell of them.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a round waits for a brick: what others tell is not held up for longer.
const ROUND_MAX: Duration = Duration::from_secs(1);

/// The same where the client has hardly any time left.
const ROUND_MIN: Duration = Duration::from_millis(200);

/// What is at the beginning of a share, so that it is no error.
const MARK: u8 = b'=';

/// What one brick tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Share {
    /// Of each partition that it leads, and may speak for.
    pub(crate) pieces: Vec<Piece>,
    /// There are more changes, or may be.
    pub(crate) is_cut: bool,
}

/// What it tells of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Piece {
    /// A position of the partition's keys.
    pub(crate) position: Vec<u8>,
    /// How many changes.
    pub(crate) count: u64,
    /// The changes, rendered.
    pub(crate) changes: Vec<u8>,
}

impl Share {
    /// As a part of a reply.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.push(MARK);
        let encoded = postcard::to_allocvec(self).expect("a share is plain data");
        out.extend_from_slice(&encoded);
    }

    /// Reads [`Self::encode`]; `None`: it is none.
    pub(crate) fn decode(part: &[u8]) -> Option<Self> {
        let (mark, rest) = part.split_first()?;
        let share = postcard::from_bytes(rest).ok();
        share.filter(|_| *mark == MARK)
    }
}

/// What a client follows, and how far it is.
#[derive(Debug)]
pub(crate) struct Feed {
    pub(crate) token: Token,
    pub(crate) table: TableId,
    pub(crate) spec: &'static Spec,
    pub(crate) protocol: Protocol,
    pub(crate) pattern: Pattern,
    /// From where on; `None`: from now on, and no round has said where that is.
    pub(crate) from: Option<Vec<u8>>,
    pub(crate) count: u64,
    /// It waits where there is no change: until then, or (`None`) without end.
    pub(crate) waits: Option<Option<Instant>>,
    pub(crate) is_silent: bool,
    pub(crate) round: u64,
    pub(crate) state: FeedState,
    /// Something has happened since the round began.
    pub(crate) is_woken: bool,
    /// When the last round began.
    pub(crate) since: Instant,
    /// When the client has asked.
    pub(crate) begun: Instant,
}

/// What a feed waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeedState {
    /// The shares of a round.
    Asking,
    /// Something to read.
    Waiting,
    /// Its turn to begin another round.
    Due,
    /// Some time, before another round is tried.
    Pausing,
}

/// What a round has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RoundEnd {
    /// The client is answered with this.
    Answer(Vec<u8>),
    /// It waits, or begins another round.
    GoesOn,
}

impl Feed {
    /// Whether it may go on waiting.
    fn may_wait(&self, now: Instant) -> bool {
        self.waits
            .is_some_and(|until| until.is_none_or(|until| now < until))
    }

    /// When a round ends that begins now: with the client's time, about, so that what some bricks tell is told though others are silent.
    pub(crate) fn round_ends(&self, now: Instant) -> Instant {
        let left = self.waits.flatten().map(|until| {
            let is_left = until > now;
            if is_left { until - now } else { Duration::ZERO }
        });
        let most = left.unwrap_or(ROUND_MAX).clamp(ROUND_MIN, ROUND_MAX);
        now + most
    }

    /// The client's time is over.
    fn is_over(&self, now: Instant) -> bool {
        self.waits
            .is_some_and(|until| until.is_some_and(|until| until <= now))
    }

    /// An answer with so many changes, as they were rendered.
    fn answer(&self, count: u64, changes: &[u8]) -> Vec<u8> {
        let position = self.from.as_deref().unwrap_or_default();
        let mut out = format!("*2\r\n${}\r\n", position.len()).into_bytes();
        out.extend_from_slice(position);
        out.extend_from_slice(format!("\r\n*{count}\r\n").as_bytes());
        out.extend_from_slice(changes);
        out
    }

    /// All shares of a round are there, or errors in their place.
    pub(crate) fn end_round(&mut self, whole: &[u8], now: Instant) -> RoundEnd {
        assert_eq!(
            self.state,
            FeedState::Asking,
            "a round ends that none began"
        );
        let strange = || RoundEnd::Answer(STRANGE.to_vec());
        let Some(parts) = split(whole) else {
            return strange();
        };
        let mut round = Round::default();
        for part in parts {
            if part.first() == Some(&b'-') {
                if !may_pass(part) {
                    return RoundEnd::Answer(part.to_vec());
                }
                round.error.get_or_insert_with(|| part.to_vec());
                continue;
            }
            let Some(share) = Share::decode(part) else {
                return strange();
            };
            round.is_cut |= share.is_cut;
            for piece in share.pieces {
                if round.take(piece).is_none() {
                    return strange();
                }
            }
        }
        let is_whole = self.go_on(&mut round);
        if round.count > 0 {
            return RoundEnd::Answer(self.answer(round.count, &round.changes));
        }
        let may_wait = self.may_wait(now);
        self.state = if is_whole && !round.is_cut && !may_wait {
            return RoundEnd::Answer(self.answer(0, b""));
        } else if !is_whole && !may_wait && now - self.begun >= PATIENCE {
            // What is missing may have something to tell.
            return RoundEnd::Answer(round.error.unwrap_or_else(|| NOT_ALL.to_vec()));
        } else if !is_whole {
            FeedState::Pausing
        } else if round.is_cut || self.is_woken {
            FeedState::Due
        } else {
            FeedState::Waiting
        };
        RoundEnd::GoesOn
    }

    /// The position is behind what a round has told; whether it has told of all that is followed.
    fn go_on(&mut self, round: &mut Round) -> bool {
        let mut places: Vec<Place> = std::mem::take(&mut round.places).into_values().collect();
        let before = self.from.as_deref().map(Position::parse);
        let before = before.and_then(Result::ok).map(|it| it.places);
        let is_whole = match (&self.pattern, &before) {
            (Pattern::Key(_), _) => !places.is_empty(),
            (_, None) => places.iter().map(|it| width(it.prefix)).sum::<u128>() == 1 << 64,
            (_, Some(before)) => {
                let rest: Vec<Place> = before.iter().flat_map(|it| rest_of(it, &places)).collect();
                let is_whole = rest.is_empty();
                places.extend(rest);
                is_whole
            }
        };
        let is_ahead = match self.pattern {
            Pattern::Key(_) => is_whole,
            Pattern::All | Pattern::Prefix(_) => is_whole || before.is_some(),
        };
        if is_ahead {
            let position = Position::of(self.table, places);
            assert!(position.is_sound(), "places that overlap were taken");
            self.from = Some(position.text().into_bytes());
        }
        is_whole
    }
}

/// What the shares of a round come to.
#[derive(Debug, Default)]
struct Round {
    places: BTreeMap<Prefix, Place>,
    count: u64,
    changes: Vec<u8>,
    is_cut: bool,
    /// Why some brick has told nothing.
    error: Option<Vec<u8>>,
}

impl Round {
    /// Takes what a brick has told of a partition, unless another one has told of the same keys: they are told from the same position
    /// on, and would be told twice. `None`: it makes no sense.
    fn take(&mut self, piece: Piece) -> Option<()> {
        let position = Position::parse(&piece.position).ok()?;
        let is_taken = |prefix: Prefix| {
            let before = self.places.range(..=prefix).next_back();
            let neighbours = before.into_iter().chain(self.places.range(prefix..).next());
            neighbours.into_iter().any(|(it, _)| it.overlaps(prefix))
        };
        if position.places.iter().any(|it| is_taken(it.prefix)) {
            return Some(());
        }
        let places = position.places.into_iter();
        self.places.extend(places.map(|it| (it.prefix, it)));
        self.count += piece.count;
        self.changes.extend(piece.changes);
        Some(())
    }
}

/// What of a place's range none of those that were told is about; they are in the order of their keys.
fn rest_of(place: &Place, told: &[Place]) -> Vec<Place> {
    let told = overlapping(told, place.prefix);
    match told {
        [] => return vec![*place],
        [one] if one.prefix.covers(place.prefix) => return Vec::new(),
        _ => {}
    }
    let parts = place.prefix.children().into_iter().flatten();
    parts
        .flat_map(|prefix| rest_of(&Place { prefix, ..*place }, told))
        .collect()
}

/// The parts of a round, each with its length before it.
fn split(mut whole: &[u8]) -> Option<Vec<&[u8]>> {
    let mut parts = Vec::new();
    while !whole.is_empty() {
        let (len, rest) = whole.split_first_chunk::<8>()?;
        let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
        let (part, rest) = rest.split_at_checked(len)?;
        parts.push(part);
        whole = rest;
    }
    Some(parts)
}

/// Shares as one, for [`split`].
pub(crate) fn join(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut whole = Vec::new();
    for part in parts {
        whole.extend_from_slice(&(part.len() as u64).to_le_bytes());
        whole.extend_from_slice(part);
    }
    whole
}

/// Whether another round may go better: nothing is wrong with what was asked.
fn may_pass(error: &[u8]) -> bool {
    let lasting: [&[u8]; 4] = [b"-COMPACTED", b"-ERR", b"-NOPERM", b"-WRONGPASS"];
    !lasting.iter().any(|it| error.starts_with(it))
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Feeds {
    all: BTreeMap<ConnectionId, Feed>,
    due: Vec<ConnectionId>,
}

impl Feeds {
    /// A client follows.
    pub(crate) fn begin(&mut self, feed: Feed) {
        let before = self.all.insert(feed.token.connection, feed);
        assert!(before.is_none(), "a client follows twice: {before:?}");
    }

    /// The connection is answered, or gone.
    pub(crate) fn end(&mut self, id: ConnectionId) -> Option<Feed> {
        self.all.remove(&id)
    }

    /// The feed of a client that is still there.
    pub(crate) fn of(&mut self, token: Token) -> Option<&mut Feed> {
        let feed = self.all.get_mut(&token.connection)?;
        let is_it =
            (feed.token.client, feed.token.placeholder) == (token.client, token.placeholder);
        is_it.then_some(feed)
    }

    /// Clients that wait.
    pub(crate) fn waiting(&self) -> usize {
        let waiting = self.all.values();
        waiting.filter(|it| it.state != FeedState::Asking).count()
    }

    /// Whether some begin another round.
    #[inline]
    pub(crate) fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// One goes on in its turn.
    pub(crate) fn push_due(&mut self, id: ConnectionId) {
        self.due.push(id);
    }

    /// Those that begin another round now.
    pub(crate) fn take_due(&mut self) -> Vec<ConnectionId> {
        std::mem::take(&mut self.due)
    }

    /// The feed of a client that is due.
    pub(crate) fn token_of(&self, id: ConnectionId, client: u64) -> Option<Token> {
        let feed = self.all.get(&id)?;
        let is_it = feed.token.client == client && feed.state == FeedState::Due;
        is_it.then_some(feed.token)
    }

    /// There is something to read for a client, which has waited for it in that round.
    pub(crate) fn wake(&mut self, (id, client): (ConnectionId, u64), round: u64) {
        if let Some(feed) = self.all.get_mut(&id)
            && (feed.token.client, feed.round) == (client, round)
        {
            feed.wake(&mut self.due);
        }
    }

    /// Something may have been missed, or is elsewhere now.
    pub(crate) fn wake_all(&mut self) {
        for feed in self.all.values_mut() {
            feed.wake(&mut self.due);
        }
    }

    /// Time has passed: some ask again, and those whose time is over, and that know where they are, are returned.
    pub(crate) fn tick(&mut self, now: Instant) -> Vec<(Token, Vec<u8>)> {
        let mut over = Vec::new();
        for feed in self.all.values_mut() {
            // What a round has brought is told: it ends soon.
            let is_asking = feed.state == FeedState::Asking;
            if feed.is_over(now) && feed.from.is_some() && !is_asking {
                over.push((feed.token, feed.answer(0, b"")));
                continue;
            }
            let is_late = now - feed.since >= ASKED_EVERY;
            let is_due = match feed.state {
                FeedState::Pausing => true,
                FeedState::Waiting => is_late,
                FeedState::Asking | FeedState::Due => false,
            };
            if is_due {
                feed.wake(&mut self.due);
            }
        }
        over
    }
}

impl Feed {
    fn wake(&mut self, due: &mut Vec<ConnectionId>) {
        match self.state {
            FeedState::Asking => self.is_woken = true,
            FeedState::Waiting | FeedState::Pausing => {
                self.state = FeedState::Due;
                due.push(self.token.connection);
            }
            FeedState::Due => {}
        }
    }
}

#[cfg(test)]
#[path = "feeds_test.rs"]
mod feeds_test;
