//! The decoder of what the agreed log holds, for the fuzzer (`crates/fuzz`): the type that it makes is
//! no affair of other rooms.

use crate::entry::Entry;
use brickyard_metadata::Change;

/// An entry of the agreed log.
#[must_use]
pub fn agreed_entry(bytes: &[u8]) -> Option<Vec<u8>> {
    Entry::decode(bytes).map(|entry| entry.encode())
}

/// Entries to begin with.
#[must_use]
pub fn agreed_entries() -> Vec<Vec<u8>> {
    let decided = Entry::Decided {
        by: (3, 4),
        change: Change::DropTable {
            name: "orders".to_owned(),
        },
    };
    vec![decided.encode()]
}
