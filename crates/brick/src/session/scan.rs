//! SCAN: a page of a table's keys, from several bricks.
//!
//! In:  the arguments; at the node port, pages of the bricks that have some of the range. Out: the keys, and where to go on.
//!
//! At a brick's own port a scan goes through the partitions of which that brick is the primary. At the node port it goes through
//! the table: partitions lie next to one another on different bricks, and one of few keys after the other would be a call each. So the
//! connection's brick says up to where the page may go ("upto"), as many partitions as hold about COUNT keys if all
//! are like its own, and each brick that has some of them makes its page of that range.
//!
//! Invariants:
//! - A page's cursor is true of every brick that was asked: of what lies before it, each has returned all that it has.
//! - A page has no key behind its cursor: the next one would return it again.

use super::listing::{BULK_BYTES, is_there};
use super::transact::elements;
use crate::core::Core;
use crate::distributed::may_become;
use crate::tables::TableState;
use brickyard_command::request::ScanArgs;
use brickyard_command::{Args, OwnedArgs};
use brickyard_routing::{Cursor, TableMap};
use brickyard_table::{Found, ScanPosition, ValueRef};
use brickyard_types::ValueType;
use brickyard_types::part::is_part;
use brickyard_wire::{Protocol, Reply};
use std::ops::Range;

/// Keys that a scan visits between two looks at how many bytes it has found.
const STEP: usize = 256;

/// Bytes of keys after which a brick's page ends, whatever its COUNT is: it is but a hint, and the loop has
/// others to serve.
const BYTES_MAX: usize = 4 << 20;

/// Parts of values that a page passes over for each key that it is to have; and at least.
const PARTS_A_KEY: usize = 16;
const PARTS_MIN: usize = 4_096;

/// Partitions that a page covers if nobody knows how many keys they have.
const LEAVES: usize = 16;

/// What the bricks are asked for the page that a client asks for at the node port.
pub(super) fn asked(core: &Core, table: usize, args: Args<'_>) -> OwnedArgs {
    let words = (0..args.len()).map(|at| args.at(at).to_vec());
    let upto = ScanArgs::parse(args).ok().zip(core.table(table));
    let upto = upto.and_then(|(scan, state)| {
        let partitions = state.map.partitions();
        let first = partitions.resume(Cursor::decode(scan.cursor)).leaf;
        let last = first.saturating_add(leaves_of(state, scan.count)) - 1;
        partitions.advance(last, None)
    });
    let upto = upto.map_or(0, Cursor::encode).to_string();
    words.chain([b"upto".to_vec(), upto.into_bytes()]).collect()
}

/// How many partitions have about so many keys, going by those of this brick; at least one.
fn leaves_of(state: &TableState, count: u64) -> usize {
    let own = state.leaves().count();
    if own == 0 {
        return LEAVES;
    }
    let keys = state.keys() as u64;
    let wanted = count.saturating_mul(own as u64).div_ceil(keys.max(1));
    usize::try_from(wanted).unwrap_or(usize::MAX).max(1)
}

/// The partitions that a page is looked for in: at a brick's own port one must be there, the others may.
pub(super) fn leaves(map: &TableMap, args: Args<'_>) -> Range<usize> {
    let Ok(scan) = ScanArgs::parse_part(args) else {
        return 0..0;
    };
    let partitions = map.partitions();
    let first = partitions.resume(Cursor::decode(scan.cursor)).leaf;
    let end = match scan.upto {
        None => first + 1,
        Some(0) => partitions.leaves().len(),
        // As long as it lies ahead; a number that nobody handed out does not.
        Some(upto) => partitions.resume(Cursor::decode(upto)).leaf.max(first + 1),
    };
    first..end
}

/// This brick's page.
pub(super) fn page(core: &Core, table: usize, args: Args<'_>, reply: &mut Reply<'_>) {
    let (Ok(scan), Some(state)) = (ScanArgs::parse_part(args), core.table(table)) else {
        return reply.error("ERR the scan cannot go on; begin again at 0");
    };
    let partitions = state.map.partitions();
    let begin = partitions.resume(Cursor::decode(scan.cursor));
    let range = match scan.upto {
        None => begin.leaf..partitions.leaves().len(),
        Some(_) => leaves(&state.map, args),
    };
    let count = usize::try_from(scan.count).unwrap_or(usize::MAX);
    let mut found: Vec<Vec<u8>> = Vec::new();
    // Parts of values are no keys; a page ends nevertheless when it has come by very many.
    let (mut seen, mut passed, mut bytes) = (0, 0, 0);
    let passed_max = count.saturating_mul(PARTS_A_KEY).max(PARTS_MIN);
    let is_full = |seen: usize, passed: usize, bytes: usize| {
        seen >= count || passed >= passed_max || bytes >= BYTES_MAX
    };
    let mut cursor = partitions.advance(range.end - 1, None);
    let own = state.leaves().filter(|leaf| range.contains(leaf));
    'leaves: for leaf in own {
        let Some(partition) = state.partitions[leaf].as_ref() else {
            continue;
        };
        // What this brick may not speak for waits until it may: the first one has been asked about.
        if is_full(seen, passed, bytes) || leaf > begin.leaf && !core.has_in_hand(partition, false)
        {
            cursor = Some(Cursor::at(partitions.leaves()[leaf].prefix));
            break;
        }
        let mut from = Some(match leaf == begin.leaf {
            true => ScanPosition(begin.progress),
            false => ScanPosition::START,
        });
        while let Some(at) = from {
            if is_full(seen, passed, bytes) {
                cursor = partitions.advance(leaf, Some(at.0));
                break 'leaves;
            }
            let step = (count - seen).min(STEP);
            from = state.table.scan(partition.local, at, step, |key, it| {
                if is_part(key) {
                    passed += 1;
                    return;
                }
                seen += 1;
                let is_wanted = is_there(&it, core.unix)
                    && partition.clear.is_none()
                    && scan.wants(key)
                    && is_of_type(&it, |value_type| scan.wants_type(value_type));
                if is_wanted {
                    bytes += key.len() + BULK_BYTES;
                    found.push(key.to_vec());
                }
            });
        }
    }
    write(reply, cursor, found.iter().map(Vec::as_slice));
}

fn write<'a>(
    reply: &mut Reply<'_>,
    cursor: Option<Cursor>,
    keys: impl ExactSizeIterator<Item = &'a [u8]>,
) {
    reply.array(2);
    reply.bulk(cursor.map_or(0, Cursor::encode).to_string().as_bytes());
    reply.array(keys.len());
    keys.for_each(|key| reply.bulk(key));
}

/// The bricks' pages, an array of them, as one; an error stays one.
pub(super) fn joined(core: &Core, table: usize, protocol: Protocol, pages: Vec<u8>) -> Vec<u8> {
    let one = || {
        let (_, parts) = elements(&pages)?;
        if let [page] = parts[..] {
            return Some(page.to_vec());
        }
        let pages: Vec<Page<'_>> = parts.into_iter().map(Page::read).collect::<Option<_>>()?;
        let cursor = pages.iter().filter_map(|page| page.cursor).min();
        let map = &core.table(table)?.map;
        let has_come = |key: &&[u8]| {
            cursor.is_none_or(|cursor| {
                let hasher = map.hasher();
                cursor.has_passed(hasher.routing_hash(key), hasher.key_hash(key))
            })
        };
        let keys = pages.iter().flat_map(|page| &page.keys).copied();
        let keys: Vec<&[u8]> = keys.filter(has_come).collect();
        let mut out = Vec::new();
        write(
            &mut Reply::new(&mut out, protocol),
            cursor,
            keys.into_iter(),
        );
        Some(out)
    };
    let joined = if pages.first() == Some(&b'*') {
        one()
    } else {
        None
    };
    joined.unwrap_or(pages)
}

struct Page<'a> {
    /// `None`: the brick has nothing more.
    cursor: Option<Cursor>,
    keys: Vec<&'a [u8]>,
}

impl<'a> Page<'a> {
    fn read(reply: &'a [u8]) -> Option<Self> {
        let (_, parts) = elements(reply)?;
        let [cursor, keys] = parts[..] else {
            return None;
        };
        let number: u64 = std::str::from_utf8(bulk(cursor)?).ok()?.parse().ok()?;
        let (_, keys) = elements(keys)?;
        Some(Self {
            cursor: (number != 0).then(|| Cursor::decode(number)),
            keys: keys.into_iter().map(bulk).collect::<Option<_>>()?,
        })
    }
}

/// What a bulk string has between its header and its end.
fn bulk(reply: &[u8]) -> Option<&[u8]> {
    let begin = reply.windows(2).position(|pair| pair == b"\r\n")? + 2;
    reply.get(begin..reply.len().checked_sub(2)?)
}

#[cfg(test)]
#[path = "scan_test.rs"]
mod scan_test;

/// Whether a key holds such a value. Of one with an intent it may be what it held or what it is to hold.
fn is_of_type(found: &Found<'_>, is_wanted: impl Fn(ValueType) -> bool) -> bool {
    match (found.value_type, found.value) {
        (ValueType::Intent, ValueRef::Hot(intent)) => may_become(intent, is_wanted),
        (ValueType::Intent, ValueRef::Cold { .. }) => true,
        (value_type, _) => is_wanted(value_type),
    }
}
