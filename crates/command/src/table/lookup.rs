//! Finds a command by its name.
//!
//! In:  a name as the client sent it, in any case. Out: its [`Spec`].
//!
//! Invariants:
//! - Nothing but a whole name is found.
//! - A name is found with one read of a table of 1,024 bytes and one comparison of two words.

use super::{COMMANDS, Spec};

// HOW A NAME IS FOUND
//
// A name of up to 16 bytes is read as two overlapping words (its first and last 8, 4 or 1 to 3
// bytes), both lowered in registers. Together with the length they are the name: comparing them
// compares the bytes. One multiplication mixes them into an index of a table of 1,024 bytes that
// holds the command's number, built below at compile time with a multiplier that was searched for
// so that no two commands share a place; the build fails if a new command breaks that.

const INDEX_BITS: u32 = 10;
const MULTIPLIER: u64 = 0x9b4c_cbb0_10e0_5fdf;
const NAME_BYTES_MAX: usize = 16;
const NOTHING: u8 = u8::MAX;

/// A lowered name in two words.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Words {
    head: u64,
    tail: u64,
}

impl Words {
    /// `None` if no command can have this name.
    #[inline]
    const fn new(name: &[u8]) -> Option<Self> {
        let (head, tail) = match name.len() {
            8..=NAME_BYTES_MAX => match (name.first_chunk::<8>(), name.last_chunk::<8>()) {
                (Some(head), Some(tail)) => (u64::from_le_bytes(*head), u64::from_le_bytes(*tail)),
                _ => return None,
            },
            4..8 => match (name.first_chunk::<4>(), name.last_chunk::<4>()) {
                (Some(head), Some(tail)) => (
                    u32::from_le_bytes(*head) as u64,
                    u32::from_le_bytes(*tail) as u64,
                ),
                _ => return None,
            },
            1..4 => {
                let head = name[0] as u64 | (name[name.len() / 2] as u64) << 8;
                (head, name[name.len() - 1] as u64)
            }
            _ => return None,
        };
        Some(Self {
            head: lowered(head),
            tail: lowered(tail),
        })
    }

    #[inline]
    const fn index(self, length: usize) -> usize {
        let mixed =
            (self.head ^ self.tail.rotate_left(21) ^ length as u64).wrapping_mul(MULTIPLIER);
        (mixed >> (u64::BITS - INDEX_BITS)) as usize
    }
}

/// Lowers eight ASCII letters at once; every other byte stays as it is.
#[inline]
const fn lowered(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    let low = word & !HIGH;
    let from_a = low + (0x80 - b'A' as u64) * ONES;
    let past_z = low + (0x80 - b'Z' as u64 - 1) * ONES;
    let is_upper = from_a & !past_z & !word & HIGH;
    word | is_upper >> 2
}

struct Place {
    words: Words,
    length: u8,
}

static PLACES: [Place; COMMANDS.len()] = {
    let mut places = [const {
        Place {
            words: Words { head: 0, tail: 0 },
            length: 0,
        }
    }; COMMANDS.len()];
    let mut at = 0;
    while at < COMMANDS.len() {
        let name = COMMANDS[at].name.as_bytes();
        match Words::new(name) {
            Some(words) => {
                places[at] = Place {
                    words,
                    length: name.len() as u8,
                };
            }
            None => panic!("a command's name is longer than the lookup reads"),
        }
        at += 1;
    }
    places
};

static INDEX: [u8; 1 << INDEX_BITS] = {
    let mut index = [NOTHING; 1 << INDEX_BITS];
    let mut at = 0;
    while at < COMMANDS.len() {
        let place = PLACES[at].words.index(PLACES[at].length as usize);
        assert!(
            index[place] == NOTHING,
            "two commands share a place: search for another MULTIPLIER"
        );
        index[place] = at as u8;
        at += 1;
    }
    index
};

/// Finds a command by its name, in any case; `None` if there is none.
///
/// Subcommands are found with [`lookup_subcommand`].
#[inline]
#[must_use]
pub fn lookup(name: &[u8]) -> Option<&'static Spec> {
    let words = Words::new(name)?;
    let at = usize::from(INDEX[words.index(name.len())]);
    let place = PLACES.get(at)?;
    let is_same = place.words == words && usize::from(place.length) == name.len();
    is_same.then(|| &COMMANDS[at])
}

/// Finds a subcommand of `container` by its short name, in any case.
#[must_use]
pub fn lookup_subcommand(container: &Spec, name: &[u8]) -> Option<&'static Spec> {
    container
        .subcommands
        .iter()
        .find(|spec| spec.short_name().as_bytes().eq_ignore_ascii_case(name))
}

/// Finds a command by its full name: `get`, or `client|list` for a subcommand.
#[must_use]
pub fn lookup_full(name: &[u8]) -> Option<&'static Spec> {
    match name.iter().position(|byte| *byte == b'|') {
        None => lookup(name),
        Some(bar) => lookup_subcommand(lookup(&name[..bar])?, &name[bar + 1..]),
    }
}

#[cfg(test)]
#[path = "lookup_test.rs"]
mod lookup_test;
