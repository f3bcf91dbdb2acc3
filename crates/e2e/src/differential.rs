//! Random command sequences, sent to two servers, whose replies must be the same bytes.
//!
//! In:  a seed and a [`Dialect`]. Out: nothing, or the shortest part of the sequence that still shows a
//! difference.
//!
//! Invariants:
//! - A sequence is a function of its seed: `BRICKYARD_E2E_SEED=n` runs it again.
//! - Replies are compared as they were on the wire. Where two correct servers may answer differently
//!   the exception is in [`compare`], by command, with its reason.
//!
//! Source: differential testing (McKeeman, 1998); shrinking by halves as in delta debugging
//! (Zeller and Hildebrandt, 2002).

pub mod compare;
pub mod generate;
pub mod run;
pub mod template;
mod vocabulary;

use crate::random::Random;
use crate::value::escaped;
use std::collections::BTreeMap;
use std::fmt;

/// What the two servers are to each other, which decides what they must agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// A cluster node that owns all slots: `CROSSSLOT` wherever keys of one command differ in slot.
    Cluster,
    /// A standalone server. Ours spreads keys over partitions, which must not show in any reply: keys of
    /// one command, script or transaction are of several slots.
    Standalone,
    /// As `Standalone`, on a table that the connection was put on: nothing leaves it again.
    Table,
}

/// One thing to do to both servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send this and compare the replies.
    Call(Vec<Vec<u8>>),
    /// Iterate `SCAN` with these options to its end; compare what was found.
    Scan(Vec<Vec<u8>>),
    /// `RANDOMKEY`: both say that there is none, or both name a key that both have.
    RandomKey,
    /// Poll until this key, which has a short time to live, is gone from both.
    Expire(Vec<u8>),
}

/// A step and the connection that takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// 0 or 1: two clients, so that `WATCH` has something to notice.
    pub connection: usize,
    /// What it does.
    pub step: Step,
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |words: &[Vec<u8>]| crate::client::shown(words);
        write!(f, "{}> ", self.connection)?;
        match &self.step {
            Step::Call(arguments) => f.write_str(&words(arguments)),
            Step::Scan(options) => write!(f, "(scan to the end) {}", words(options)),
            Step::RandomKey => f.write_str("RANDOMKEY"),
            Step::Expire(key) => write!(f, "(wait until {} has expired)", escaped(key)),
        }
    }
}

/// A difference between the two servers.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Which move showed it.
    pub index: usize,
    /// The two replies, or what else was seen.
    pub text: String,
    /// What it shares with others that probably have the same cause.
    pub kind: String,
}

/// What is reported where a reply did not come in time.
const NO_REPLY: &str = "(no reply)";

impl Difference {
    /// A difference; its kind is the command's name and what the replies are, or both errors' words.
    fn new(index: usize, text: String) -> Self {
        let mut command = text
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_ascii_uppercase();
        let mut replies = Vec::new();
        for line in text.lines().skip(1) {
            let reply = line
                .split_once(':')
                .map_or("", |(_, reply)| reply.trim_start());
            match reply.chars().next() {
                Some('-' | '+') => {
                    let word = reply.split(' ').next().unwrap_or_default();
                    // Errors with a word of their own are mostly about more than one command.
                    if word != "-ERR" && word != "+OK" {
                        command.clear();
                    }
                    replies.push(word.to_owned());
                }
                first => replies.push(first.into_iter().collect()),
            }
        }
        let kind = format!("{command} {}", replies.join(" or "));
        Self { index, text, kind }
    }

    /// Whether a reply never came.
    fn is_hang(&self) -> bool {
        self.text.contains(NO_REPLY)
    }
}

/// Differences that one run reports at most; the first few kinds say more than hundreds of one kind.
const REPORTED_MAX: usize = 12;

/// Runs `count` sequences from `seed` on.
///
/// # Panics
/// After the last, if there were differences: one of each kind, with its seed and the fewest moves that
/// show it.
pub fn check(pair: &mut run::Pair, dialect: Dialect, seed: u64, count: u64) {
    let mut reports: BTreeMap<String, String> = BTreeMap::new();
    for seed in seed..seed + count {
        let moves = generate::sequence(dialect, seed);
        let Some(first) = pair.run(&moves, seed) else {
            continue;
        };
        if reports.contains_key(&first.kind) {
            continue;
        }
        // Each try of one that hangs would take as long again.
        let (moves, difference) = match first.is_hang() {
            true => (moves, first),
            false => shrink(pair, moves, first, seed),
        };
        let listing: Vec<String> = moves.iter().map(ToString::to_string).collect();
        let report = format!(
            "{dialect:?}, BRICKYARD_E2E_SEED={seed}, shortest sequence:\n  {}\n{}",
            listing.join("\n  "),
            difference.text
        );
        reports.insert(difference.kind, report);
        if reports.len() == REPORTED_MAX {
            break;
        }
    }
    let count = reports.len();
    let reports: Vec<String> = reports.into_values().collect();
    assert!(count == 0, "the servers differ:\n{}", reports.join("\n\n"));
}

/// Leaves out moves, in ever smaller pieces, as long as a difference of that kind remains: without its beginning
/// a sequence may show one that is known, and that no whole sequence comes to.
fn shrink(
    pair: &mut run::Pair,
    moves: Vec<Move>,
    difference: Difference,
    seed: u64,
) -> (Vec<Move>, Difference) {
    let mut moves = moves;
    let mut difference = difference;
    moves.truncate(difference.index + 1);
    let mut piece = moves.len().div_ceil(2);
    while piece > 0 {
        let mut begin = 0;
        while begin < moves.len() {
            let mut fewer = moves.clone();
            fewer.drain(begin..(begin + piece).min(moves.len()));
            match pair.run(&fewer, seed) {
                Some(found) if found.kind == difference.kind => {
                    fewer.truncate(found.index + 1);
                    moves = fewer;
                    difference = found;
                }
                _ => begin += piece,
            }
        }
        piece /= 2;
    }
    (moves, difference)
}

/// Splits `bytes` into writes at random places, so that frames arrive in pieces.
pub(crate) fn pieces<'a>(bytes: &'a [u8], random: &mut Random) -> Vec<&'a [u8]> {
    let mut rest = bytes;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        // Mostly whole, or the suite would spend its time in system calls.
        let len = if random.once_in(4) {
            1 + random.below(rest.len())
        } else {
            rest.len()
        };
        let (piece, tail) = rest.split_at(len);
        pieces.push(piece);
        rest = tail;
    }
    pieces
}
