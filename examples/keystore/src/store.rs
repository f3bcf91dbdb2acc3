//! The table: vaults, secrets, trails. All that this service does with the table is here.
//!
//! | Key | Value |
//! |---|---|
//! | `vault:user` | what the user's passphrase opens (`vault`) |
//! | `secret:user/name` | a hash: version → the encrypted secret |
//! | `names:user` | a hash whose fields are the names of the user's secrets |
//! | `audit:user/day` | what was asked for on that day, a line each, appended |
//!
//! Invariants:
//! - A version is a field that is set once, and behind it comes the next: nobody's replaces another's, and none is left out.
//! - What was asked for stands in the trail before it is done.

use brickyard_client::{Error, Hash, Table};
use brickyard_example_service::swap;

/// How a new version came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// It is stored.
    Stored,
    /// Another one has its number.
    Taken,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    table: Table,
}

impl Store {
    pub(crate) const fn new(table: Table) -> Self {
        Self { table }
    }

    pub(crate) async fn vault(&self, user: &str) -> Result<Option<Vec<u8>>, Error> {
        self.table.get(format!("vault:{user}")).await
    }

    /// Stores a vault in the place of `old`; whether that was there.
    pub(crate) async fn set_vault(
        &self,
        user: &str,
        old: Option<&[u8]>,
        new: &[u8],
    ) -> Result<bool, Error> {
        // It has a nonce of its own: no other is like it.
        swap(&self.table, &format!("vault:{user}"), old, new, None).await
    }

    fn versions(&self, user: &str, name: &str) -> Hash {
        self.table.hash(format!("secret:{user}/{name}"))
    }

    /// The number of the last version; 0: there is none.
    pub(crate) async fn last_version(&self, user: &str, name: &str) -> Result<u64, Error> {
        self.versions(user, name).len().await
    }

    pub(crate) async fn secret(
        &self,
        user: &str,
        name: &str,
        version: u64,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.versions(user, name).get(version.to_string()).await
    }

    /// Stores a version, if none has its number; the one before it must be there.
    pub(crate) async fn add_secret(
        &self,
        user: &str,
        name: &str,
        version: u64,
        sealed: &[u8],
    ) -> Result<Added, Error> {
        if version == 1 {
            // First the name: one without a version is not shown, a version without a name would not be found.
            let names = self.table.hash(format!("names:{user}"));
            names.set(name, "").await?;
        }
        let versions = self.versions(user, name);
        let field = version.to_string();
        match versions.set_if_missing(&field, sealed).await {
            Ok(true) => Ok(Added::Stored),
            Ok(false) => Ok(Added::Taken),
            Err(error) if error.is_not_executed() => Err(error),
            // A field that is set once tells for ever whose it is; one that is not there may still come.
            Err(error) => match versions.get(&field).await {
                Ok(Some(found)) if found == sealed => Ok(Added::Stored),
                Ok(Some(_)) => Ok(Added::Taken),
                Ok(None) | Err(_) => Err(error),
            },
        }
    }

    /// The names of a user's secrets with their last versions, in order.
    pub(crate) async fn secrets(&self, user: &str) -> Result<Vec<(String, u64)>, Error> {
        let fields = self.table.hash(format!("names:{user}")).fields().await?;
        let mut secrets = Vec::new();
        for name in fields {
            let name = String::from_utf8_lossy(&name).into_owned();
            let last = self.last_version(user, &name).await?;
            secrets.push((name, last));
        }
        secrets.retain(|(_, last)| *last > 0);
        secrets.sort();
        Ok(secrets)
    }

    /// Appends a line to a user's trail.
    pub(crate) async fn note(&self, user: &str, day: u64, line: &str) -> Result<(), Error> {
        let key = format!("audit:{user}/{day}");
        let noted = self.table.append(key, format!("{line}\n")).await;
        noted.map(drop)
    }

    /// A day of a user's trail.
    pub(crate) async fn trail(&self, user: &str, day: u64) -> Result<String, Error> {
        let lines = self.table.get(format!("audit:{user}/{day}")).await?;
        Ok(String::from_utf8_lossy(&lines.unwrap_or_default()).into_owned())
    }
}
