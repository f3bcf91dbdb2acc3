//! The table: readings, visits, counts of pairs. All that this service does with the table is here.
//!
//! | Key | Value |
//! |---|---|
//! | `read:reader/day` | the pages that a reader opened on a day, a line each, appended |
//! | `visits:page` | how often a page was opened |
//! | `also:page/day` | a hash: other page → how many readers of the page opened that one too |
//!
//! A reading is appended to its reader's day; where it stands there says which others came before it (`history`), however many instances are at it.
//! So of two readings of one pair exactly one counts it, and each count is one atomic increment.
//!
//! Invariant: once a reading was acknowledged, it and its pairs are counted, once. Of one that was not, some may be: `recount` derives from
//! the readings what they should be, and mends them.

use crate::history::{History, Pair};
use brickyard_client::{Error, Pending, Table, Value};
use brickyard_example_service::unknown;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// How many readers have a pair of pages, by page and the other one.
pub(crate) type Counts = BTreeMap<String, BTreeMap<String, i64>>;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    table: Table,
    keep_days: u32,
}

impl Store {
    pub(crate) const fn new(table: Table, keep_days: u32) -> Self {
        Self { table, keep_days }
    }

    /// Notes that a reader opened a page, and counts it.
    pub(crate) async fn read(&self, reader: &str, page: &str, day: u64) -> Result<(), Error> {
        let key = format!("read:{reader}/{day}");
        let line = format!("{page}\n");
        let length = self.table.append(&key, &line).await?;
        // From here on something was done: what fails now leaves a reading that is counted in part.
        let before = length.saturating_sub(line.len() as u64);
        self.count(&key, page, day, before).await.map_err(unknown)
    }

    /// Counts the reading of a page behind the first `before` bytes of a reader's day.
    async fn count(&self, key: &str, page: &str, day: u64, before: u64) -> Result<(), Error> {
        let visit = self.table.incr(format!("visits:{page}"));
        let lines = match before.checked_sub(1) {
            Some(last) => {
                let words = ["GETRANGE", key, "0", &last.to_string()];
                self.table.command(&words).await?
            }
            None => {
                self.table.expire(key, DAY * (self.keep_days + 1)).await?;
                Value::Null
            }
        };
        let history = History::read(lines.bytes().unwrap_or_default());
        let pairs = history.pairs_with(page);
        // All are on their way before the first is waited for.
        let counts: Vec<_> = pairs.iter().map(|it| self.add(it, day, 1)).collect();
        visit.await?;
        for (pair, count) in pairs.iter().zip(counts) {
            if count.await? == 1 {
                let key = format!("also:{}/{day}", pair.page);
                self.table.expire(key, DAY * (self.keep_days + 1)).await?;
            }
        }
        Ok(())
    }

    /// Adds so many readers to a pair.
    pub(crate) fn add(&self, pair: &Pair, day: u64, readers: i64) -> Pending<i64> {
        let also = self.table.hash(format!("also:{}/{day}", pair.page));
        also.incr_by(&pair.other, readers)
    }

    /// How often a page was opened.
    pub(crate) async fn visits(&self, page: &str) -> Result<i64, Error> {
        let count = self.table.get(format!("visits:{page}")).await?;
        Ok(number(&count.unwrap_or_default()))
    }

    /// What readers of a page also opened on the days that count, and how many they were.
    pub(crate) async fn also(
        &self,
        page: &str,
        today: u64,
    ) -> Result<BTreeMap<String, i64>, Error> {
        let days = (0..u64::from(self.keep_days)).map(|ago| today.saturating_sub(ago));
        let days: Vec<_> = days.map(|day| self.counts(page, day)).collect();
        let mut sums = BTreeMap::new();
        for day in days {
            for (other, readers) in day.await? {
                let other = String::from_utf8_lossy(&other).into_owned();
                *sums.entry(other).or_insert(0) += number(&readers);
            }
        }
        sums.retain(|_, readers| *readers > 0);
        Ok(sums)
    }

    fn counts(&self, page: &str, day: u64) -> Pending<Vec<(Vec<u8>, Vec<u8>)>> {
        self.table.hash(format!("also:{page}/{day}")).all()
    }

    /// Walks over one of so many parts of the table: the readings, as counts of pairs by day; and what is counted.
    pub(crate) async fn walk(
        &self,
        part: u16,
        parts: u16,
    ) -> Result<[BTreeMap<u64, Counts>; 2], Error> {
        // Halves of halves begin and end where partitions do, as far as the number of parts allows it.
        let bound = |at: u16| (u32::from(at) * 16_384 / u32::from(parts)) as u16;
        let mut scan = self.table.scan().slots(bound(part)..bound(part + 1));
        let mut found: [BTreeMap<u64, Counts>; 2] = Default::default();
        // A key may be seen twice while partitions move.
        let mut seen = BTreeSet::new();
        while let Some(key) = scan.next().await? {
            let Ok(key) = String::from_utf8(key) else {
                continue;
            };
            let Some((kind, (name, day))) = parse(&key) else {
                continue;
            };
            if !seen.insert(key.clone()) {
                continue;
            }
            if kind == "read" {
                let lines = self.table.get(&key).await?.unwrap_or_default();
                let counts = found[0].entry(day).or_default();
                for Pair { page, other } in History::read(&lines).pairs() {
                    *counts.entry(page).or_default().entry(other).or_insert(0) += 1;
                }
            } else {
                let counts = found[1].entry(day).or_default().entry(name.to_owned());
                let counts = counts.or_default();
                for (other, readers) in self.counts(name, day).await? {
                    counts.insert(
                        String::from_utf8_lossy(&other).into_owned(),
                        number(&readers),
                    );
                }
            }
        }
        Ok(found)
    }
}

/// What a key is about: `read` and the reader, or `also` and the page; and the day.
fn parse(key: &str) -> Option<(&str, (&str, u64))> {
    let (kind, rest) = key.split_once(':')?;
    let (name, day) = rest.rsplit_once('/')?;
    let is_known = ["read", "also"].contains(&kind);
    is_known.then_some((kind, (name, day.parse().ok()?)))
}

fn number(text: &[u8]) -> i64 {
    let text = std::str::from_utf8(text).ok();
    text.and_then(|it| it.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod store_test {
    use super::*;

    #[test]
    fn keys_say_what_they_are_about() {
        assert_eq!(parse("read:ann/20000"), Some(("read", ("ann", 20_000))));
        assert_eq!(parse("also:a-b/1"), Some(("also", ("a-b", 1))));
        for key in ["visits:a", "read:ann", "read:ann/x", "other:a/1", ""] {
            assert_eq!(parse(key), None, "{key}");
        }
    }
}
