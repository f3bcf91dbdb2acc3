//! All keys of a table, in pages.
//!
//! In:  a pattern, perhaps. Out: keys, one after the other.
//!
//! Invariants:
//! - A key that is there throughout is returned at least once, also while partitions split, merge and move: a
//!   cursor names a place in the hash space and nothing on any server, so that any node port goes on with it.
//! - One page is kept at a time.

use crate::{Error, Table, convert};
use std::vec::IntoIter;

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
    count: u32,
    keys: IntoIter<Vec<u8>>,
}

impl Scan {
    pub(crate) fn new(table: Table) -> Self {
        Self {
            table,
            cursor: Some(b"0".to_vec()),
            pattern: None,
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
            let Some(cursor) = &self.cursor else {
                return Ok(None);
            };
            let count = self.count.max(1).to_string();
            let mut words: Vec<&[u8]> = vec![b"SCAN", cursor, b"COUNT", count.as_bytes()];
            if let Some(pattern) = &self.pattern {
                words.extend([b"MATCH", pattern.as_slice()]);
            }
            let (cursor, keys) = convert::page(self.table.command(&words).await?)?;
            self.cursor = (cursor != b"0").then_some(cursor);
            self.keys = keys.into_iter();
        }
    }
}
