//! One reply made of parts that several bricks render.

use crate::changes::join;
use crate::output::{CommitDependency, Lost, Meets};
use crate::partly::{is_unknown, not_read, partly_done};
use brickyard_command::ErrorReply;
use brickyard_wire::{Protocol, Reply};
use std::collections::BTreeMap;

/// One request can ask for more than memory holds.
pub(crate) const REPLY_TOO_LONG: ErrorReply = ErrorReply::constant(
    "ERR the reply would be longer than client-output-bytes-max; ask for less at a time",
);

/// How the parts become one reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Join {
    /// There is one part and it is the reply.
    Only,
    /// Integers that are added up.
    Sum,
    /// `+OK`s that become one.
    Ok,
    /// Arrays that become one.
    Concat,
    /// Pages of a scan, as elements of an array, of which the session makes one.
    Scan,
    /// Strings that become one.
    Text,
    /// What bricks have of a table, added up ([`DESCRIBED_SUMS`]) behind the last part, which is the beginning of a map.
    Description,
    /// Keys with a figure each: so many with the largest. Of a key that several bricks name the figures are added up, or
    /// the largest is taken.
    Ranked { count: usize, is_sum: bool },
    /// Integers that are added up, and told in the words of `CLIENT KILL`'s old form.
    Killed,
    /// The versions of watched keys, which the session keeps.
    Watch,
    /// `+OK`s of checkpoints that become `SAVE`'s or `BGSAVE`'s reply.
    Saved { in_background: bool },
    /// The replies of a transaction, some of whose commands its connection's brick executes afterwards.
    Exec,
    /// Shares of a round of a feed, which the session looks into.
    Changes,
    /// One of the parts that are not null, by the number drawn here.
    Any(u64),
}

/// The entries that [`Join::Description`] adds: how many bricks have not answered, and the sums of what the others have.
pub(crate) const DESCRIBED_SUMS: [&str; 3] = ["unanswered", "keys", "memory"];

/// A part that is here, and what it waits for.
#[derive(Debug)]
struct Part {
    bytes: Vec<u8>,
    dependency: CommitDependency,
}

impl Part {
    fn is_error(&self) -> bool {
        self.bytes.first() == Some(&b'-')
    }
}

/// The place of a part.
#[derive(Debug)]
enum Slot {
    /// It is not here. A request for it that is under way has reserved so much room; 0: none is.
    Missing(usize),
    Here(Part),
}

impl Slot {
    fn part(&mut self) -> Option<&mut Part> {
        match self {
            Self::Here(part) => Some(part),
            Self::Missing(_) => None,
        }
    }
}

/// What replies in parts, or one of them, make their connection hold.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holding {
    /// Bytes of requests.
    pub(crate) cost: usize,
    /// Bytes of replies for which room is reserved, or that are here.
    pub(crate) room: usize,
    /// Requests with room reserved: they wait, or are with another brick.
    pub(crate) under_way: usize,
}

impl Holding {
    #[inline]
    pub(crate) fn add(&mut self, more: Self) {
        self.cost += more.cost;
        self.room += more.room;
        self.under_way += more.under_way;
    }

    #[inline]
    pub(crate) fn take(&mut self, less: Self) {
        let has =
            self.cost >= less.cost && self.room >= less.room && self.under_way >= less.under_way;
        assert!(has, "{less:?} is taken from {self:?}");
        self.cost -= less.cost;
        self.room -= less.room;
        self.under_way -= less.under_way;
    }
}

/// Parts as they come in.
#[derive(Debug)]
pub(crate) struct Gather {
    join: Join,
    protocol: Protocol,
    parts: Vec<Slot>,
    /// The number of the first of them: parts that were asked for before, in vain, have lower ones.
    first_part: u32,
    missing: usize,
    is_too_long: bool,
    /// Of the parts of a write, which are whole, some may commit though the log refuses others.
    is_divided: bool,
    /// Bytes of the parts that are here, and how many they may be.
    bytes: usize,
    bytes_max: usize,
    /// No part of it writes, so a part that failed leaves nothing behind.
    is_read: bool,
    /// The client wants no reply (`CLIENT REPLY`).
    pub(crate) is_silent: bool,
    /// Bytes of the request that wait with it.
    cost: usize,
    /// Bytes that are reserved, and for how many parts.
    reserved: usize,
    under_way: usize,
}

impl Gather {
    pub(crate) fn new(join: Join, protocol: Protocol, parts: usize) -> Self {
        assert!(parts > 0, "a reply of no parts never comes");
        Self {
            join,
            protocol,
            parts: (0..parts).map(|_| Slot::Missing(0)).collect(),
            first_part: 0,
            missing: parts,
            is_too_long: false,
            is_divided: false,
            bytes: 0,
            bytes_max: usize::MAX,
            is_read: false,
            is_silent: false,
            cost: 0,
            reserved: 0,
            under_way: 0,
        }
    }

    /// What it makes its connection hold.
    #[inline]
    pub(crate) fn holding(&self) -> Holding {
        Holding {
            cost: self.cost,
            room: self.reserved + if self.is_too_long { 0 } else { self.bytes },
            under_way: self.under_way,
        }
    }

    /// How many parts it has.
    pub(crate) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Whether its parts are written by what is asked, and short.
    pub(crate) fn is_short(&self) -> bool {
        matches!(self.join, Join::Ok | Join::Sum)
    }

    /// A request for that part is under way, with room for so many bytes, or, with 0, is not any more; whether the part is
    /// still wanted.
    pub(crate) fn reserve(&mut self, part: u32, room: usize) -> bool {
        let at = part.checked_sub(self.first_part).map(|at| at as usize);
        let Some(Slot::Missing(reserved)) = at.and_then(|at| self.parts.get_mut(at)) else {
            return false;
        };
        let before = std::mem::replace(reserved, room);
        assert!(
            self.reserved >= before && self.under_way >= usize::from(before > 0),
            "{before} bytes of {} for {} parts",
            self.reserved,
            self.under_way
        );
        self.reserved = self.reserved - before + room;
        self.under_way -= usize::from(before > 0);
        self.under_way += usize::from(room > 0);
        true
    }

    /// Refuses a reply longer than `bytes_max`.
    pub(crate) fn within(mut self, bytes_max: usize) -> Self {
        self.bytes_max = bytes_max;
        self
    }

    /// A request of so many bytes is held in memory until its reply is whole.
    pub(crate) fn costing(mut self, bytes: usize) -> Self {
        self.cost = bytes;
        self
    }

    /// Its parts are numbered from there: what comes late of parts that were asked for before has other numbers.
    pub(crate) fn numbered_from(mut self, first: u32) -> Self {
        self.first_part = first;
        self
    }

    /// Whether it is known that the request writes nothing.
    pub(crate) fn reading(mut self, is_read: bool) -> Self {
        self.is_read = is_read;
        self
    }

    /// How the parts become one reply.
    pub(crate) fn kind(&self) -> Join {
        self.join
    }

    /// Forgets what has come so far, since `part` cannot be had: `parts` others are asked for instead, numbered from
    /// the returned one on. `None`: that has been done already.
    pub(crate) fn begin_again(&mut self, part: u32, parts: usize) -> Option<u32> {
        assert!(parts > 0, "a reply of no parts never comes");
        part.checked_sub(self.first_part)?;
        self.first_part += self.parts.len() as u32;
        self.parts = (0..parts).map(|_| Slot::Missing(0)).collect();
        self.missing = parts;
        self.is_too_long = false;
        self.bytes = 0;
        (self.reserved, self.under_way) = (0, 0);
        Some(self.first_part)
    }

    /// Takes a part and what it waits for; the whole reply once none is missing.
    pub(crate) fn on_part(
        &mut self,
        part: u32,
        bytes: Vec<u8>,
        dependency: CommitDependency,
    ) -> Option<(Vec<u8>, CommitDependency)> {
        let at = part.checked_sub(self.first_part)? as usize;
        self.reserve(part, 0);
        self.bytes += bytes.len();
        self.is_too_long |= self.bytes > self.bytes_max && self.join != Join::Only;
        if self.is_too_long {
            let held = self.parts.iter_mut().filter_map(Slot::part);
            held.for_each(|part| part.bytes = Vec::new());
        }
        let bytes = if self.is_too_long { Vec::new() } else { bytes };
        let place = self.parts.get_mut(at)?;
        let before = std::mem::replace(place, Slot::Here(Part { bytes, dependency }));
        if matches!(before, Slot::Missing(_)) {
            assert!(self.missing > 0, "no part is missing");
            self.missing -= 1;
        }
        (self.missing == 0).then(|| self.join())
    }

    /// Operations were lost: each part that waits for one of them becomes an error.
    pub(crate) fn refuse(&mut self, lost: Lost, error: &[u8]) {
        for part in self.parts.iter_mut().filter_map(Slot::part) {
            if let Some(error) = part.dependency.error(lost, error) {
                part.dependency = CommitDependency::NONE;
                part.bytes = error;
            }
        }
    }

    /// A part has had its time: if it waits still it becomes `error`.
    pub(crate) fn give_up(&mut self, part: u32, error: &[u8], log: &impl Meets) {
        let at = part.checked_sub(self.first_part).map(|at| at as usize);
        if let Some(Slot::Here(part)) = at.and_then(|at| self.parts.get_mut(at))
            && !log.meets(part.dependency)
        {
            part.dependency = CommitDependency::NONE;
            part.bytes = error.to_vec();
        }
    }

    /// Whether a refusal of what the whole reply waits for may leave a part of a write behind.
    pub(crate) fn is_divided(&self) -> bool {
        self.is_divided
    }

    fn writes_in_parts(&self) -> bool {
        !self.is_read && matches!(self.join, Join::Ok | Join::Sum)
    }

    /// The error that is the whole reply, if there is one: what one brick refused is not made good by what the others
    /// did.
    fn error(&self, parts: &[Part]) -> Option<Vec<u8>> {
        if self.is_too_long {
            let mut error = Vec::new();
            Reply::new(&mut error, self.protocol).error_bytes(REPLY_TOO_LONG.as_bytes());
            return Some(error);
        }
        if matches!(
            self.join,
            Join::Description | Join::Ranked { .. } | Join::Changes
        ) {
            // They are counted, or have no part in it.
            return None;
        }
        let mut errors = parts.iter().filter(|part| part.is_error());
        let first = &errors.clone().next()?.bytes;
        Some(if self.is_read {
            not_read(first)
        } else if !self.writes_in_parts() {
            first.clone()
        } else if let Some(part) = errors.find(|part| is_unknown(&part.bytes)) {
            // That other parts were not executed says nothing of this one.
            part.bytes.clone()
        } else if parts.iter().all(Part::is_error) {
            first.clone()
        } else {
            partly_done(first)
        })
    }

    fn join(&mut self) -> (Vec<u8>, CommitDependency) {
        let parts = self.parts.drain(..).filter_map(|slot| match slot {
            Slot::Here(part) => Some(part),
            Slot::Missing(_) => None,
        });
        let parts: Vec<Part> = parts.collect();
        let dependencies = parts.iter().map(|part| part.dependency);
        let dependency = dependencies.fold(CommitDependency::NONE, CommitDependency::and);
        if let Some(error) = self.error(&parts) {
            // What nobody knows stays so, whatever the log does with the rest.
            let is_final = self.writes_in_parts() && is_unknown(&error);
            return (
                error,
                if is_final {
                    CommitDependency::NONE
                } else {
                    dependency
                },
            );
        }
        let mut dependencies = parts.iter().map(|part| part.dependency);
        self.is_divided =
            self.writes_in_parts() && dependencies.any(|it| !it.has_same_batches(dependency));
        let parts = parts.into_iter().map(|part| part.bytes).collect();
        (self.joined(parts), dependency)
    }

    fn joined(&self, parts: Vec<Vec<u8>>) -> Vec<u8> {
        let mut out = Vec::new();
        let mut reply = Reply::new(&mut out, self.protocol);
        match self.join {
            Join::Watch => return parts.concat(),
            Join::Changes => return join(&parts),
            Join::Only | Join::Exec => {
                return parts.into_iter().next().unwrap_or_default();
            }
            Join::Ok | Join::Saved { .. } => reply.ok(),
            Join::Sum | Join::Killed => reply.integer(parts.iter().map(|part| integer(part)).sum()),
            Join::Scan => {
                reply.array(parts.len());
                out.extend(parts.into_iter().flatten());
            }
            Join::Concat => {
                let split: Vec<(i64, &[u8])> = parts.iter().map(|part| head(part)).collect();
                reply.array(
                    split
                        .iter()
                        .map(|(count, _)| usize::try_from(*count).unwrap_or(0))
                        .sum(),
                );
                for (_, body) in split {
                    out.extend_from_slice(body);
                }
            }
            Join::Text => {
                let text: Vec<u8> = parts.iter().flat_map(|part| text(part)).copied().collect();
                reply.verbatim("txt", &text);
            }
            Join::Description => {
                let Some((map, shares)) = parts.split_last() else {
                    return out;
                };
                out.extend_from_slice(map);
                let mut reply = Reply::new(&mut out, self.protocol);
                let answers = shares.iter().filter(|share| share.first() != Some(&b'-'));
                let mut sums = [shares.len() as i64, 0, 0];
                for share in answers {
                    let (keys, memory) = head(share);
                    sums[0] -= 1;
                    sums[1] += keys;
                    sums[2] += integer(memory);
                }
                for (name, sum) in DESCRIBED_SUMS.iter().zip(sums) {
                    reply.bulk(name.as_bytes());
                    reply.integer(sum);
                }
            }
            Join::Ranked { count, is_sum } => {
                let ranked = ranked(&parts, count, is_sum);
                reply.array(ranked.len());
                for (key, figure) in ranked {
                    reply.array(2);
                    reply.bulk(key);
                    reply.integer(figure);
                }
            }
            Join::Any(draw) => {
                let some: Vec<&Vec<u8>> = parts
                    .iter()
                    .filter(|part| !matches!(part.get(..2), Some(b"$-" | b"_\r")))
                    .collect();
                match some.get(usize::try_from(draw).unwrap_or(0) % some.len().max(1)) {
                    Some(part) => out.extend_from_slice(part),
                    None => reply.null(),
                }
            }
        }
        out
    }
}

/// The keys with the largest figures of all parts, each a flat array of keys and figures.
fn ranked(parts: &[Vec<u8>], count: usize, is_sum: bool) -> Vec<(&[u8], i64)> {
    let mut figures: BTreeMap<&[u8], i64> = BTreeMap::new();
    for part in parts.iter().filter(|part| part.first() == Some(&b'*')) {
        let (entries, mut rest) = head(part);
        for _ in 0..entries / 2 {
            let (bytes, behind) = head(rest);
            let bytes = usize::try_from(bytes).unwrap_or(0).min(behind.len());
            let (key, behind) = behind.split_at(bytes);
            let (figure, behind) = head(behind.get(2..).unwrap_or_default());
            let known = figures.entry(key).or_default();
            *known = if is_sum {
                *known + figure
            } else {
                figure.max(*known)
            };
            rest = behind;
        }
    }
    let mut ranked: Vec<(&[u8], i64)> = figures.into_iter().collect();
    ranked.sort_by_key(|(_, figure)| std::cmp::Reverse(*figure));
    ranked.truncate(count);
    ranked
}

/// The number on the first line of one of our own replies, and what follows the line.
fn head(reply: &[u8]) -> (i64, &[u8]) {
    let end = reply
        .windows(2)
        .position(|pair| pair == b"\r\n")
        .unwrap_or(reply.len());
    let line = reply.get(1..end).unwrap_or_default();
    let number = std::str::from_utf8(line)
        .ok()
        .and_then(|line| line.parse().ok())
        .unwrap_or(0);
    (number, reply.get(end + 2..).unwrap_or_default())
}

fn integer(reply: &[u8]) -> i64 {
    head(reply).0
}

/// The text of a bulk or verbatim string.
fn text(reply: &[u8]) -> &[u8] {
    let (_, body) = head(reply);
    let body = body.strip_suffix(b"\r\n").unwrap_or(body);
    if reply.first() == Some(&b'=') {
        body.get(4..).unwrap_or_default()
    } else {
        body
    }
}

#[cfg(test)]
mod gather_test {
    use super::*;
    use crate::append::BatchId;

    fn joined(join: Join, parts: &[&[u8]]) -> Vec<u8> {
        let mut gather = Gather::new(join, Protocol::Resp2, parts.len());
        let mut whole = None;
        for (at, part) in parts.iter().enumerate().rev() {
            assert!(whole.is_none());
            whole = gather
                .on_part(at as u32, part.to_vec(), CommitDependency::NONE)
                .map(|(whole, _)| whole);
        }
        whole.unwrap()
    }

    #[test]
    fn description_adds_up_what_has_come_and_counts_who_is_silent() {
        let map = b"*8\r\n$4\r\nname\r\n$1\r\nt\r\n";
        let parts = [
            &b":3\r\n:100\r\n"[..],
            b"-ERR gone\r\n",
            b":4\r\n:50\r\n",
            map,
        ];
        let expected = b"$10\r\nunanswered\r\n:1\r\n$4\r\nkeys\r\n:7\r\n$6\r\nmemory\r\n:150\r\n";
        assert_eq!(
            joined(Join::Description, &parts),
            [&map[..], expected].concat()
        );
    }

    #[test]
    fn parts_join_in_their_order_whatever_order_they_come_in() {
        assert_eq!(joined(Join::Sum, &[b":2\r\n", b":40\r\n"]), b":42\r\n");
        assert_eq!(joined(Join::Ok, &[b"+OK\r\n", b"+OK\r\n"]), b"+OK\r\n");
        assert_eq!(
            joined(Join::Scan, &[b"$-1\r\n", b"$1\r\na\r\n"]),
            b"*2\r\n$-1\r\n$1\r\na\r\n"
        );
        assert_eq!(
            joined(
                Join::Concat,
                &[b"*1\r\n$1\r\na\r\n", b"*0\r\n", b"*1\r\n$1\r\nb\r\n"]
            ),
            b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"
        );
        assert_eq!(
            joined(Join::Text, &[b"$2\r\na\n\r\n", b"$2\r\nb\n\r\n"]),
            b"$4\r\na\nb\n\r\n"
        );
        assert_eq!(
            joined(Join::Any(7), &[b"$-1\r\n", b"$1\r\na\r\n"]),
            b"$1\r\na\r\n"
        );
        assert_eq!(joined(Join::Any(7), &[b"$-1\r\n", b"$-1\r\n"]), b"$-1\r\n");
    }

    #[test]
    fn parts_of_an_attempt_that_was_given_up_do_not_count() {
        let mut gather = Gather::new(Join::Sum, Protocol::Resp2, 3);
        assert!(
            gather
                .on_part(0, b":1\r\n".to_vec(), CommitDependency::NONE)
                .is_none()
        );
        assert_eq!(gather.begin_again(1, 2), Some(3));
        // Another part of that attempt fails, and one comes after all.
        assert_eq!(gather.begin_again(2, 2), None);
        assert!(
            gather
                .on_part(2, b":4\r\n".to_vec(), CommitDependency::NONE)
                .is_none()
        );
        assert!(
            gather
                .on_part(3, b":8\r\n".to_vec(), CommitDependency::NONE)
                .is_none()
        );
        let whole = gather.on_part(4, b":16\r\n".to_vec(), CommitDependency::NONE);
        assert_eq!(whole.unwrap().0, b":24\r\n");
    }

    #[test]
    fn one_error_is_the_reply() {
        assert_eq!(
            joined(Join::Concat, &[b"*1\r\n$-1\r\n", b"-BUSY x\r\n"]),
            b"-BUSY x\r\n"
        );
        assert_eq!(
            joined(Join::Ok, &[b"-BUSY x\r\n", b"-BUSY x\r\n"]),
            b"-BUSY x\r\n"
        );
    }

    #[test]
    fn refused_log_does_not_deny_what_another_brick_has_done() {
        let waits = CommitDependency {
            batch: BatchId(7),
            ..CommitDependency::NONE
        };
        for (elsewhere, is_partly_done) in [(&b"+OK\r\n"[..], true), (b"-BUSY x\r\n", false)] {
            let mut gather = Gather::new(Join::Ok, Protocol::Resp2, 2);
            assert!(gather.on_part(0, b"+OK\r\n".to_vec(), waits).is_none());
            gather.refuse(Lost::From(BatchId(7)), b"-MISCONF x\r\n");
            let (reply, _) = gather
                .on_part(1, elsewhere.to_vec(), CommitDependency::NONE)
                .unwrap();
            assert_eq!(reply.starts_with(b"-UNKNOWNRESULT"), is_partly_done);
        }
    }

    #[test]
    fn part_that_had_committed_is_not_denied_when_the_log_refuses_another() {
        let waits = |batch| CommitDependency {
            batch: BatchId(batch),
            ..CommitDependency::NONE
        };
        let write = || {
            let mut gather = Gather::new(Join::Ok, Protocol::Resp2, 3);
            let parts = [(0, waits(5)), (1, waits(9))];
            for (part, dependency) in parts {
                assert!(
                    gather
                        .on_part(part, b"+OK\r\n".to_vec(), dependency)
                        .is_none()
                );
            }
            gather
        };
        // While the third is missing; batch 5 is in the log since long.
        let mut gather = write();
        gather.refuse(Lost::Unwritten(BatchId(9)), b"-MISCONF x\r\n");
        let (reply, _) = gather
            .on_part(2, b"-BUSY x\r\n".to_vec(), CommitDependency::NONE)
            .unwrap();
        assert!(reply.starts_with(b"-UNKNOWNRESULT"));
        // And when all are there.
        let mut gather = write();
        assert!(gather.on_part(2, b"+OK\r\n".to_vec(), waits(9)).is_some());
        assert!(gather.is_divided());
        // What is in one batch is in the log, or nothing of it.
        let mut gather = Gather::new(Join::Ok, Protocol::Resp2, 2);
        for part in 0..2 {
            gather.on_part(part, b"+OK\r\n".to_vec(), waits(9));
        }
        assert!(!gather.is_divided());
    }

    #[test]
    fn part_of_unknown_fate_makes_the_whole_unknown_whatever_is_known_of_others() {
        let lost = b"-UNKNOWNRESULT lost\r\n";
        for other in [&b"-MISCONF x\r\n"[..], b"-CLUSTERDOWN x\r\n", b"+OK\r\n"] {
            assert_eq!(joined(Join::Ok, &[other, lost]), lost);
            assert_eq!(joined(Join::Ok, &[lost, other]), lost);
            assert_eq!(joined(Join::Sum, &[other, lost]), lost);
        }
        // A refusal of what others wait for does not make it known.
        let waits = CommitDependency {
            batch: BatchId(7),
            ..CommitDependency::NONE
        };
        let mut gather = Gather::new(Join::Ok, Protocol::Resp2, 2);
        assert!(gather.on_part(0, b"+OK\r\n".to_vec(), waits).is_none());
        let whole = gather.on_part(1, lost.to_vec(), CommitDependency::NONE);
        assert_eq!(whole, Some((lost.to_vec(), CommitDependency::NONE)));
    }

    #[test]
    fn command_that_was_partly_done_does_not_claim_that_it_was_not() {
        let expected =
            b"-UNKNOWNRESULT a part of the command was executed and another was not: BUSY x\r\n";
        assert_eq!(joined(Join::Ok, &[b"+OK\r\n", b"-BUSY x\r\n"]), expected);
        assert_eq!(joined(Join::Sum, &[b"-BUSY x\r\n", b":1\r\n"]), expected);
    }

    #[test]
    fn read_that_failed_has_changed_nothing() {
        let failed = |error: &[u8]| {
            let mut gather = Gather::new(Join::Sum, Protocol::Resp2, 2).reading(true);
            assert!(
                gather
                    .on_part(0, b":1\r\n".to_vec(), CommitDependency::NONE)
                    .is_none()
            );
            let (reply, _) = gather
                .on_part(1, error.to_vec(), CommitDependency::NONE)
                .unwrap();
            assert!(!gather.is_divided());
            reply
        };
        let error = b"-CLUSTERDOWN no primary\r\n";
        assert_eq!(failed(error), error);
        // A part that waited for a write of unknown fate.
        assert_eq!(
            failed(b"-UNKNOWNRESULT lost\r\n"),
            b"-TRYAGAIN the command only reads, and a part of it was not answered: lost\r\n"
        );
    }
}
