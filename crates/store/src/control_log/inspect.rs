//! Looks at a control log and changes nothing: what is in it, and where it is damaged.

use super::error::ControlDamage;
use super::header::Header;
use super::scan::survey;
use super::state::ControlState;
use super::{NAME, TEMPORARY, UNSURE};
use crate::config::PageCache;
use crate::disk::{Access, Disk, read_file};
use crate::segment::header::DirectoryId;
use std::io;

/// What a control log's file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlReport {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Records that can be read; where there is damage, those before it.
    pub records: u64,
    /// What those records come to.
    pub state: ControlState,
    /// Where a torn tail begins, and how long it is: the next start cuts it off.
    pub torn_tail: Option<(u64, u64)>,
    /// Why a node does not start with it.
    pub damage: Option<ControlDamage>,
    /// A sync failed: the next start trusts only what is known to be synced.
    pub is_unsure: bool,
    /// A half-written successor, which the next start removes.
    pub leftover: Option<String>,
}

/// Consecutive entries of one term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlTerm {
    /// The term of the leader that made them.
    pub term: u64,
    /// The first one's index.
    pub first: u64,
    /// The last one's.
    pub last: u64,
}

impl ControlReport {
    /// Whether a node can start with it.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.damage.is_none()
    }

    /// The terms of the entries, oldest first.
    #[must_use]
    pub fn terms(&self) -> Vec<ControlTerm> {
        let runs = self
            .state
            .entries
            .chunk_by(|one, next| one.term == next.term);
        runs.filter_map(|run| {
            Some(ControlTerm {
                term: run.first()?.term,
                first: run.first()?.index,
                last: run.last()?.index,
            })
        })
        .collect()
    }
}

/// Reads and checks every byte of a directory's control log; `None` if it has none.
///
/// Without `directory` the file may be of any: for a look beside a running server, which may be writing meanwhile.
///
/// # Errors
/// Whatever the operating system says.
pub fn inspect_control_log<D: Disk>(
    disk: &D,
    directory: Option<DirectoryId>,
    page_cache: PageCache,
) -> io::Result<Option<ControlReport>> {
    let bytes = match read_file(disk, NAME) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    let exists = |name| disk.open(name, Access::Read).is_ok();
    let is_unsure = exists(UNSURE);
    let page_cache = if is_unsure {
        PageCache::MaybeLost
    } else {
        page_cache
    };
    let directory = directory.or_else(|| Header::directory(&bytes));
    let (scan, damage) = survey(
        &bytes,
        directory.unwrap_or(DirectoryId([0; 16])),
        page_cache,
    );
    let file_bytes = bytes.len() as u64;
    let rest = file_bytes - scan.len.min(file_bytes);
    Ok(Some(ControlReport {
        file_bytes,
        records: scan.records,
        torn_tail: (rest > 0 && damage.is_none()).then_some((scan.len, rest)),
        state: scan.state,
        damage,
        is_unsure,
        leftover: exists(TEMPORARY).then(|| TEMPORARY.to_owned()),
    }))
}

#[cfg(test)]
#[path = "inspect_test.rs"]
mod inspect_test;
