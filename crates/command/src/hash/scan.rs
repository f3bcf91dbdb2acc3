//! HSCAN: a page of a hash's fields.
//!
//! In:  a cursor. Out: some fields, and where to go on.
//!
//! A small hash is one page, as in Redis. Pages of a large one go by the fields' hashes, so that a field that is there from
//! the first page to the last one is on one of them, whatever comes and goes meanwhile. A page of a hash in parts is some parts, each of
//! which has the fields of one stretch of hashes, so cursors hold when a hash changes its form.

use super::fields::{Field, Fields};
use super::place::{end_of, part_of, place};
use super::{Found, Head, with_whole};
use crate::args::Args;
use crate::error::{ErrorReply, Failure};
use crate::glob;
use crate::keyspace::Keyspace;
use crate::number::{IntegerText, integer};
use crate::request::parse_cursor;
use brickyard_wire::Reply;

/// Fields up to which a hash is one page, and that a page has at least, whatever COUNT says.
const PAGE_MIN: usize = 512;

/// Fields of a page if the request does not say.
const COUNT_DEFAULT: u64 = 10;

/// `HSCAN key cursor [MATCH pattern] [COUNT n] [NOVALUES]`
struct Options<'a> {
    pattern: Option<&'a [u8]>,
    count: usize,
    has_values: bool,
}

impl<'a> Options<'a> {
    fn parse(args: Args<'a>) -> Result<Self, ErrorReply> {
        let (mut pattern, mut count, mut has_values) = (None, COUNT_DEFAULT, true);
        let mut options = args.from(3);
        while let Some(option) = options.next() {
            let is = |word: &[u8]| option.eq_ignore_ascii_case(word);
            if is(b"novalues") {
                has_values = false;
                continue;
            }
            let argument = options.next().ok_or(ErrorReply::SYNTAX)?;
            if is(b"count") {
                let number = integer(argument)?;
                if number < 1 {
                    return Err(ErrorReply::SYNTAX);
                }
                count = number.unsigned_abs();
            } else if is(b"match") {
                pattern = Some(argument).filter(|pattern| *pattern != b"*");
            } else {
                return Err(ErrorReply::SYNTAX);
            }
        }
        Ok(Self {
            pattern,
            count: usize::try_from(count).unwrap_or(usize::MAX),
            has_values,
        })
    }
}

pub(crate) fn hscan<K: Keyspace>(
    args: Args<'_>,
    keyspace: &mut K,
    reply: &mut Reply<'_>,
) -> Result<(), Failure> {
    let cursor = parse_cursor(args.at(2)).ok_or(ErrorReply::constant("ERR invalid cursor"))?;
    let key = args.at(1);
    let found = with_whole(keyspace, key, |fields| {
        let Some(fields) = fields else {
            // Options go unread then, as in Redis.
            reply.array(2);
            reply.bulk(b"0");
            reply.array(0);
            return Ok(());
        };
        let options = Options::parse(args)?;
        let (found, cursor) = if fields.count_max() <= PAGE_MIN {
            (fields.collect(), 0)
        } else {
            page(fields, cursor, options.count)
        };
        tell(&found, cursor, &options, reply);
        Ok::<_, ErrorReply>(())
    })?;
    match found {
        Found::Whole(told) => Ok(told?),
        Found::InParts((head, _)) => {
            let options = Options::parse(args)?;
            let now = keyspace.now();
            let (runs, next) = parts_from(key, &head, cursor, options.count, keyspace)?;
            let mut found = Vec::new();
            for run in &runs {
                let fields = Fields::of_part(run)?.hiding_due(now);
                found.extend(fields.filter(|field| place(field.name) >= cursor));
            }
            tell(&found, next, &options, reply);
            Ok(())
        }
    }
}

/// The parts from a cursor on that have at least so many fields, and where the next page begins.
fn parts_from<K: Keyspace>(
    key: &[u8],
    head: &Head,
    cursor: u64,
    count: usize,
    keyspace: &mut K,
) -> Result<(Vec<Vec<u8>>, u64), Failure> {
    let (mut runs, mut fields, mut at) = (Vec::new(), 0, cursor);
    loop {
        let number = part_of(at, head.parts);
        let run = keyspace.read_part(head.part(key, number))?;
        fields += Fields::of_part(run)?.count_max();
        runs.push(run.to_vec());
        at = end_of(number, head.parts);
        if at == 0 || fields >= count {
            return Ok((runs, at));
        }
    }
}

fn tell(fields: &[Field<'_>], cursor: u64, options: &Options<'_>, reply: &mut Reply<'_>) {
    let is_wanted = |field: &&Field<'_>| {
        let pattern = options.pattern;
        pattern.is_none_or(|pattern| glob::matches(pattern, field.name, false))
    };
    let found: Vec<&Field<'_>> = fields.iter().filter(is_wanted).collect();
    reply.array(2);
    reply.bulk(cursor_text(cursor).as_bytes());
    reply.array(found.len() * if options.has_values { 2 } else { 1 });
    for field in found {
        reply.bulk(field.name);
        if options.has_values {
            reply.bulk(field.value);
        }
    }
}

/// The fields with the lowest places from `cursor` on, and where the next page begins; 0: there is none.
fn page<'a>(
    fields: impl Iterator<Item = Field<'a>>,
    cursor: u64,
    count: usize,
) -> (Vec<Field<'a>>, u64) {
    let placed = fields.map(|field| (place(field.name), field));
    let mut placed: Vec<(u64, Field<'a>)> = placed.filter(|(at, _)| *at >= cursor).collect();
    // A page costs a look at each field, so it is no small one.
    let last = count.max(PAGE_MIN) - 1;
    if last >= placed.len() {
        return (placed.into_iter().map(|(_, field)| field).collect(), 0);
    }
    let (_, (last, _), _) = placed.select_nth_unstable_by_key(last, |(at, _)| *at);
    // Fields of one place go together.
    let last = *last;
    let later = placed.iter().map(|(at, _)| *at).filter(|at| *at > last);
    let next = later.min().unwrap_or(0);
    let page = placed.into_iter().filter(|(at, _)| *at <= last);
    (page.map(|(_, field)| field).collect(), next)
}

fn cursor_text(cursor: u64) -> IntegerText {
    IntegerText::new(i64::try_from(cursor).unwrap_or(i64::MAX))
}

#[cfg(test)]
#[path = "scan_test.rs"]
mod scan_test;
