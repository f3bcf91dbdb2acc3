//! What a writer has sent and what was acknowledged, so that a restarted server can be audited.
//!
//! In:  operations as they are sent, replies as they come. Out: for a key, whether what the server
//! now holds is possible.
//!
//! Invariants:
//! - One connection owns a key, so the key's operations have one order.
//! - An acknowledged operation has happened; one without a reply happened or did not, and none after a
//!   lost one can have happened without it: what the server holds is the state after some prefix of
//!   what was sent that contains everything acknowledged.

use crate::client::Client;
use std::collections::{BTreeMap, VecDeque};

/// A key's state: its value and when it expires (Unix milliseconds), or that it is not there.
pub type State = Option<(Vec<u8>, Option<u64>)>;

/// One change of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `SET key value`
    Set(Vec<u8>),
    /// `SET key value PXAT time`
    SetUntil(Vec<u8>, u64),
    /// `APPEND key value`
    Append(Vec<u8>),
    /// `INCRBY key number`; only on a key that holds a number or nothing.
    Increment(i64),
    /// `PEXPIREAT key time`; a time that is over removes the key.
    ExpireAt(u64),
    /// `DEL key`
    Delete,
}

impl Operation {
    /// The request for it.
    #[must_use]
    pub fn request(&self, key: &[u8]) -> Vec<Vec<u8>> {
        let key = key.to_vec();
        match self {
            Self::Set(value) => vec![b"SET".to_vec(), key, value.clone()],
            Self::SetUntil(value, time) => {
                let time = time.to_string().into_bytes();
                vec![b"SET".to_vec(), key, value.clone(), b"PXAT".to_vec(), time]
            }
            Self::Append(value) => vec![b"APPEND".to_vec(), key, value.clone()],
            Self::Increment(by) => vec![b"INCRBY".to_vec(), key, by.to_string().into_bytes()],
            Self::ExpireAt(time) => {
                vec![b"PEXPIREAT".to_vec(), key, time.to_string().into_bytes()]
            }
            Self::Delete => vec![b"DEL".to_vec(), key],
        }
    }

    /// The state after it.
    #[must_use]
    pub fn apply(&self, before: &State) -> State {
        match self {
            Self::Set(value) => Some((value.clone(), None)),
            Self::SetUntil(value, time) => Some((value.clone(), Some(*time))),
            Self::Append(tail) => {
                let (mut value, expiry) = before.clone().unwrap_or_default();
                value.extend_from_slice(tail);
                Some((value, expiry))
            }
            Self::Increment(by) => {
                let (value, expiry) = before.clone().unwrap_or_default();
                let number: i64 = String::from_utf8_lossy(&value).parse().unwrap_or(0);
                Some(((number + by).to_string().into_bytes(), expiry))
            }
            Self::ExpireAt(0) | Self::Delete => None,
            Self::ExpireAt(time) => before.clone().map(|(value, _)| (value, Some(*time))),
        }
    }
}

/// What is known of one key.
#[derive(Clone, Debug, Default)]
struct Account {
    acknowledged: State,
    /// The states after each operation that has been sent and not been answered, in order.
    pending: VecDeque<State>,
}

/// The accounts of the keys that one connection owns.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    accounts: BTreeMap<Vec<u8>, Account>,
    acknowledged: u64,
}

impl Ledger {
    /// Notes that `operation` is being sent.
    pub fn on_sent(&mut self, key: &[u8], operation: &Operation) {
        let account = self.accounts.entry(key.to_vec()).or_default();
        let before = account.pending.back().unwrap_or(&account.acknowledged);
        let after = operation.apply(before);
        account.pending.push_back(after);
    }

    /// Notes that the oldest operation on `key` without a reply has been done.
    ///
    /// # Panics
    /// If there is none.
    pub fn on_acknowledged(&mut self, key: &[u8]) {
        let account = self
            .accounts
            .get_mut(key)
            .expect("only sent operations are answered");
        account.acknowledged = account.pending.pop_front().expect("a reply too many");
        self.acknowledged += 1;
    }

    /// Notes that the oldest operation on `key` without a reply was refused and has no effect.
    ///
    /// # Panics
    /// If later ones were sent already: what they started from is not known then.
    pub fn on_refused(&mut self, key: &[u8]) {
        let account = self
            .accounts
            .get_mut(key)
            .expect("only sent operations are answered");
        drop(account.pending.pop_front().expect("a reply too many"));
        assert!(
            account.pending.is_empty(),
            "pipelined operations on a key that may refuse them"
        );
    }

    /// How many operations have been acknowledged.
    #[must_use]
    pub const fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// The keys that were ever written.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.accounts.keys().map(Vec::as_slice)
    }

    /// Compares every key with what the server holds, then takes that as the new start.
    ///
    /// # Panics
    /// If a key is in a state that no prefix of its operations with all acknowledged ones explains.
    pub fn audit(&mut self, client: &mut Client) {
        for (key, account) in &mut self.accounts {
            let found = read(client, key);
            let is_possible = found == account.acknowledged
                || account.pending.iter().any(|state| *state == found);
            assert!(
                is_possible,
                "key {} was acknowledged as {}, with {} operations without a reply; it is {}",
                key.escape_ascii(),
                shown(&account.acknowledged),
                account.pending.len(),
                shown(&found),
            );
            account.acknowledged = found;
            account.pending.clear();
        }
    }
}

fn read(client: &mut Client, key: &[u8]) -> State {
    let value = client.call(&[b"GET", key]);
    if value.is_null() {
        return None;
    }
    let Some(bytes) = value.as_bytes() else {
        panic!("GET {} was answered with {value}", key.escape_ascii());
    };
    let expiry = client
        .call(&[b"PEXPIRETIME", key])
        .as_integer()
        .expect("PEXPIRETIME is a number");
    Some((bytes.to_vec(), u64::try_from(expiry).ok()))
}

fn shown(state: &State) -> String {
    match state {
        None => "not there".to_owned(),
        Some((value, expiry)) => {
            format!("'{}' expiring at {expiry:?}", crate::value::escaped(value))
        }
    }
}

#[cfg(test)]
#[path = "ledger_test.rs"]
mod ledger_test;
