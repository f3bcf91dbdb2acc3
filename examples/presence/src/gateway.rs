//! Who is signed on at this gateway.
//!
//! In:  sign-ons of sessions, messages to users. Out: lines to sessions; renewals of all bindings, sent together.
//!
//! Invariant: a user has one session here at most, the last one that signed on. So of one user's sign-ons here one is under way at a time: their order
//! in the table is that of the seats.

use crate::store::{Binding, Bindings};
use brickyard_client::Error;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

/// Lines that may wait for one slow reader; then messages to him are refused.
pub(crate) const LINES_MAX: usize = 64;

/// What a session is told beside its answers.
#[derive(Debug)]
pub(crate) enum Told {
    /// A message.
    Message(String),
    /// The user is signed on by this binding no more.
    Gone(Binding),
}

#[derive(Debug)]
struct Seat {
    binding: Binding,
    told: mpsc::Sender<Told>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) bindings: Bindings,
    /// Where other gateways find this one.
    pub(crate) address: String,
    seats: Mutex<HashMap<String, Seat>>,
    /// Users whose sign-on is under way.
    signing: Mutex<HashSet<String>>,
}

/// A user whose sign-on is under way, until this is dropped.
struct Signing<'a>(&'a Gateway, &'a str);

impl Drop for Signing<'_> {
    fn drop(&mut self) {
        self.0.signing().remove(self.1);
    }
}

impl Gateway {
    pub(crate) fn new(bindings: Bindings, address: String) -> Self {
        Self {
            bindings,
            address,
            seats: Mutex::default(),
            signing: Mutex::default(),
        }
    }

    fn signing(&self) -> MutexGuard<'_, HashSet<String>> {
        self.signing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<String, Seat>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Signs a user on, who is told by `told` what comes for him; none if he is signed on or off elsewhere at the same time.
    pub(crate) async fn sign_on(
        &self,
        user: &str,
        told: mpsc::Sender<Told>,
    ) -> Result<Option<Binding>, Error> {
        if !self.signing().insert(user.to_owned()) {
            return Ok(None);
        }
        let _signing = Signing(self, user);
        let Some(binding) = self.bindings.sign_on(user, &self.address).await? else {
            return Ok(None);
        };
        let seat = Seat {
            binding: binding.clone(),
            told,
        };
        if let Some(former) = self.seats().insert(user.to_owned(), seat) {
            former.leave();
        }
        Ok(Some(binding))
    }

    /// Signs off who signed on by this binding; whether he still was.
    pub(crate) async fn sign_off(&self, binding: &Binding) -> Result<bool, Error> {
        // First the seat: nobody renews what is being ended.
        self.take(binding);
        self.bindings.sign_off(binding).await
    }

    fn take(&self, binding: &Binding) -> Option<Seat> {
        let mut seats = self.seats();
        let is_his = |seat: &Seat| seat.binding == *binding;
        let is_there = seats.get(&binding.user).is_some_and(is_his);
        is_there.then(|| seats.remove(&binding.user)).flatten()
    }

    /// Passes a message on to a user who is signed on here; whether he is.
    pub(crate) fn deliver(&self, to: &str, from: &str, text: &str) -> bool {
        let line = format!("FROM {from} {text}");
        let seats = self.seats();
        let seat = seats.get(to);
        seat.is_some_and(|it| it.told.try_send(Told::Message(line)).is_ok())
    }

    /// Renews all bindings, time and again. Who has lost his is told so; where the table does not answer it is tried again the
    /// next time.
    pub(crate) async fn renew_for_ever(&self, every: Duration) {
        let mut turns = interval(every);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            turns.tick().await;
            let bindings: Vec<Binding> =
                self.seats().values().map(|it| it.binding.clone()).collect();
            let mut renewals = tokio::task::JoinSet::new();
            for binding in bindings {
                let table = self.bindings.clone();
                renewals.spawn(async move { (table.renew(&binding).await, binding) });
            }
            while let Some(ended) = renewals.join_next().await {
                if let Ok((Ok(false), binding)) = ended
                    && let Some(seat) = self.take(&binding)
                {
                    seat.leave();
                }
            }
        }
    }

    /// Signs everybody off, as far as the table takes it; leases end the rest.
    pub(crate) async fn sign_all_off(&self) {
        let seats: Vec<Seat> = self.seats().drain().map(|(_, seat)| seat).collect();
        for seat in seats {
            // A table that does not answer holds up no stop for longer than one deadline.
            if self.bindings.sign_off(&seat.binding).await.is_err() {
                break;
            }
        }
    }
}

impl Seat {
    /// Tells the session that its user is signed on here no more. One that reads nothing learns it when it asks for something.
    fn leave(self) {
        let _ = self.told.try_send(Told::Gone(self.binding));
    }
}
