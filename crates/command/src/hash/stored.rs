//! What the record of a key, or of a part, says of a hash's times, whichever form it has.
//!
//! In:  values as they are stored. Out: when fields and keys expire.

use super::fields::{Fields, first_of};
use super::head::Head;
use crate::error::ErrorReply;
use brickyard_types::UnixMillis;

/// When the first field of a hash expires, or earlier; `None`: none does.
#[inline]
#[must_use]
pub fn first_expiry(value: &[u8]) -> Option<UnixMillis> {
    match Head::read(value) {
        Some(head) => head.first_expiry(),
        None => first_of(value),
    }
}

/// Whether some of the fields in this value, or in this part of one, are over at `now`. A head has none in it.
#[inline]
#[must_use]
pub fn has_due(value: &[u8], now: UnixMillis) -> bool {
    first_of(value).is_some_and(|at| at < now)
}

/// When the key of a hash expires by itself; `expires_at` is its record's.
///
/// # Errors
/// The value is no hash.
pub fn key_expiry(
    value: &[u8],
    expires_at: Option<UnixMillis>,
) -> Result<Option<UnixMillis>, ErrorReply> {
    match Head::read(value) {
        Some(head) => Ok(head.key_expiry(expires_at)),
        None => Ok(Fields::read(value, expires_at)?.key_expires_at),
    }
}
