//! Lazy free: memory that is no longer used, on its way back to the operating system.
//!
//! In:  the arena, the pool and the timers of a table that is gone, or that has lost all its keys.
//! Out: their memory, a bounded part at a time ([`LazyFree::free`]): to unmap gigabytes at once would
//!      stop a brick's loop for as long as a second.

use crate::block::Block;
use crate::expiry::{Bucket, Timers};

/// See the module.
#[derive(Debug, Default)]
pub struct LazyFree {
    blocks: Vec<Block>,
    timers: Vec<Bucket>,
}

impl LazyFree {
    /// Gives about `bytes` back, of address space; whether there is more. A block goes as a whole.
    pub fn free(&mut self, bytes: usize) -> bool {
        let mut freed = 0;
        while freed < bytes {
            if let Some(block) = self.blocks.pop() {
                freed += block.len();
            } else if let Some(bucket) = self.timers.last_mut() {
                let run = bucket.discard_run();
                freed += run;
                if run == 0 {
                    self.timers.pop();
                }
            } else {
                break;
            }
        }
        !self.is_empty()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.timers.is_empty()
    }

    /// Bytes of memory that they keep at most.
    pub(crate) fn memory(&self) -> usize {
        let blocks = self.blocks.iter().map(|block| block.len());
        blocks.sum::<usize>() + self.timers.iter().map(Bucket::memory).sum::<usize>()
    }

    pub(crate) fn take(&mut self, blocks: impl Iterator<Item = Block>, timers: Timers) {
        self.blocks.extend(blocks);
        self.timers.extend(timers.into_buckets());
    }
}

#[cfg(test)]
#[path = "lazy_free_test.rs"]
mod lazy_free_test;
