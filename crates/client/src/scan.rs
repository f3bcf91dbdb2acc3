//! All keys of a table, in pages.
//!
//! In:  a pattern, perhaps. Out: keys, one after the other.
//!
//! Invariants:
//! - A key that is there throughout is returned at least once, also while partitions split, merge and move: a
//!   cursor names a place in the hash space and nothing on any server, so that any node port goes on with it.
//! - One page is kept at a time.
//! - Walks over slots that do not overlap return no key together, and walks over all slots return all of them. Of a table whose keys are
//!   not placed by slots (HASH) all keys are those of the first slot.

use crate::{Error, Table, convert};
use brickyard_routing::{Cursor, Prefix, RoutingHash, slot};
use brickyard_types::Slot;
use std::{ops::Range, vec::IntoIter};

/// The bits at the top of a routing hash that are the slot.
const SLOT_BITS: u8 = 14;

const _: () = assert!(Slot::COUNT == 1 << SLOT_BITS, "a slot has so many bits");

/// A walk over all keys of a table, through a node port.
///
/// Keys that come or go meanwhile may or may not be seen; a key is seen twice only if its partition is split
/// or merged meanwhile.
///
/// ```no_run
/// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
/// let mut scan = table.scan().matching("order:*").page(1000);
/// while let Some(key) = scan.next().await? {
///     println!("{}", String::from_utf8_lossy(&key));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "nothing is asked before the first key is"]
pub struct Scan {
    table: Table,
    /// Where the next page begins; nothing after the last one.
    cursor: Option<Vec<u8>>,
    pattern: Option<Vec<u8>>,
    slots: Range<u16>,
    /// Whether the keys of a part can be told from others; nothing until that was asked.
    follows_slots: Option<bool>,
    count: u32,
    keys: IntoIter<Vec<u8>>,
}

impl Scan {
    pub(crate) fn new(table: Table) -> Self {
        Self {
            table,
            cursor: Some(b"0".to_vec()),
            pattern: None,
            slots: 0..Slot::COUNT,
            follows_slots: None,
            count: 512,
            keys: Vec::new().into_iter(),
        }
    }

    /// Only keys that match a glob pattern, such as `order:*`.
    ///
    /// ```no_run
    /// # fn example(table: brickyard_client::Table) {
    /// let orders = table.scan().matching("order:*");
    /// # }
    /// ```
    pub fn matching(mut self, pattern: impl Into<Vec<u8>>) -> Self {
        self.pattern = Some(pattern.into());
        self
    }

    /// About so many keys are looked at for a page. Default: 512.
    ///
    /// ```no_run
    /// # fn example(table: brickyard_client::Table) {
    /// let in_small_steps = table.scan().page(16);
    /// # }
    /// ```
    pub const fn page(mut self, keys: u32) -> Self {
        self.count = keys;
        self
    }

    /// Only keys of these slots: several walks over parts of the table can be made at once.
    ///
    /// The work is that of the part alone if it begins and ends where partitions do, as halves of halves of all slots do.
    /// A table that was made with another `HASH` than `slot` is walked over as a whole by the part with slot 0, and by others not at all.
    ///
    /// ```no_run
    /// # fn example(table: brickyard_client::Table) {
    /// let quarters = (0..4).map(|at| table.scan().slots(at * 4096..(at + 1) * 4096));
    /// # }
    /// ```
    pub fn slots(mut self, slots: Range<u16>) -> Self {
        let end = slots.end.min(Slot::COUNT);
        self.cursor = (slots.start < end).then(|| begin_of(slots.start));
        self.slots = slots.start..end;
        self.keys = Vec::new().into_iter();
        self
    }

    /// The next key; nothing after the last.
    ///
    /// # Errors
    /// As any read; the same page is asked for again by the next call.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let some_key = table.scan().next().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        loop {
            if let Some(key) = self.keys.next() {
                return Ok(Some(key));
            }
            match self.next_page().await? {
                Some(keys) => self.keys = keys.into_iter(),
                None => return Ok(None),
            }
        }
    }

    /// What is left of this page, or the next one, which may be empty; nothing after the last.
    ///
    /// # Errors
    /// As any read; the same page is asked for again by the next call.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let mut scan = table.scan();
    /// while let Some(keys) = scan.next_page().await? {
    ///     println!("{} keys", keys.len());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn next_page(&mut self) -> Result<Option<Vec<Vec<u8>>>, Error> {
        if self.keys.len() > 0 {
            return Ok(Some(self.keys.by_ref().collect()));
        }
        self.ask_for_the_hash().await?;
        let Some(cursor) = &self.cursor else {
            return Ok(None);
        };
        let count = self.count.max(1).to_string();
        let mut words: Vec<&[u8]> = vec![b"SCAN", cursor, b"COUNT", count.as_bytes()];
        if let Some(pattern) = &self.pattern {
            words.extend([b"MATCH", pattern.as_slice()]);
        }
        let (cursor, mut keys) = convert::page(self.table.command(&words).await?)?;
        if self.slots != (0..Slot::COUNT) {
            // A partition may begin before the part or end behind it.
            keys.retain(|key| self.slots.contains(&slot(key).0));
        }
        self.cursor = (cursor != b"0" && !has_passed(&cursor, self.slots.end)).then_some(cursor);
        Ok(Some(keys))
    }
}

impl Scan {
    /// A walk over a part needs to know whether slots say where keys are.
    async fn ask_for_the_hash(&mut self) -> Result<(), Error> {
        if self.cursor.is_none()
            || self.slots == (0..Slot::COUNT)
            || self.follows_slots == Some(true)
        {
            return Ok(());
        }
        let told = self.table.command(&["CLUSTER", "INFO"]).await;
        let follows_slots = match told {
            Ok(told) => !is_another_hash(told.bytes().unwrap_or_default()),
            // A server that is no cluster knows of no other hash function.
            Err(Error::Refused { .. }) => true,
            Err(error) => return Err(error),
        };
        self.follows_slots = Some(follows_slots);
        if !follows_slots {
            self.cursor = (self.slots.start == 0).then(|| b"0".to_vec());
            self.slots = 0..Slot::COUNT;
        }
        Ok(())
    }
}

/// Whether the reply to CLUSTER INFO names a hash function, which it does if that is another than the slot.
fn is_another_hash(info: &[u8]) -> bool {
    let mut lines = info.split(|byte| *byte == b'\n');
    lines.any(|line| line.starts_with(b"cluster_hash:"))
}

/// The cursor of a walk that has returned every key before this slot, and none of it.
fn begin_of(slot: u16) -> Vec<u8> {
    // The shortest prefix that begins there: one that is longer than a partition's would begin that partition anew.
    let zeros = slot.trailing_zeros().min(u32::from(SLOT_BITS)) as u8;
    let prefix = Prefix::of(first_hash(slot), SLOT_BITS - zeros);
    Cursor::at(prefix).encode().to_string().into_bytes()
}

/// Whether a cursor says that every key before this slot was returned.
fn has_passed(cursor: &[u8], end: u16) -> bool {
    let number = std::str::from_utf8(cursor)
        .ok()
        .and_then(|it| it.parse().ok());
    // A server of another kind has cursors of its own: they go on to its end.
    let Some(number) = number.filter(|_| end < Slot::COUNT) else {
        return false;
    };
    let last = RoutingHash(first_hash(end).0 - 1);
    Cursor::decode(number).has_passed(last, u64::MAX)
}

/// The lowest routing hash of a slot.
const fn first_hash(slot: u16) -> RoutingHash {
    RoutingHash((slot as u64) << (64 - SLOT_BITS))
}

#[cfg(test)]
mod scan_test {
    use super::*;

    fn number(cursor: &[u8]) -> u64 {
        std::str::from_utf8(cursor)
            .expect("digits")
            .parse()
            .expect("a number")
    }

    #[test]
    fn a_walk_over_a_part_begins_with_it_and_ends_with_it() {
        assert_eq!(begin_of(0), b"0");
        for begin in [1, 2, 3, 64, 4096, 8192, 12_288, 16_383] {
            let cursor = begin_of(begin);
            assert_ne!(number(&cursor), 0, "{begin}");
            assert!(has_passed(&cursor, begin), "{begin}: all before it");
            assert!(!has_passed(&cursor, begin + 1), "{begin}: nothing of it");
        }
        let within = Cursor::within(Prefix::of(first_hash(4095), 14), u64::MAX);
        let within = within.encode().to_string().into_bytes();
        assert!(
            has_passed(&within, 4095),
            "it is in the last slot of the part"
        );
        assert!(!has_passed(&within, 4096), "that is not over");
        assert!(
            !has_passed(&within, Slot::COUNT),
            "the server says when all is over"
        );
    }

    #[test]
    fn another_hash_function_is_told_by_its_line() {
        assert!(is_another_hash(
            b"cluster_state:ok\r\ncluster_hash:keyed\r\n"
        ));
        assert!(!is_another_hash(b"cluster_state:ok\r\ncluster_size:3\r\n"));
    }

    #[test]
    fn a_cursor_of_another_kind_of_server_ends_no_walk() {
        assert!(!has_passed(b"no number", 1));
        assert!(!has_passed(b"18446744073709551615", 8192));
    }
}
