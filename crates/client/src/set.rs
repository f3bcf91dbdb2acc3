//! The options of SET, and how it came out.
//!
//! In:  a caller's wishes. Out: the words of the command; [`SetOutcome`] from its reply.

use crate::{Error, convert};
use brickyard_wire::Value;
use std::time::Duration;

/// Options of [`Table::set_with`](crate::Table::set_with); the last one of a kind counts.
///
/// ```
/// use brickyard_client::SetOptions;
/// use std::time::Duration;
/// // A lock that lets go after ten seconds.
/// let lock = SetOptions::new().if_missing().expire_in(Duration::from_secs(10));
/// assert_ne!(lock, SetOptions::new());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetOptions {
    expiry: Option<Expiry>,
    condition: Option<Condition>,
    wants_previous: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expiry {
    In(Duration),
    At(u64),
    Keep,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Condition {
    Missing,
    Exists,
    Equals(Vec<u8>),
}

impl SetOptions {
    /// No options: store the value for ever, whatever was there.
    ///
    /// ```
    /// # use brickyard_client::SetOptions;
    /// assert_eq!(SetOptions::new(), SetOptions::default());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The key is gone after this time, counted in milliseconds (`PX`).
    ///
    /// ```
    /// # use brickyard_client::SetOptions;
    /// let minute = SetOptions::new().expire_in(std::time::Duration::from_secs(60));
    /// ```
    #[must_use]
    pub fn expire_in(mut self, time: Duration) -> Self {
        self.expiry = Some(Expiry::In(time));
        self
    }

    /// The key is gone at this time, in milliseconds since 1970 (`PXAT`).
    ///
    /// ```
    /// # use brickyard_client::SetOptions;
    /// let until = SetOptions::new().expire_at_ms(1_900_000_000_000);
    /// ```
    #[must_use]
    pub fn expire_at_ms(mut self, unix_ms: u64) -> Self {
        self.expiry = Some(Expiry::At(unix_ms));
        self
    }

    /// The expiry stays what it is (`KEEPTTL`).
    ///
    /// ```
    /// # use brickyard_client::SetOptions;
    /// let same = SetOptions::new().keep_expiry();
    /// ```
    #[must_use]
    pub fn keep_expiry(mut self) -> Self {
        self.expiry = Some(Expiry::Keep);
        self
    }

    /// Only if there is no such key (`NX`).
    ///
    /// ```
    /// # use brickyard_client::SetOptions;
    /// let create = SetOptions::new().if_missing();
    /// ```
    #[must_use]
    pub fn if_missing(mut self) -> Self {
        self.condition = Some(Condition::Missing);
        self
    }

    /// Only if there is such a key (`XX`).
    ///
    /// ```
    /// # use brickyard_client::SetOptions;
    /// let update = SetOptions::new().if_exists();
    /// ```
    #[must_use]
    pub fn if_exists(mut self) -> Self {
        self.condition = Some(Condition::Exists);
        self
    }

    /// Only if the key holds `value` (`IFEQ`): compare and set.
    ///
    /// ```
    /// # use brickyard_client::SetOptions;
    /// let swap = SetOptions::new().if_equals("old");
    /// ```
    #[must_use]
    pub fn if_equals(mut self, value: impl Into<Vec<u8>>) -> Self {
        self.condition = Some(Condition::Equals(value.into()));
        self
    }

    /// Tell what was there before (`GET`).
    ///
    /// ```
    /// # use brickyard_client::SetOptions;
    /// let swap = SetOptions::new().and_get();
    /// ```
    #[must_use]
    pub fn and_get(mut self) -> Self {
        self.wants_previous = true;
        self
    }

    /// The words behind `SET key value`.
    pub(crate) fn words(&self) -> Vec<Vec<u8>> {
        let mut words: Vec<Vec<u8>> = Vec::new();
        match &self.condition {
            Some(Condition::Missing) => words.push(b"NX".to_vec()),
            Some(Condition::Exists) => words.push(b"XX".to_vec()),
            Some(Condition::Equals(value)) => words.extend([b"IFEQ".to_vec(), value.clone()]),
            None => {}
        }
        if self.wants_previous {
            words.push(b"GET".to_vec());
        }
        match self.expiry {
            Some(Expiry::In(time)) => words.extend([b"PX".to_vec(), milliseconds(time)]),
            Some(Expiry::At(ms)) => words.extend([b"PXAT".to_vec(), ms.to_string().into()]),
            Some(Expiry::Keep) => words.push(b"KEEPTTL".to_vec()),
            None => {}
        }
        words
    }

    /// What the reply says.
    pub(crate) fn outcome(&self, reply: Value) -> Result<SetOutcome, Error> {
        if !self.wants_previous {
            return Ok(SetOutcome {
                is_stored: reply != Value::Null,
                previous: None,
            });
        }
        let previous = convert::bytes(reply)?;
        let is_stored = match &self.condition {
            None => true,
            Some(Condition::Missing) => previous.is_none(),
            Some(Condition::Exists) => previous.is_some(),
            Some(Condition::Equals(value)) => previous.as_ref() == Some(value),
        };
        Ok(SetOutcome {
            is_stored,
            previous,
        })
    }
}

/// A time as the server takes it; less than a millisecond is one, since nothing lives for none.
pub(crate) fn milliseconds(time: Duration) -> Vec<u8> {
    time.as_nanos().div_ceil(1_000_000).to_string().into()
}

/// How a [`Table::set_with`](crate::Table::set_with) came out.
///
/// ```no_run
/// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
/// use brickyard_client::SetOptions;
/// let outcome = table.set_with("lock", "me", SetOptions::new().if_missing().and_get()).await?;
/// if !outcome.is_stored {
///     println!("held by {:?}", outcome.previous);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetOutcome {
    /// Whether the condition held, so that the value was stored.
    pub is_stored: bool,
    /// What was there before, if it was asked for with [`SetOptions::and_get`].
    pub previous: Option<Vec<u8>>,
}

#[cfg(test)]
mod set_test {
    use super::*;

    fn line(options: &SetOptions) -> String {
        let words = options.words();
        let words: Vec<&str> = words
            .iter()
            .map(|it| std::str::from_utf8(it).expect("text"))
            .collect();
        words.join(" ")
    }

    #[test]
    fn options_become_redis_words() {
        let options = SetOptions::new()
            .if_missing()
            .expire_in(Duration::from_micros(1500));
        assert_eq!(line(&options), "NX PX 2");
        let options = SetOptions::new().if_equals("old").and_get().expire_at_ms(9);
        assert_eq!(line(&options), "IFEQ old GET PXAT 9");
        assert_eq!(
            line(&SetOptions::new().if_exists().keep_expiry()),
            "XX KEEPTTL"
        );
    }

    #[test]
    fn whether_it_was_stored_is_read_from_what_was_there() {
        let old = || Value::Bulk(b"old".to_vec());
        let is_stored =
            |options: SetOptions, reply| options.outcome(reply).expect("a reply").is_stored;
        let get = || SetOptions::new().and_get();
        assert!(is_stored(SetOptions::new(), Value::Simple(b"OK".to_vec())));
        assert!(!is_stored(SetOptions::new().if_missing(), Value::Null));
        assert!(is_stored(get().if_missing(), Value::Null));
        assert!(!is_stored(get().if_missing(), old()));
        assert!(is_stored(get().if_exists(), old()));
        assert!(!is_stored(get().if_equals("other"), old()));
        assert!(is_stored(get().if_equals("old"), old()));
        assert!(is_stored(get(), Value::Null));
    }
}
