//! Keys with the largest values: found on a walk over the table, some records at a time.
//!
//! In:  records, as a scan passes them. Out: the largest keys.
//!
//! The walk rests when it has come round and nothing was written since it began, unless it is woken. Until it has come
//! round for the first time, it tells the largest of the keys that it has passed.

use super::{KEPT, KEY_BYTES_MAX, rank};
use brickyard_table::ScanPosition;
use std::collections::BTreeSet;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct BigKeys {
    /// Where the walk is: a leaf, and a place in it; `None`: at its beginning.
    leaf: usize,
    from: Option<ScanPosition>,
    /// The largest of this round so far, and of the last one.
    round: Largest,
    last: Largest,
    /// What the table held when the round began: by this it is known that something was written.
    began_with: usize,
    rests: bool,
}

/// Sizes and keys, the smallest first.
#[derive(Debug, Default)]
struct Largest(BTreeSet<(u64, Vec<u8>)>);

impl BigKeys {
    /// Goes on by about `records_max` records over a table of so many leaves that holds so much; returns how many they
    /// were. `scan` goes on in a leaf, from a place in it and for so many records, and returns where it stopped.
    pub(crate) fn walk(
        &mut self,
        (leaves, holds): (usize, usize),
        records_max: usize,
        mut scan: impl FnMut(
            usize,
            ScanPosition,
            usize,
            &mut dyn FnMut(&[u8], usize),
        ) -> Option<ScanPosition>,
    ) -> usize {
        if self.rests && self.began_with == holds {
            return 0;
        }
        self.rests = false;
        let mut passed = 0;
        while passed < records_max {
            if self.leaf == 0 && self.from.is_none() {
                self.began_with = holds;
            }
            if self.leaf >= leaves {
                self.come_round(holds);
                break;
            }
            let from = self.from.unwrap_or(ScanPosition::START);
            let (left, round) = (records_max - passed, &mut self.round);
            self.from = scan(self.leaf, from, left, &mut |key, bytes| {
                passed += 1;
                round.offer(bytes as u64, key);
            });
            // Leaves without records cost something, too.
            passed += 1;
            if self.from.is_none() {
                self.leaf += 1;
            }
        }
        passed.min(records_max)
    }

    /// Goes on though nothing was written; whether it had rested.
    pub(crate) const fn wake(&mut self) -> bool {
        std::mem::replace(&mut self.rests, false)
    }

    fn come_round(&mut self, holds: usize) {
        self.last = std::mem::take(&mut self.round);
        self.leaf = 0;
        self.rests = self.began_with == holds;
        let kept = self.last.0.len();
        assert!(kept <= KEPT, "{kept} keys are kept");
    }

    /// Keys with the sizes that they have now, the largest first; `None`: it is not there any more.
    pub(crate) fn present(&self, size: impl Fn(&[u8]) -> Option<usize>) -> Vec<(Vec<u8>, u64)> {
        let known = self.last.0.iter().chain(&self.round.0);
        let keys: BTreeSet<&[u8]> = known.map(|(_, key)| key.as_slice()).collect();
        let present = keys.into_iter();
        let present = present.filter_map(|key| Some((key.to_vec(), size(key)? as u64)));
        let mut present: Vec<(Vec<u8>, u64)> = present.collect();
        rank(&mut present);
        present.truncate(KEPT);
        present
    }
}

impl Largest {
    #[inline]
    fn offer(&mut self, bytes: u64, key: &[u8]) {
        let is_small = self.0.len() >= KEPT && self.0.first().is_some_and(|it| it.0 >= bytes);
        if is_small || key.len() > KEY_BYTES_MAX {
            return;
        }
        self.0.insert((bytes, key.to_vec()));
        if self.0.len() > KEPT {
            self.0.pop_first();
        }
    }
}
