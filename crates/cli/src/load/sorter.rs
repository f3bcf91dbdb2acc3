//! Sorts records by where they go, in bounded memory.
//!
//! In:  records in any order, a bound of memory, a directory. Out: the same, in order for each brick; bricks take turns.
//!
//! What does not fit into memory goes into runs (`run_file`), each sorted by itself; in the end all runs are read side by side, and of each brick
//! the lowest record comes next. Runs that have become many are merged into one before.
//!
//! Invariants:
//! - What is waiting in memory takes no more than the bound, or is one record; buffers for reading take at most as much again.
//! - Records of one key come in the order of their lines.
//! - No brick waits until all of another one's records have come.
//!
//! Source: Knuth, The Art of Computer Programming, volume 3, section 5.4 "External sorting".

use super::lanes::Lanes;
use super::record::Record;
use super::run_file::{PlacedRecord, RunFile, RunReader};
use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    io,
    mem::size_of,
    path::{Path, PathBuf},
};

/// Runs that are read side by side at most: each is an open file.
const RUNS_MAX: usize = 128;

/// Records that a brick's turn has.
const TURN: usize = 32;

/// What one buffer for reading may take.
const BUFFER_MIN: usize = 4 << 10;
const BUFFER_MAX: usize = 256 << 10;

/// Takes records, and gives them back in order.
#[derive(Debug)]
pub(crate) struct Sorter {
    lanes: Lanes,
    memory: usize,
    dir: PathBuf,
    waiting: Vec<PlacedRecord>,
    waiting_bytes: usize,
    runs: Vec<RunFile>,
    /// All that was taken.
    bytes: u64,
    runs_written: u64,
}

impl Sorter {
    pub(crate) fn new(lanes: Lanes, memory: usize, dir: &Path) -> Self {
        Self {
            lanes,
            memory,
            dir: dir.to_owned(),
            waiting: Vec::new(),
            waiting_bytes: 0,
            runs: Vec::new(),
            bytes: 0,
            runs_written: 0,
        }
    }

    /// Bytes of keys and values so far.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Runs that were written so far.
    pub(crate) const fn runs_written(&self) -> u64 {
        self.runs_written
    }

    /// Takes a record.
    pub(crate) fn push(&mut self, record: Record) -> io::Result<()> {
        let data = record.key.len() + record.value.len();
        let bytes = data + size_of::<PlacedRecord>();
        if !self.waiting.is_empty() && self.waiting_bytes + bytes > self.memory {
            self.spill()?;
        }
        self.bytes += data as u64;
        self.waiting_bytes += bytes;
        let place = self.lanes.place(&record.key);
        self.waiting.push(PlacedRecord { place, record });
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        if self.runs.len() == RUNS_MAX {
            self.condense()?;
        }
        let waiting = self.take_waiting();
        let records = waiting.into_iter().map(Ok);
        let run = RunFile::write(&self.dir, self.lanes.count(), records)?;
        self.runs.push(run);
        self.runs_written += 1;
        Ok(())
    }

    fn take_waiting(&mut self) -> Vec<PlacedRecord> {
        self.waiting_bytes = 0;
        let mut waiting = std::mem::take(&mut self.waiting);
        // No two are equal: their lines differ.
        waiting.sort_unstable();
        waiting
    }

    /// Makes one run of all.
    fn condense(&mut self) -> io::Result<()> {
        let runs = std::mem::take(&mut self.runs);
        let buffer = self.buffer_bytes(runs.len(), 1);
        let count = self.lanes.count();
        let lanes = (0..count).map(|lane| Merge::new(sources(&runs, lane, buffer)));
        let lanes: Vec<Merge> = lanes.collect::<io::Result<_>>()?;
        let run = RunFile::write(&self.dir, count, lanes.into_iter().flatten())?;
        self.runs.push(run);
        self.runs_written += 1;
        Ok(())
    }

    /// Of so many buffers together no more than the bound, if they can be that small.
    const fn buffer_bytes(&self, runs: usize, lanes: usize) -> usize {
        let buffers = if runs * lanes == 0 { 1 } else { runs * lanes };
        let bytes = self.memory / buffers;
        if bytes < BUFFER_MIN {
            BUFFER_MIN
        } else if bytes > BUFFER_MAX {
            BUFFER_MAX
        } else {
            bytes
        }
    }

    /// All records, in order for each brick.
    pub(crate) fn finish(mut self) -> io::Result<SortedRecords> {
        let count = self.lanes.count();
        let buffer = self.buffer_bytes(self.runs.len(), usize::from(count));
        // What is in memory stays there, if that is all; else it is a run like the others.
        if !self.runs.is_empty() && !self.waiting.is_empty() {
            self.spill()?;
        }
        let mut in_memory: Vec<Vec<PlacedRecord>> = (0..count).map(|_| Vec::new()).collect();
        for placed in self.take_waiting() {
            in_memory[usize::from(placed.place.lane)].push(placed);
        }
        let lanes = in_memory.into_iter().enumerate().map(|(lane, waiting)| {
            let mut all = sources(&self.runs, lane as u16, buffer);
            all.push(Source::Memory(waiting.into_iter()));
            Merge::new(all)
        });
        Ok(SortedRecords {
            lanes: lanes.collect::<io::Result<_>>()?,
            at: 0,
            turn: 0,
        })
    }
}

fn sources(runs: &[RunFile], lane: u16, buffer: usize) -> Vec<Source> {
    let runs = runs.iter();
    runs.map(|run| Source::Run(run.read(lane, buffer)))
        .collect()
}

/// Where records of one brick come from, in order.
enum Source {
    Run(RunReader),
    Memory(std::vec::IntoIter<PlacedRecord>),
}

impl Iterator for Source {
    type Item = io::Result<PlacedRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Run(run) => run.next(),
            Self::Memory(waiting) => waiting.next().map(Ok),
        }
    }
}

/// One brick's records from all sources: the lowest is next.
struct Merge {
    sources: Vec<Source>,
    heads: BinaryHeap<Reverse<(PlacedRecord, usize)>>,
}

impl Merge {
    fn new(sources: Vec<Source>) -> io::Result<Self> {
        let mut merge = Self {
            heads: BinaryHeap::with_capacity(sources.len()),
            sources,
        };
        for at in 0..merge.sources.len() {
            merge.refill(at)?;
        }
        Ok(merge)
    }

    fn refill(&mut self, at: usize) -> io::Result<()> {
        if let Some(next) = self.sources[at].next() {
            self.heads.push(Reverse((next?, at)));
        }
        Ok(())
    }
}

impl Iterator for Merge {
    type Item = io::Result<PlacedRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((lowest, at)) = self.heads.pop()?;
        Some(self.refill(at).map(|()| lowest))
    }
}

/// All records: bricks take turns, and each brick's come in order.
pub(crate) struct SortedRecords {
    lanes: Vec<Merge>,
    /// Whose turn it is, and how much of it is over.
    at: usize,
    turn: usize,
}

impl Iterator for SortedRecords {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.lanes.is_empty() {
            self.at %= self.lanes.len();
            let next = match self.turn < TURN {
                true => self.lanes[self.at].next(),
                false => {
                    self.turn = 0;
                    self.at += 1;
                    continue;
                }
            };
            self.turn += 1;
            match next {
                Some(placed) => return Some(placed.map(|it| it.record)),
                None => {
                    // Its records are through; the next one moves into its place.
                    drop(self.lanes.remove(self.at));
                    self.turn = 0;
                }
            }
        }
        None
    }
}

#[cfg(test)]
#[path = "sorter_test.rs"]
mod sorter_test;
