//! Compare and set, settled: a value is changed by many at once, and each learns whether it was he.
//!
//! A write whose answer was lost may have been executed (`UnknownOutcome`). Where the new value is like no other that the key ever
//! holds, a read tells: if it is there, the write was executed. And it may be sent again as it is, since a second execution no longer
//! finds the old value.
//!
//! Invariant: `true` is said of a value that was stored, `false` of one that never will be.
//!
//! Not here: what makes a value unique: each service puts a number or a token into it.

use brickyard_client::{Error, SetOptions, Table};
use std::time::Duration;

/// Attempts of which each has a whole deadline of its own. The library sends a write again by itself as long as its deadline lasts, so the
/// second one is for a cluster that was away for longer.
const ATTEMPTS: u32 = 3;

/// Stores `new` under `key` if it holds `old` (`None`: if there is no such key), for ever or for a time; whether it did.
///
/// `new` must be like no other value that the key ever holds.
///
/// # Errors
/// [`Error::UnknownOutcome`] if it was not answered, or was and the value has been changed again since. After every other error it was not
/// stored and will not be.
pub async fn swap(
    table: &Table,
    key: &str,
    old: Option<&[u8]>,
    new: &[u8],
    life: Option<Duration>,
) -> Result<bool, Error> {
    let mut options = match old {
        Some(old) => SetOptions::new().if_equals(old),
        None => SetOptions::new().if_missing(),
    };
    if let Some(life) = life {
        options = options.expire_in(life);
    }
    let mut lost = None;
    for _ in 0..ATTEMPTS {
        match (table.set_with(key, new, options.clone()).await, &lost) {
            (Ok(outcome), _) if outcome.is_stored => return Ok(true),
            (Ok(_), None) => return Ok(false),
            // What an earlier attempt did is in the way of this one; or somebody else's value is, and then who was first is not known.
            (Ok(_), Some(_)) => {
                let found = table.get(key).await;
                if found.is_ok_and(|it| it.as_deref() == Some(new)) {
                    return Ok(true);
                }
                break;
            }
            (Err(error), _) if !error.is_not_executed() => lost = Some(error),
            (Err(error), None) => return Err(error),
            (Err(_), Some(_)) => {}
        }
    }
    Err(lost.unwrap_or(Error::Closed))
}

#[cfg(test)]
#[path = "swap_test.rs"]
mod swap_test;
