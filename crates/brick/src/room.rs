//! Room for replies that other bricks make: a client that does not read gets no more of them than one whose keys are here.
//!
//! HOW A REPLY IS BOUNDED BEFORE IT IS FETCHED. A request of 30 bytes may ask for a megabyte, and its asker cannot know. So each
//! request that is not answered on the spot *reserves* room at its connection, and carries how much: a kibibyte, or what the
//! connection's replies were like lately. Whoever executes it looks at the reply's length first. Where that is more than the room,
//! the request is not executed; it goes back with the length (`NoRoom`), and so does, unexecuted, whatever of that client comes
//! behind it there: the client is *stalled* at that brick, so that nothing overtakes. The asker keeps what has come back, and begins
//! no further request of the client. When nothing of it is under way any more and its client has read what it had, the bricks at
//! which it is stalled are told to go on (`Resume`), and what came back is asked again in its order, with the room that it needs, as
//! far as there is room; the first of it always, when the client has read enough for a request to be executed here.
//!
//! Small numbers: of 100 `GET`s of 10 bytes each reserves 1 KiB, and none comes back. Of 2,000 of a megabyte each the first comes
//! back with its length and up to 1,023 behind it, which makes 1 MB of requests and no reply; then one is asked at a time, while
//! the client reads. 100 of 4 KiB come back once; from then on the connection's requests reserve 5 KiB.
//!
//! In:  lengths of replies; requests that came back. Out: how much room a request reserves; what came back, in order.
//!
//! Invariants:
//! - What a connection has unsent, holds and has reserved is at most `output_soft` when a further request of it begins.
//! - What comes back was not executed, and nothing that the connection sent after it was, on that brick (rule `reads follow own
//!   writes`).
//! - A brick is told to resume when nothing of the client is under way, so that nothing can arrive between what came back.
//!
//! Not here: counting what is reserved (`gather`), who is stalled where, and the way back (`dispatch/room`).

use crate::output::PlaceholderId;
use crate::request::Request;
use brickyard_routing::Member;
use brickyard_types::Instant;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// Room that a request reserves at least is one of so many parts of what a connection may have (`output_soft`): a pipeline of a
/// thousand short replies fits into it, and a kibibyte is one of a mebibyte's.
const ROOMS: usize = 1 << 10;

/// The same for a part of a reply that has more than [`PARTS_FEW`]: a million keys may be asked for at once.
const PART_ROOMS: usize = 1 << 13;

/// See [`PART_ROOMS`].
pub(crate) const PARTS_FEW: usize = 64;

/// No reply is longer; what another brick says is not believed beyond that.
const NEEDED_MAX: usize = 1 << 40;

/// A reply is shorter than the longest of late: that is forgotten by one part in so many with each.
const FADES_BY: usize = 256;

/// What a short reply is shorter than: a number, `+OK`.
pub(crate) const SHORT: usize = 64;

/// How long the replies of a connection were lately, and how much of them it may leave unread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyLengths {
    longest: usize,
    output_soft: usize,
}

impl ReplyLengths {
    pub(crate) fn new(output_soft: usize) -> Self {
        Self {
            longest: 0,
            output_soft,
        }
    }

    /// Unsent output past which no further command of the client is executed, in bytes.
    #[inline]
    pub(crate) fn output_soft(&self) -> usize {
        self.output_soft
    }

    /// A reply has come.
    #[inline]
    pub(crate) fn note(&mut self, len: usize) {
        let faded = self.longest - self.longest / FADES_BY;
        self.longest = faded.max(len);
    }

    /// What a request reserves that makes a reply, or one of very many parts of one.
    #[inline]
    pub(crate) fn room(&self, is_of_many: bool) -> usize {
        // Replies of one kind differ a little.
        let usual = self.longest.saturating_add(self.longest / 4);
        let rooms = if is_of_many { PART_ROOMS } else { ROOMS };
        usual.max(self.output_soft / rooms).max(1)
    }
}

/// A request that came back.
#[derive(Debug)]
pub(crate) struct CameBack {
    pub(crate) request: Request,
    /// From where.
    pub(crate) from: Member,
    /// The length of its reply; 0: not known.
    needed: usize,
    /// How long what came back before had waited for the client when this did ([`ClientWait`]).
    waited: Duration,
}

impl CameBack {
    pub(crate) fn new(from: Member, request: Request, needed: usize) -> Self {
        let needed = needed.min(NEEDED_MAX);
        Self {
            request,
            from,
            needed,
            waited: Duration::ZERO,
        }
    }

    fn place(&self) -> (PlaceholderId, u32) {
        let token = self.request.origin.token;
        (token.placeholder, token.part)
    }

    /// The room that it is asked again with. `usual` is what one reserves whose reply's length is not known.
    fn room(&self, usual: usize) -> usize {
        match self.needed {
            0 => usual,
            // Beside values there are lines, and until it is asked again it may grow.
            needed => needed + needed / 8 + SHORT,
        }
    }
}

/// How long what came back of a connection has waited for nothing but its client: no brick had a request of it.
#[derive(Debug, Default)]
struct ClientWait {
    total: Duration,
    /// A brick has had a request of it until then.
    since: Instant,
}

/// Requests of one connection for whose replies there was no room, and where the client is stalled.
#[derive(Debug, Default)]
pub(crate) struct Returned {
    /// In the order of the requests, and of their parts.
    requests: VecDeque<CameBack>,
    bricks: BTreeSet<Member>,
    bytes: usize,
    wait: ClientWait,
}

impl Returned {
    /// Whether nothing came back that waits, and the client is stalled nowhere.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.bricks.is_empty()
    }

    /// Bytes of requests.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The place of the first reply that waits for room.
    pub(crate) fn first(&self) -> Option<PlaceholderId> {
        self.requests.front().map(|it| it.place().0)
    }

    /// The client is stalled there.
    pub(crate) fn stall(&mut self, at: Member) {
        self.bricks.insert(at);
    }

    /// A brick has answered a request of the connection, or sent it back: what waits may wait for the client from now on.
    #[inline]
    pub(crate) fn note_brick(&mut self, now: Instant) {
        self.wait.since = now;
    }

    /// A request waits, where it belongs.
    pub(crate) fn put(&mut self, mut came_back: CameBack) {
        came_back.waited = self.wait.total;
        self.bytes += came_back.request.bytes();
        let place = came_back.place();
        // Nearly always the last: they come back in their order.
        let before = self.requests.iter().rposition(|it| it.place() <= place);
        let at = before.map_or(0, |before| before + 1);
        let next = self.requests.get(at).map(CameBack::place);
        assert!(
            next.is_none_or(|next| next > place),
            "{place:?} comes back before {next:?}"
        );
        self.requests.insert(at, came_back);
    }

    /// Sets apart what waits; how long others have waited for the client stays known.
    pub(crate) fn set_apart(&mut self) -> Self {
        Self {
            requests: std::mem::take(&mut self.requests),
            bricks: std::mem::take(&mut self.bricks),
            bytes: std::mem::take(&mut self.bytes),
            wait: ClientWait::default(),
        }
    }

    /// What was set apart waits on, behind what has come back meanwhile.
    pub(crate) fn append(&mut self, rest: Self) {
        let (last, next) = (self.requests.back(), rest.requests.front());
        let (last, next) = (last.map(CameBack::place), next.map(CameBack::place));
        assert!(
            last.is_none() || next.is_none() || last < next,
            "{next:?} waits behind {last:?}"
        );
        self.requests.extend(rest.requests);
        self.bricks.extend(rest.bricks);
        self.bytes += rest.bytes;
    }

    /// The bricks at which the client is stalled: they are told to go on.
    pub(crate) fn take_bricks(&mut self) -> BTreeSet<Member> {
        std::mem::take(&mut self.bricks)
    }

    /// What of it is asked again now, in order, each with its room: all parts of the first, and of what follows as much as
    /// fits into `free` bytes. What one has waited for its client it has on top of its deadline; what it waits for bricks goes on
    /// counting, also for those that others of the client's requests are with.
    pub(crate) fn take(&mut self, free: usize, usual: usize, now: Instant) -> Vec<CameBack> {
        self.wait.total += now - self.wait.since;
        self.wait.since = now;
        let first = self.first();
        let mut taken = Vec::new();
        let mut used = 0_usize;
        while let Some(next) = self.requests.front() {
            let room = next.room(usual);
            used = used.saturating_add(room);
            if used > free && Some(next.place().0) != first {
                break;
            }
            if let Some(mut next) = self.requests.pop_front() {
                let bytes = next.request.bytes();
                assert!(self.bytes >= bytes, "{bytes} of {}", self.bytes);
                self.bytes -= bytes;
                next.request.room = room;
                next.request.deadline = next.request.deadline + (self.wait.total - next.waited);
                taken.push(next);
            }
        }
        assert!(
            !self.requests.is_empty() || self.bytes == 0,
            "nothing waits, but {} bytes",
            self.bytes
        );
        taken
    }
}

/// Clients of other bricks of which nothing is executed here until they have room again, each with the brick that it is
/// connected to.
#[derive(Debug, Default)]
pub(crate) struct Stalls(BTreeSet<(Member, u64)>);

impl Stalls {
    pub(crate) fn begin(&mut self, of: Member, client: u64) {
        self.0.insert((of, client));
    }

    pub(crate) fn end(&mut self, of: Member, client: u64) {
        self.0.remove(&(of, client));
    }

    #[inline]
    pub(crate) fn has(&self, of: Member, client: u64) -> bool {
        !self.0.is_empty() && self.0.contains(&(of, client))
    }

    /// The stream on which a brick asks is another one: what it asked by an earlier one it knows to be lost.
    pub(crate) fn forget(&mut self, of: Member) {
        self.0.retain(|(member, _)| *member != of);
    }
}

#[cfg(test)]
#[path = "room_test.rs"]
mod room_test;
