//! Huge pages, for a process that is large enough for them.
//!
//! In:  the start of the program, how much a node's logs hold, turns of its loops. Out: the process's setting, once off and once on.
//!
//! The allocator asks for huge pages wherever it can, and a dozen threads that touch a little here and there make each
//! touch 2 MiB resident: an empty node had 49 MB, of which it used 17. A table of a million keys is looked up a fifth faster with them.
//! So a node is without until it is large.
//!
//! A system that refuses, or has no huge pages, is left as it is.

use rustix::thread::disable_transparent_huge_pages;

/// A process with more than that resident is large.
const LARGE: u64 = 32 << 20;

/// A loop looks so rarely: reading what is resident takes two microseconds, and a turn adds some hundred kilobytes at most.
const TURNS: u32 = 32;

/// What a loop knows of it.
#[derive(Debug, Default)]
pub(crate) struct HugePages {
    is_on: bool,
    turns: u32,
}

/// None for this process until it is large, if a node runs in it. A program calls it first of all: what was touched before stays large.
pub fn spare() {
    set(false);
}

/// As the system has it, for a program that runs no node.
pub fn allow() {
    set(true);
}

/// Files of these sizes are about to be read into memory.
pub(crate) fn expect(mut files: impl Iterator<Item = u64>) {
    let mut bytes = 0;
    let is_large = files.any(|file| {
        bytes += file;
        bytes > LARGE
    });
    if is_large {
        allow();
    }
}

impl HugePages {
    /// Gives the process huge pages if it has become large.
    pub(crate) fn on_turn(&mut self) {
        if self.is_on {
            return;
        }
        self.turns += 1;
        if self.turns == TURNS {
            self.turns = 0;
            if resident_bytes().is_none_or(|bytes| bytes > LARGE) {
                self.is_on = true;
                allow();
            }
        }
    }
}

fn set(is_on: bool) {
    if let Err(error) = disable_transparent_huge_pages(!is_on) {
        tracing::debug!(%error, is_on, "the system keeps its setting of huge pages");
    }
}

/// What the process has in memory, where the system says so.
fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
