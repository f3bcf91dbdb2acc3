//! The users that the cluster keeps.
//!
//! In:  rules for a user, new or known; names of users that are to go. Out: the account of a name.
//!
//! Invariants:
//! - A change whose rules do not all hold changes nothing.
//! - There are at most [`ACCOUNTS_MAX`], and each is bounded (`account`).
//!
//! Not here: users of a node's configuration file, which only that node knows.

use crate::account::{Account, AccountRule};
use crate::applied::Done;
use crate::refusal::Refusal;
use crate::user_limits::UserLimits;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// So many there may be: all of them are in each catalog.
const ACCOUNTS_MAX: usize = 1_024;

/// Longest name.
const NAME_BYTES_MAX: usize = 128;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Accounts {
    by_name: BTreeMap<String, Account>,
}

impl Accounts {
    /// Whether the cluster keeps none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The account of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Account> {
        self.by_name.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Account)> {
        let named = self.by_name.iter();
        named.map(|(name, account)| (name.as_str(), account))
    }

    /// The limits of those that have any.
    pub(crate) fn limits(&self) -> BTreeMap<&str, UserLimits> {
        let limits = self.iter().map(|(name, account)| (name, account.limits));
        limits.filter(|(_, limits)| !limits.is_none()).collect()
    }

    /// Gives users their limits, for a catalog that was read.
    pub(crate) fn put_limits(
        &mut self,
        limits: BTreeMap<String, UserLimits>,
    ) -> Result<(), String> {
        for (name, limits) in limits {
            let account = self.by_name.get_mut(&name);
            let account = account.ok_or_else(|| {
                format!("it has limits of '{}', who is no user", name.escape_debug())
            })?;
            account.limits = limits;
        }
        Ok(())
    }

    /// Rules for a user; `initial` come first if there is none of that name.
    pub(crate) fn set(
        &mut self,
        name: String,
        initial: Vec<AccountRule>,
        rules: Vec<AccountRule>,
    ) -> Result<Done, Refusal> {
        if !is_name(&name) {
            return Err(Refusal::BadAccountName {
                name: name.escape_debug().take(NAME_BYTES_MAX).collect(),
            });
        }
        let known = self.by_name.get(&name);
        if known.is_none() && self.by_name.len() >= ACCOUNTS_MAX {
            return Err(Refusal::TooManyAccounts { most: ACCOUNTS_MAX });
        }
        let mut account = known.cloned().unwrap_or_default();
        let initial = if known.is_none() { initial } else { Vec::new() };
        let refused = |why: String| Refusal::BadAccount {
            name: name.clone(),
            why,
        };
        for rule in initial.into_iter().chain(rules) {
            account.apply(rule).map_err(|why| refused(why.to_owned()))?;
        }
        account.check().map_err(refused)?;
        let has_changed = known != Some(&account);
        self.by_name.insert(name, account);
        Ok(Done::changed(has_changed))
    }

    /// Users go; of some there may be none.
    pub(crate) fn drop(&mut self, names: &[String]) -> Done {
        let before = self.by_name.len();
        for name in names {
            self.by_name.remove(name);
        }
        Done::changed(self.by_name.len() != before)
    }

    /// What contradicts the invariants; for a catalog that was read.
    pub(crate) fn check(&self) -> Result<(), String> {
        let count = self.by_name.len();
        if count > ACCOUNTS_MAX {
            return Err(format!("it has {count} users"));
        }
        for (name, account) in &self.by_name {
            let checked = account.check();
            checked.map_err(|what| format!("user '{}': {what}", name.escape_debug()))?;
            if !is_name(name) {
                return Err(format!("'{}' cannot be a user's name", name.escape_debug()));
            }
        }
        Ok(())
    }
}

fn is_name(name: &str) -> bool {
    let is_strange = |it: char| it.is_whitespace() || it.is_control();
    (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.contains(is_strange)
}

#[cfg(test)]
#[path = "accounts_test.rs"]
mod accounts_test;
