//! What a table knows of its memory bound, and of what is on its way out.
//!
//! In:  a table's attributes; removals that were prepared. Out: the bound; bytes that will be free when those have been applied.
//!
//! Not here: who decides that something leaves (`memory.rs`).

use super::orphans::Orphans;
use crate::log::Log;
use crate::output::{CommitDependency, Frontier, Meets};
use brickyard_types::{Eviction, Medium, TableAttributes};
use std::collections::VecDeque;

/// How much of a table may be in memory, and what is on its way out of it.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// Removals that were prepared and not applied, by what they commit by, and the bytes that each frees.
    leaving: Vec<(CommitDependency, usize)>,
    /// The sum of those bytes.
    leaving_bytes: usize,
    /// How far the log was when they were looked through.
    looked_at: Frontier,
    /// Parts of hashes that are to go.
    pub(crate) orphans: Orphans,
    /// Keys whose hashes are in parts, with fields in some whose time is over.
    pub(crate) due: Due,
}

/// Keys with fields whose time is over that are remembered; more of them the walk finds again.
const DUE_MAX: usize = 1_024;

/// Keys whose hashes are to be pruned, each once.
#[derive(Debug, Default)]
pub(crate) struct Due(VecDeque<Vec<u8>>);

impl Due {
    /// Adds a key, behind all others.
    pub(crate) fn note(&mut self, key: Vec<u8>) {
        if self.0.len() < DUE_MAX && !self.0.contains(&key) {
            self.0.push_back(key);
        }
    }

    /// Takes up to so many, those that have waited longest.
    pub(crate) fn take(&mut self, count: usize) -> Vec<Vec<u8>> {
        self.0.drain(..count.min(self.0.len())).collect()
    }
}

impl Room {
    /// A removal that frees so many bytes was prepared.
    pub(crate) fn add(&mut self, dependency: CommitDependency, bytes: usize) {
        self.leaving.push((dependency, bytes));
        self.leaving_bytes += bytes;
    }

    /// Forgets removals that were applied, or of which nobody knows whether they will be.
    pub(crate) fn look_through(&mut self, log: &Log) {
        if self.leaving.is_empty() || self.looked_at == log.frontier() {
            return;
        }
        self.looked_at = log.frontier();
        self.leaving
            .retain(|(dependency, _)| !log.meets(*dependency));
        self.leaving_bytes = self.leaving.iter().map(|(_, bytes)| bytes).sum();
    }

    /// Bytes that removals on their way will free.
    pub(crate) fn leaving_bytes(&self) -> usize {
        self.leaving_bytes
    }

    /// The table's records are gone, and what was to leave with them.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// One brick's part of a table's bound, of as many as the node has.
pub(crate) fn memory_max(attributes: &TableAttributes, bricks: u32) -> Option<usize> {
    assert!(bricks > 0, "a node has bricks");
    let all = attributes.maxmemory?;
    Some(usize::try_from(all / u64::from(bricks)).unwrap_or(usize::MAX))
}

/// Whether the table ever makes room by itself, so that it must know what was used lately.
pub(crate) fn evicts(attributes: &TableAttributes) -> bool {
    attributes.medium == Medium::Disk || attributes.evict == Eviction::Lru
}
