//! What the keys of a transaction have to be, and what they are to hold.
//!
//! In:  a transaction whose commands have run. Out: of each key that it has read or writes what it is locked with, should it be of another
//!      partition than the anchor.

use crate::distributed::part::{After, Bytes, Lock};
use crate::distributed::{PerKey, Running};
use crate::version::Version;

/// See the module.
pub(super) fn locks_of(running: &Running) -> PerKey<Lock> {
    let mut locks = PerKey::default();
    let lock = |key: &[u8], after: After| Lock {
        key: Bytes(key.to_vec()),
        expected: None,
        after,
    };
    for (table, key, after) in running.drafted.writes.iter() {
        locks.insert(table, key.to_vec(), lock(key, after.clone()));
    }
    let read = running.drafted.reads.names().map(|(table, key)| {
        let known = running.known().get(table, key);
        let version = known.map_or(Version::Unknown, |it| it.version);
        (table, key, version)
    });
    let home = running.request.table;
    let watched = running.transaction().watches.iter();
    let watched = watched.map(|it| (home, &it.key[..], it.version));
    // A key that is watched has to be what it was then.
    for (table, key, version) in read.chain(watched) {
        locks
            .or_insert(table, key, || lock(key, After::Same))
            .expected = Some(version.encode());
    }
    locks
}
