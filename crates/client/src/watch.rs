//! What changes in a table, from a position on.
//!
//! In:  which keys, from where on. Out: changes, in the order of each key, and the position behind them.
//!
//! Invariants:
//! - The position is behind what was returned, and before everything else: whoever keeps it goes on where it was, in another process too.
//! - It asks on a client of its own: a call that waits would hold up others on the same connection.

use crate::{
    Error,
    command::{Place, Shape},
    convert::any,
    pending::Pending,
    prepared::Prepared,
    router::Router,
};
use brickyard_wire::Value;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// What has become of a key, or of many.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableChange {
    /// The key holds this string.
    Set {
        /// The key.
        key: Vec<u8>,
        /// Its value.
        value: Vec<u8>,
        /// When it is gone, in milliseconds since 1970.
        expires_at_ms: Option<u64>,
    },
    /// The key holds what RESTORE makes of this: a hash.
    Restore {
        /// The key.
        key: Vec<u8>,
        /// What DUMP would return.
        payload: Vec<u8>,
        /// When it is gone, in milliseconds since 1970.
        expires_at_ms: Option<u64>,
    },
    /// The key is gone.
    Delete {
        /// The key.
        key: Vec<u8>,
    },
    /// All keys of these slots are gone (FLUSHDB).
    Clear {
        /// The first slot.
        first: u16,
        /// The last one.
        last: u16,
        /// More bits of the routing hash than a slot has, as text, where only a part of one slot is meant: then `first` is `last`.
        bits: String,
    },
}

/// Whose changes are wanted.
#[derive(Clone, Debug)]
enum Keys {
    All,
    Prefix(Vec<u8>),
    One(Vec<u8>),
}

/// The changes of a table's keys, as they commit; the table has to keep them (`TABLE ALTER name HISTORY 1mb`).
///
/// ```no_run
/// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
/// let mut watch = table.watch().prefix("order:");
/// loop {
///     for change in watch.next().await? {
///         println!("{change:?}");
///     }
///     // Kept somewhere, `watch.position()` is where another one goes on: table.watch().from(position).
/// }
/// # }
/// ```
#[derive(Debug)]
#[must_use = "nothing is asked before the first changes are"]
pub struct Watch {
    /// A way of its own.
    router: Arc<Router>,
    keys: Keys,
    position: Option<Vec<u8>>,
    count: u32,
}

impl Watch {
    pub(crate) const fn new(router: Arc<Router>) -> Self {
        Self {
            router,
            keys: Keys::All,
            position: None,
            count: 1000,
        }
    }

    /// Only keys that begin so.
    pub fn prefix(mut self, prefix: impl Into<Vec<u8>>) -> Self {
        self.keys = Keys::Prefix(prefix.into());
        self
    }

    /// Only this key.
    pub fn key(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.keys = Keys::One(key.into());
        self
    }

    /// From a position on that [`Self::position`] has returned, of the same keys; otherwise from the first call of [`Self::next`] on.
    pub fn from(mut self, position: impl Into<Vec<u8>>) -> Self {
        self.position = Some(position.into());
        self
    }

    /// About so many changes at a time. Default: 1,000.
    pub const fn page(mut self, changes: u32) -> Self {
        self.count = changes;
        self
    }

    /// Where it goes on; nothing before anything was asked.
    #[must_use]
    pub fn position(&self) -> Option<&[u8]> {
        self.position.as_deref()
    }

    /// The position of now, if there is none yet: everything that commits after this will be returned.
    ///
    /// # Errors
    /// As any read.
    pub async fn begin(&mut self) -> Result<(), Error> {
        if self.position.is_none() {
            self.ask(None).await?;
        }
        Ok(())
    }

    /// The next changes; waits until there are some.
    ///
    /// # Errors
    /// As any read; the next call goes on from the same position. An error with the prefix `COMPACTED` says that some of the changes are not
    /// kept any more: read the table, and begin anew.
    pub async fn next(&mut self) -> Result<Vec<TableChange>, Error> {
        loop {
            let changes = self.next_within(Duration::MAX).await?;
            if !changes.is_empty() {
                return Ok(changes);
            }
        }
    }

    /// The next changes, or none if none came in time; it may be earlier that it says so.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub async fn next_within(&mut self, wait: Duration) -> Result<Vec<TableChange>, Error> {
        self.begin().await?;
        // A connection that is silent for longer counts as dead.
        let longest = self.router.client.options.silence_limit / 2;
        let wait = wait.clamp(Duration::from_millis(1), longest);
        self.ask(Some(wait)).await
    }

    async fn ask(&mut self, wait: Option<Duration>) -> Result<Vec<TableChange>, Error> {
        let count = self.count.max(1).to_string();
        let block = wait.map(|it| it.as_millis().to_string());
        let mut words: Vec<&[u8]> = vec![b"WATCHKEYS"];
        match &self.keys {
            Keys::All => words.push(b"ALL"),
            Keys::Prefix(prefix) => words.extend([&b"PREFIX"[..], prefix]),
            Keys::One(key) => words.extend([&b"KEY"[..], key]),
        }
        let from = self.position.as_deref().unwrap_or(b"NOW");
        words.extend([b"FROM", from, b"COUNT", count.as_bytes()]);
        if let Some(block) = &block {
            words.extend([b"BLOCK", block.as_bytes()]);
        }
        let shape = Shape {
            is_read: true,
            place: Place::Node,
        };
        let now = Instant::now();
        let deadline = self.router.client.options.deadline + wait.unwrap_or_default();
        let times = (now, now + deadline);
        let asked = Pending::start(&self.router, Prepared::new(shape, 0, &words), times, any);
        let (position, changes) = answer(asked.await?)?;
        self.position = Some(position);
        Ok(changes)
    }
}

/// What `WATCHKEYS` gives: where to go on, and changes.
fn answer(value: Value) -> Result<(Vec<u8>, Vec<TableChange>), Error> {
    let wrong = || Error::protocol("expected a position and changes");
    let Value::Array(elements) = value else {
        return Err(wrong());
    };
    let mut elements = elements.into_iter();
    match (elements.next(), elements.next()) {
        (Some(Value::Bulk(position)), Some(Value::Array(changes))) => {
            let changes = changes.into_iter().map(change).collect::<Option<_>>();
            Ok((position, changes.ok_or_else(wrong)?))
        }
        _ => Err(wrong()),
    }
}

/// A change, as the server has it.
fn change(value: Value) -> Option<TableChange> {
    let Value::Array(words) = value else {
        return None;
    };
    let mut words = words.into_iter();
    let event = bytes(words.next()?)?;
    let mut text = || bytes(words.next()?);
    let change = match &event[..] {
        b"set" => TableChange::Set {
            key: text()?,
            value: text()?,
            expires_at_ms: time(words.next()?)?,
        },
        b"restore" => TableChange::Restore {
            key: text()?,
            payload: text()?,
            expires_at_ms: time(words.next()?)?,
        },
        b"del" => TableChange::Delete { key: text()? },
        b"clear" => {
            let mut slot = || u16::try_from(words.next()?.integer()?).ok();
            TableChange::Clear {
                first: slot()?,
                last: slot()?,
                bits: String::from_utf8(bytes(words.next()?)?).ok()?,
            }
        }
        _ => return None,
    };
    Some(change)
}

fn bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::Bulk(bytes) => Some(bytes),
        _ => None,
    }
}

/// When a key is gone: `Some(None)` for never.
fn time(value: Value) -> Option<Option<u64>> {
    let at = value.integer()?;
    Some(u64::try_from(at).ok())
}

#[cfg(test)]
mod watch_test {
    use super::*;

    fn bulk(text: &str) -> Value {
        Value::Bulk(text.as_bytes().to_vec())
    }

    #[test]
    fn changes_are_read_as_they_are_told() {
        let told = |words: Vec<Value>| change(Value::Array(words));
        let set = told(vec![bulk("set"), bulk("k"), bulk("v"), Value::Integer(-1)]);
        let (key, value) = (b"k".to_vec(), b"v".to_vec());
        let expected = TableChange::Set {
            key: key.clone(),
            value,
            expires_at_ms: None,
        };
        assert_eq!(set, Some(expected));
        let restore = told(vec![
            bulk("restore"),
            bulk("k"),
            bulk("p"),
            Value::Integer(5),
        ]);
        let expected = TableChange::Restore {
            key: key.clone(),
            payload: b"p".to_vec(),
            expires_at_ms: Some(5),
        };
        assert_eq!(restore, Some(expected));
        let delete = told(vec![bulk("del"), bulk("k")]);
        assert_eq!(delete, Some(TableChange::Delete { key }));
        let slots = [0, 8191].map(Value::Integer);
        let clear = told(
            [bulk("clear")]
                .into_iter()
                .chain(slots)
                .chain([bulk("0")])
                .collect(),
        );
        let expected = TableChange::Clear {
            first: 0,
            last: 8191,
            bits: "0".to_owned(),
        };
        assert_eq!(clear, Some(expected));
        for strange in [vec![], vec![bulk("set"), bulk("k")], vec![bulk("other")]] {
            assert_eq!(told(strange), None);
        }
    }
}
