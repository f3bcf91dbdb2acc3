//! The table: who is signed on, and at which gateway. All that this service does with the table is here.
//!
//! In:  users, addresses of gateways. Out: [`Binding`]s.
//!
//! | Key | Value |
//! |---|---|
//! | the user's name | `token address`: signed on there; `token -`: signed off |
//!
//! Invariants:
//! - A binding ends by a newer sign-on, by its own sign-off, or when it has not been renewed for a lease; by nothing else.
//! - A value never comes twice, since each sign-on and sign-off draws a token. So what a gateway does about a binding that it wrote
//!   (renew, sign off) finds that very value, or nothing.
//!
//! A sign-off leaves a value behind for a minute rather than no key: a sign-on whose answer was lost, and which arrives late, finds
//! that the value it went by is gone. "If there is no such key" would be true again.

use brickyard_client::{Error, SetOptions, Table};
use brickyard_example_service::{swap, token};
use std::time::Duration;

/// How long it is known that somebody signed off: far longer than any request is on its way.
const SIGNED_OFF_LIFE: Duration = Duration::from_secs(60);

/// In the place of an address.
const NOWHERE: &str = "-";

/// A user's sign-on at a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) user: String,
    /// What the table holds of it.
    value: String,
}

impl Binding {
    fn new(user: &str, address: &str) -> Result<Self, Error> {
        let token = token().map_err(|error| Error::Invalid {
            reason: format!("the system has no randomness to give: {error}"),
        })?;
        Ok(Self {
            user: user.to_owned(),
            value: format!("{token} {address}"),
        })
    }
}

/// The bindings of all gateways.
#[derive(Clone, Debug)]
pub(crate) struct Bindings {
    table: Table,
    lease: Duration,
}

impl Bindings {
    pub(crate) const fn new(table: Table, lease: Duration) -> Self {
        Self { table, lease }
    }

    /// Binds a user to a gateway, wherever he was before; none: somebody signed him on or off in between.
    pub(crate) async fn sign_on(
        &self,
        user: &str,
        address: &str,
    ) -> Result<Option<Binding>, Error> {
        let old = self.table.get(user).await?;
        let new = Binding::new(user, address)?;
        let value = new.value.as_bytes();
        // Once: whoever has signed on meanwhile may have done so because this took too long for him.
        let is_on = swap(&self.table, user, old.as_deref(), value, Some(self.lease)).await?;
        Ok(is_on.then_some(new))
    }

    /// Has a binding live for another lease; `false`: it has ended, and stays so.
    pub(crate) async fn renew(&self, binding: &Binding) -> Result<bool, Error> {
        let (user, value) = (&binding.user, &binding.value);
        let same = SetOptions::new().if_equals(value.as_bytes());
        let renewed = self.table.set_with(user, value, same.expire_in(self.lease));
        Ok(renewed.await?.is_stored)
    }

    /// Ends a binding; `false`: it had ended before, and what is there now stays.
    pub(crate) async fn sign_off(&self, binding: &Binding) -> Result<bool, Error> {
        let (user, own) = (&binding.user, binding.value.as_bytes());
        let gone = Binding::new(user, NOWHERE)?;
        let life = Some(SIGNED_OFF_LIFE);
        swap(&self.table, user, Some(own), gone.value.as_bytes(), life).await
    }

    /// The gateway where a user is signed on.
    pub(crate) async fn find(&self, user: &str) -> Result<Option<String>, Error> {
        let value = self.table.get(user).await?;
        let address = value.as_deref().and_then(address_of);
        Ok(address.map(str::to_owned))
    }
}

fn address_of(value: &[u8]) -> Option<&str> {
    let (_, address) = std::str::from_utf8(value).ok()?.split_once(' ')?;
    (address != NOWHERE).then_some(address)
}

#[cfg(test)]
mod store_test {
    use super::*;

    #[test]
    fn each_sign_on_has_a_value_of_its_own_that_says_where() {
        let [one, two] = [0, 1].map(|_| Binding::new("ann", "10.0.0.1:7000").expect("chance"));
        assert_ne!(one.value, two.value);
        assert_eq!(address_of(one.value.as_bytes()), Some("10.0.0.1:7000"));
    }

    #[test]
    fn who_signed_off_is_nowhere() {
        let gone = Binding::new("ann", NOWHERE).expect("chance");
        assert_eq!(address_of(gone.value.as_bytes()), None);
        assert_eq!(address_of(b"of another program"), Some("another program"));
        assert_eq!(address_of(b"\xff -"), None);
    }
}
