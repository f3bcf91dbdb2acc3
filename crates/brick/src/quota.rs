//! What the connections of a user take of a node together, where the user has limits: connections, operations, bytes.
//!
//! In:  who logs in, requests and replies of who has limits. Out: a seat, without which nobody acts for a user; or the error
//!      that says which limit is reached, and when there is room again.
//!
//! Invariants:
//! - A connection acts for a user exactly as long as it has a seat, and a seat is counted exactly as long as it is there.
//! - All bricks of a node count a user's rates in one place. Of a user without rates nothing is counted but its connections, when
//!   they come and go: its requests touch nothing that bricks share.
//! - What is refused was not executed, and takes nothing.
//! - Rates are forgotten when they owe nothing: nobody gets rid of a debt by coming again.
//!
//! Not here: which limits a user has (the catalog's accounts, the configuration file), how a rate counts (`shared_rate`).

use crate::shared_rate::SharedRate;
use crate::users::User;
use brickyard_command::{CommandId, ErrorReply, Spec, table::flag};
use brickyard_metadata::UserLimits;
use brickyard_types::Instant;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The first word of an error that says that a limit is reached.
const LIMIT: &[u8] = b"LIMIT ";

/// What users of a node take. It is locked when somebody logs in or users change, and never for a request.
#[derive(Debug, Default)]
pub struct Quotas(Mutex<Book>);

#[derive(Debug, Default)]
struct Book {
    /// Connections of each user that has any.
    seated: BTreeMap<String, Arc<AtomicU64>>,
    /// By the rates themselves too: one that is changed begins anew, and a brick that does not know of the change yet counts with its like.
    rates: BTreeMap<(String, UserLimits), Arc<Rates>>,
}

/// What bricks write for each request, on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Rates {
    operations: Option<SharedRate>,
    bytes: Option<SharedRate>,
}

/// A connection's place among those of its user; see the module.
#[derive(Debug)]
pub(crate) struct Seat {
    user: Arc<User>,
    /// Of all connections of the user: given back in the end.
    seated: Arc<AtomicU64>,
    rates: Option<Arc<Rates>>,
    /// Bytes of refusals that are not sent yet: they are not taken, or who asks too often could never ask again.
    unbilled: u64,
}

impl Quotas {
    fn book(&self) -> MutexGuard<'_, Book> {
        // Whoever panicked has ended the process; in tests it has changed all or nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A seat for a connection that comes to act for this user.
    ///
    /// # Errors
    /// The user has as many connections as it may have.
    pub(crate) fn seat(&self, user: Arc<User>, now: Instant) -> Result<Seat, ErrorReply> {
        let mut book = self.book();
        let most = user.limits.connections;
        let known = book.seated.get(&user.name).cloned();
        let seated = known.unwrap_or_default();
        let count = |it: u64| (most == 0 || it < most).then_some(it + 1);
        if seated.fetch_update(Relaxed, Relaxed, count).is_err() {
            return Err(no_seat(&user));
        }
        book.seated.retain(|_, it| it.load(Relaxed) > 0);
        book.seated.insert(user.name.clone(), Arc::clone(&seated));
        let rates = book.rates(&user, now);
        Ok(Seat {
            user,
            seated,
            rates,
            unbilled: 0,
        })
    }
}

impl Book {
    /// Where all bricks count the user's rates, if it has any.
    fn rates(&mut self, user: &User, now: Instant) -> Option<Arc<Rates>> {
        let limits = user.limits;
        if limits.operations == 0 && limits.bytes == 0 {
            return None;
        }
        let counted = UserLimits {
            connections: 0,
            ..limits
        };
        let key = (user.name.clone(), counted);
        if let Some(known) = self.rates.get(&key) {
            return Some(Arc::clone(known));
        }
        self.rates
            .retain(|_, it| Arc::strong_count(it) > 1 || !it.is_idle(now));
        let rates = Arc::new(Rates {
            operations: SharedRate::new(limits.operations),
            bytes: SharedRate::new(limits.bytes),
        });
        self.rates.insert(key, Arc::clone(&rates));
        Some(rates)
    }
}

impl Rates {
    fn is_idle(&self, now: Instant) -> bool {
        let mut rates = self.operations.iter().chain(&self.bytes);
        rates.all(|rate| rate.is_idle(now))
    }
}

impl Deref for Seat {
    type Target = User;

    #[inline]
    fn deref(&self) -> &User {
        &self.user
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let before = self.seated.fetch_sub(1, Relaxed);
        assert!(before > 0, "a seat of '{}' was not counted", self.user.name);
    }
}

impl Seat {
    pub(crate) fn user(&self) -> &Arc<User> {
        &self.user
    }

    /// The user may have other rights and limits from now on. The seat stays, be there fewer by now.
    pub(crate) fn renew(&mut self, user: Arc<User>, quotas: &Quotas, now: Instant) {
        assert_eq!(self.user.name, user.name, "a seat is one user's");
        if user.limits != self.user.limits {
            self.rates = quotas.book().rates(&user, now);
            self.unbilled = 0;
        }
        self.user = user;
    }

    /// Whether the user's requests are counted.
    #[inline]
    pub(crate) const fn has_rates(&self) -> bool {
        self.rates.is_some()
    }

    /// A request of so many bytes is to be executed: it is taken from the user's rates.
    ///
    /// # Errors
    /// There is no room for it now.
    pub(crate) fn admit(
        &self,
        spec: Option<&Spec>,
        bytes: usize,
        now: Instant,
    ) -> Result<(), ErrorReply> {
        let Some(Rates {
            operations,
            bytes: moved,
        }) = self.rates.as_deref()
        else {
            return Ok(());
        };
        if !spec.is_some_and(is_always_admitted) {
            // Nothing is taken of one of them if the other one refuses.
            if let Some(moved) = moved {
                let checked = moved.check(now);
                checked.map_err(|wait| too_many_bytes(&self.user, moved, wait))?;
            }
            if let Some(operations) = operations {
                let taken = operations.try_take(now);
                taken.map_err(|wait| too_many_operations(&self.user, operations, wait))?;
            }
        }
        if let Some(moved) = moved {
            moved.take(bytes as u64, now);
        }
        Ok(())
    }

    /// So many bytes of refusals will be sent.
    pub(crate) fn note_refusal(&mut self, bytes: usize) {
        if self.moved().is_some() {
            self.unbilled += bytes as u64;
        }
    }

    fn moved(&self) -> Option<&SharedRate> {
        self.rates.as_deref()?.bytes.as_ref()
    }

    /// So many bytes of replies were sent.
    #[inline]
    pub(crate) fn on_sent(&mut self, len: usize, now: Instant) {
        let free = self.unbilled.min(len as u64);
        if let Some(moved) = self.moved() {
            moved.take(len as u64 - free, now);
        }
        self.unbilled -= free;
    }
}

/// Who these are from is not settled by then; or the client would not expect the state in which a refusal leaves its
/// connection: what comes after a `MULTI` that was refused would be executed by itself, and commands of a pool's next user would be
/// queued behind a `DISCARD` that was. They do nothing to keys: what a transaction has was counted when it was queued.
fn is_always_admitted(spec: &Spec) -> bool {
    let is_frame = matches!(
        spec.id,
        CommandId::Multi | CommandId::Exec | CommandId::Discard | CommandId::Unwatch
    );
    is_frame || spec.has(flag::NO_AUTH)
}

/// Whether an error says that a limit is reached.
pub(crate) fn is_limit(error: &ErrorReply) -> bool {
    error.as_bytes().starts_with(LIMIT)
}

fn no_seat(user: &User) -> ErrorReply {
    ErrorReply::new(format!(
        "LIMIT user '{}' may have {} connections to a node, and has them: close some, or use a pool",
        user.name, user.limits.connections
    ))
}

fn too_many_operations(user: &User, rate: &SharedRate, wait: Duration) -> ErrorReply {
    ErrorReply::new(format!(
        "LIMIT user '{}' may run {} operations a second on a node: not executed, try again in {} ms",
        user.name,
        rate.per_second(),
        millis(wait)
    ))
}

fn too_many_bytes(user: &User, rate: &SharedRate, wait: Duration) -> ErrorReply {
    ErrorReply::new(format!(
        "LIMIT user '{}' may send and get {} bytes a second on a node: not executed, try again in {} ms",
        user.name,
        rate.per_second(),
        millis(wait)
    ))
}

/// Rounded up: who waits so long need not ask twice.
fn millis(wait: Duration) -> u128 {
    wait.as_nanos().div_ceil(1_000_000)
}

#[cfg(test)]
#[path = "quota_test.rs"]
mod quota_test;
