//! The table: pages, sessions, users. All that this service does with the table is here.
//!
//! | Key | Value |
//! |---|---|
//! | `page:name` | a [`Page`] as JSON |
//! | `visits:name` | how often the page was read |
//! | `user:name` | the hash of the user's password |
//! | `session:token` | the user's name, until the session ends |
//!
//! Invariants:
//! - A page's versions follow one another: who saves one has seen the one before it.
//! - A session is of the user who began it, as long as it lives: its token is drawn for it, and its key written once.

use brickyard_client::{Error, SetOptions, Table};
use brickyard_example_service::swap;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Pages that are listed.
const LISTED_MAX: usize = 200;

/// A page as it was saved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Page {
    pub(crate) version: u64,
    pub(crate) author: String,
    pub(crate) text: String,
    /// Drawn for each save, so that two of the same text are told apart.
    pub(crate) edit: String,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    table: Table,
    session_life: Duration,
}

impl Store {
    pub(crate) const fn new(table: Table, session_life: Duration) -> Self {
        Self {
            table,
            session_life,
        }
    }

    pub(crate) async fn page(&self, name: &str) -> Result<Option<Page>, Error> {
        let value = self.table.get(format!("page:{name}")).await?;
        value.map(|it| read(&it)).transpose()
    }

    /// Saves a page behind version `base` (0: there is none yet); whether that is still the last one.
    pub(crate) async fn save(&self, name: &str, base: u64, page: &Page) -> Result<bool, Error> {
        let key = format!("page:{name}");
        let old = self.table.get(&key).await?;
        let last = old.as_deref().map(read).transpose()?;
        if last.map_or(0, |it| it.version) != base {
            return Ok(false);
        }
        let new = serde_json::to_vec(page).map_err(|error| strange(&error))?;
        swap(&self.table, &key, old.as_deref(), &new, None).await
    }

    /// Counts a visit; how many there were.
    pub(crate) async fn visit(&self, name: &str) -> Result<i64, Error> {
        self.table.incr(format!("visits:{name}")).await
    }

    /// The names of some pages, in order.
    pub(crate) async fn pages(&self) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        let mut scan = self.table.scan().matching("page:*");
        while let Some(key) = scan.next().await? {
            let name = key.strip_prefix(b"page:").unwrap_or(&key);
            names.push(String::from_utf8_lossy(name).into_owned());
            if names.len() == LISTED_MAX {
                break;
            }
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Makes a user; `false`: the name is taken.
    pub(crate) async fn add_user(&self, name: &str, hash: &str) -> Result<bool, Error> {
        // The hash has a salt of its own: no other is like it.
        swap(
            &self.table,
            &format!("user:{name}"),
            None,
            hash.as_bytes(),
            None,
        )
        .await
    }

    pub(crate) async fn password_hash(&self, user: &str) -> Result<Option<String>, Error> {
        let hash = self.table.get(format!("user:{user}")).await?;
        Ok(hash.map(|it| String::from_utf8_lossy(&it).into_owned()))
    }

    pub(crate) async fn begin_session(&self, token: &str, user: &str) -> Result<(), Error> {
        let life = SetOptions::new().expire_in(self.session_life);
        let set = self.table.set_with(format!("session:{token}"), user, life);
        set.await.map(drop)
    }

    /// Whose session it is.
    pub(crate) async fn session(&self, token: &str) -> Result<Option<String>, Error> {
        let user = self.table.get(format!("session:{token}")).await?;
        Ok(user.map(|it| String::from_utf8_lossy(&it).into_owned()))
    }

    pub(crate) async fn end_session(&self, token: &str) -> Result<(), Error> {
        self.table.del(format!("session:{token}")).await.map(drop)
    }
}

fn read(value: &[u8]) -> Result<Page, Error> {
    serde_json::from_slice(value).map_err(|error| strange(&error))
}

fn strange(error: &serde_json::Error) -> Error {
    Error::Protocol {
        reason: format!("the table holds what is no page: {error}"),
    }
}
