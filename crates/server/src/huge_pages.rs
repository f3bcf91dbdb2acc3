//! Huge pages, for a process whose tables are large enough for them.
//!
//! In:  the start of the program, how much a node's logs hold, turns of its loops. Out: the process's setting, once off and once on.
//!
//! The allocator asks for huge pages wherever it can, and a dozen threads that touch a little here and there make each
//! touch 2 MiB resident: an empty node had 53 MB, of which it used 22, and one that had served 1 MB of keys for an hour 137. A table
//! of a million keys is looked up a fifth faster with them. So a node is without until its tables are large: buffers of clients,
//! however many, do not count.
//!
//! A system that refuses is left as it is, and so is a process for which somebody else has refused them (`MIMALLOC_ALLOW_THP=0`,
//! a service manager): it never has them.

use rustix::thread::{disable_transparent_huge_pages, transparent_huge_pages_are_disabled};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A brick whose tables have more than that makes its process large.
const LARGE: u64 = 16 << 20;

/// So do logs of more than that before they are read. Much of a log may be dead.
const LARGE_LOGS: u64 = 128 << 20;

/// A loop looks so rarely: a turn adds some hundred kilobytes at most.
const TURNS: u32 = 32;

/// The process is without them because of [`spare`].
static IS_SPARING: AtomicBool = AtomicBool::new(false);

/// What a loop knows of it.
#[derive(Debug, Default)]
pub(crate) struct HugePages {
    is_on: bool,
    turns: u32,
}

/// None for this process until it is large, if a node runs in it. A program calls it first of all: what was touched before stays large.
pub fn spare() {
    let is_free_to = transparent_huge_pages_are_disabled().is_ok_and(|it| !it);
    if is_free_to && disable_transparent_huge_pages(true).is_ok() {
        IS_SPARING.store(true, Relaxed);
    }
}

/// As the system has it, for a program that runs no node.
pub fn allow() {
    if IS_SPARING.swap(false, Relaxed)
        && let Err(error) = disable_transparent_huge_pages(false)
    {
        tracing::warn!(%error, "the process goes on without huge pages");
    }
}

/// Files of these sizes are about to be read into memory.
pub(crate) fn expect(mut files: impl Iterator<Item = u64>) {
    let mut bytes = 0;
    let is_large = files.any(|file| {
        bytes += file;
        bytes > LARGE_LOGS
    });
    if is_large {
        allow();
    }
}

impl HugePages {
    /// Gives the process huge pages if the tables of a brick have become large.
    pub(crate) fn on_turn(&mut self, table_bytes: impl FnOnce() -> u64) {
        if self.is_on {
            return;
        }
        self.turns += 1;
        if self.turns == TURNS {
            self.turns = 0;
            if table_bytes() > LARGE {
                self.is_on = true;
                allow();
            }
        }
    }
}
