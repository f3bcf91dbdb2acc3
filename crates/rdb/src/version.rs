//! Versions of the format.

/// Newest version of Redis's numbering that is read.
pub(super) const VERSION_MAX: u32 = 12;
/// Valkey counts on from here under a name of its own.
pub(super) const VALKEY_VERSIONS: std::ops::RangeInclusive<u32> = 80..=80;
