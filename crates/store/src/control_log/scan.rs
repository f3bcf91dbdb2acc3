//! Reading a file: what is in it, and what unreadable bytes are.
//!
//! Cutting what rotted would forget a vote; refusing what a crash tore would keep a healthy node from
//! starting. So, from the first unreadable byte on:
//! - before the base, or before an offset that any sound record says was synced: damage;
//! - behind that, if writes may have been lost: a torn tail, as a whole;
//! - behind that, if none can have been lost (the process died, the machine did not): a torn tail
//!   only if the file ends inside a record.
//!
//! One window remains, as in a brick's log: rot in what was synced last, together with a reboot, before
//! anything else was written, is taken for a tear. Opening closes it for all that was read.

use super::error::ControlDamage;
use super::header::{HEADER_BYTES, Header};
use super::record::{Body, HEAD_BYTES, Head, KIND_SNAPSHOT};
use super::state::ControlState;
use crate::config::PageCache;
use crate::segment::header::DirectoryId;

/// What is in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlScan {
    /// The latest of everything.
    pub state: ControlState,
    /// Bytes up to the end of the last sound record; the rest is a torn tail.
    pub len: u64,
    /// How many records there are.
    pub records: u64,
}

/// Why the next record cannot be read.
enum Unreadable {
    /// The file ends inside it.
    Short(&'static str),
    /// A checksum does not match.
    Spoilt(&'static str),
    /// It was written like this, and should not have been.
    Nonsense(&'static str),
}

/// Reads a file's bytes.
///
/// # Errors
/// [`ControlDamage`].
pub fn scan_control_log(
    bytes: &[u8],
    directory: DirectoryId,
    page_cache: PageCache,
) -> Result<ControlScan, ControlDamage> {
    match survey(bytes, directory, page_cache) {
        (scan, None) => Ok(scan),
        (_, Some(damage)) => Err(damage),
    }
}

/// Reads as much as can be read, and says what is wrong with the rest.
pub(super) fn survey(
    bytes: &[u8],
    directory: DirectoryId,
    page_cache: PageCache,
) -> (ControlScan, Option<ControlDamage>) {
    let mut scan = ControlScan::default();
    let header = match Header::decode(bytes, directory) {
        Ok(header) => header,
        Err(damage) => return (scan, Some(damage)),
    };
    scan.len = HEADER_BYTES as u64;
    while scan.len < bytes.len() as u64 {
        let at = scan.len;
        let (what, is_torn) = match scan.next(bytes) {
            Ok(()) => continue,
            Err(Unreadable::Short(what)) => (what, true),
            Err(Unreadable::Spoilt(what)) => (what, page_cache == PageCache::MaybeLost),
            Err(Unreadable::Nonsense(what)) => (what, false),
        };
        if at < header.base || !is_torn || was_synced(bytes, at) {
            return (scan, Some(ControlDamage::Damaged { offset: at, what }));
        }
        return (scan, None);
    }
    let ends_early = scan.len < header.base;
    let damage = ends_early.then_some(ControlDamage::Damaged {
        offset: scan.len,
        what: "it ends too early",
    });
    (scan, damage)
}

impl ControlScan {
    fn next(&mut self, bytes: &[u8]) -> Result<(), Unreadable> {
        use Unreadable::{Nonsense, Short, Spoilt};
        // A slice's length fits.
        let rest = &bytes[self.len as usize..];
        if rest.len() < HEAD_BYTES {
            return Err(Short("a record's head is not all there"));
        }
        let Some(head) = Head::at(bytes, self.len) else {
            return Err(Spoilt("a record's head does not match its checksum"));
        };
        let Some(body) = rest[HEAD_BYTES..].get(..head.body_len as usize) else {
            return Err(Short("a record's body is not all there"));
        };
        if !head.is_of(body) {
            return Err(Spoilt("a record's body does not match its checksum"));
        }
        let is_first = self.records == 0;
        if head.number != self.records || (head.kind == KIND_SNAPSHOT && !is_first) {
            return Err(Nonsense("a record is not where it belongs"));
        }
        match head.read(body) {
            Some(Body::Snapshot(snapshot)) => self.state.snapshot = Some(snapshot),
            Some(Body::Append(hard_state, entries)) => {
                if !self.state.take(entries) {
                    return Err(Nonsense("entries do not follow those before them"));
                }
                self.state.hard_state = hard_state.unwrap_or(self.state.hard_state);
            }
            None => return Err(Nonsense("a record says nothing known")),
        }
        self.len += (HEAD_BYTES + body.len()) as u64;
        self.records += 1;
        Ok(())
    }
}

/// Whether something behind `at` says that the bytes there were synced once.
fn was_synced(bytes: &[u8], at: u64) -> bool {
    (at + 1..bytes.len() as u64)
        .filter_map(|offset| Head::at(bytes, offset))
        .any(|head| head.synced > at)
}

#[cfg(test)]
#[path = "scan_test.rs"]
mod scan_test;
