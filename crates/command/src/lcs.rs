//! LCS: the longest sequence of bytes that two values have in common, in order but not in one
//! piece.
//!
//! Source: the textbook dynamic programme (Wagner & Fischer, 1974); of equally long answers the
//! walk back prefers to shorten the second value, as Redis does, so that the answer is the same.

use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::keyspace::{Keyspace, read_all};
use crate::number::integer;
use brickyard_wire::Reply;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LcsOptions {
    /// `LEN`
    wants_length: bool,
    /// `IDX`
    wants_matches: bool,
    /// `WITHMATCHLEN`
    wants_match_lengths: bool,
    /// `MINMATCHLEN`
    match_length_min: i64,
}

impl LcsOptions {
    fn parse(args: Args<'_>) -> Result<Self, ErrorReply> {
        let mut parsed = Self::default();
        let mut options = args.from(3);
        while let Some(option) = options.next() {
            let is = |word: &[u8]| option.eq_ignore_ascii_case(word);
            if is(b"idx") {
                parsed.wants_matches = true;
            } else if is(b"len") {
                parsed.wants_length = true;
            } else if is(b"withmatchlen") {
                parsed.wants_match_lengths = true;
            } else if is(b"minmatchlen") {
                parsed.match_length_min = integer(options.next().ok_or(ErrorReply::SYNTAX)?)?;
            } else {
                return Err(ErrorReply::SYNTAX);
            }
        }
        if parsed.wants_length && parsed.wants_matches {
            return Err(ErrorReply::constant(
                "ERR If you want both the length and indexes, please just use IDX.",
            ));
        }
        Ok(parsed)
    }
}

pub(crate) fn lcs<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let mut values = [Vec::new(), Vec::new()];
    read_all(args.from(1).take(2), keyspace, |at, entry| {
        if entry.is_some_and(|entry| !entry.value_type.is_string()) {
            return Err(ErrorReply::constant(
                "ERR The specified keys must contain string values",
            ));
        }
        let value = entry.map_or(&[][..], |entry| entry.value);
        values[at].extend_from_slice(value);
        Ok(())
    })?;
    let options = LcsOptions::parse(args)?;
    let [first, second] = values;
    let cells = (first.len() as u64 + 1) * (second.len() as u64 + 1);
    if cells * size_of::<u32>() as u64 > keyspace.value_bytes_max() as u64 {
        return Err(ErrorReply::constant(
            "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len",
        )
        .into());
    }
    let lengths = Lengths::new(&first, &second);
    let length = i64::from(lengths.at(first.len(), second.len()));
    if options.wants_length {
        reply.integer(length);
        return Ok(());
    }
    let matches = lengths.matches(&first, &second);
    if options.wants_matches {
        reply_matches(&matches, length, options, reply);
    } else {
        let parts: Vec<&[u8]> = matches
            .iter()
            .rev()
            .map(|one| &first[one.first..one.first + one.length])
            .collect();
        reply.bulk_parts(&parts);
    }
    Ok(())
}

fn reply_matches(matches: &[Match], length: i64, options: LcsOptions, reply: &mut Reply<'_>) {
    let is_shown = |one: &&Match| one.length as i64 >= options.match_length_min;
    reply.map(2);
    reply.bulk(b"matches");
    reply.array(matches.iter().filter(is_shown).count());
    for one in matches.iter().filter(is_shown) {
        reply.array(2 + usize::from(options.wants_match_lengths));
        for start in [one.first, one.second] {
            reply.array(2);
            reply.integer(start as i64);
            reply.integer((start + one.length - 1) as i64);
        }
        if options.wants_match_lengths {
            reply.integer(one.length as i64);
        }
    }
    reply.bulk(b"len");
    reply.integer(length);
}

/// A run of bytes that both values have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Match {
    first: usize,
    second: usize,
    length: usize,
}

/// Lengths of the longest common sequences of all pairs of prefixes.
struct Lengths {
    width: usize,
    cells: Vec<u32>,
}

impl Lengths {
    fn new(first: &[u8], second: &[u8]) -> Self {
        let width = second.len() + 1;
        let mut cells = vec![0; (first.len() + 1) * width];
        for (row, a) in first.iter().enumerate() {
            let (above, below) = cells.split_at_mut((row + 1) * width);
            let above = &above[row * width..];
            let below = &mut below[..width];
            for (column, b) in second.iter().enumerate() {
                below[column + 1] = if a == b {
                    above[column] + 1
                } else {
                    above[column + 1].max(below[column])
                };
            }
        }
        Self { width, cells }
    }

    fn at(&self, first: usize, second: usize) -> u32 {
        self.cells[first * self.width + second]
    }

    /// The runs that make up one longest common sequence, from the last to the first.
    fn matches(&self, first: &[u8], second: &[u8]) -> Vec<Match> {
        let mut matches = Vec::new();
        let mut run = 0;
        let (mut a, mut b) = (first.len(), second.len());
        let mut end_run = |run: &mut usize, a: usize, b: usize| {
            if *run > 0 {
                matches.push(Match {
                    first: a,
                    second: b,
                    length: *run,
                });
                *run = 0;
            }
        };
        while a > 0 && b > 0 {
            if first[a - 1] == second[b - 1] {
                a -= 1;
                b -= 1;
                run += 1;
                continue;
            }
            end_run(&mut run, a, b);
            if self.at(a - 1, b) > self.at(a, b - 1) {
                a -= 1;
            } else {
                b -= 1;
            }
        }
        end_run(&mut run, a, b);
        matches
    }
}

#[cfg(test)]
#[path = "lcs_test.rs"]
mod lcs_test;
