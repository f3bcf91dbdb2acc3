//! Calls on one key.

use super::Table;
use crate::{Pending, SetOptions, SetOutcome, Ttl, convert, set::milliseconds};
use std::time::Duration;

impl Table {
    /// The value of `key`.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let value: Option<Vec<u8>> = table.get("key").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn get(&self, key: impl AsRef<[u8]>) -> Pending<Option<Vec<u8>>> {
        let key = key.as_ref();
        match &self.router.setting.kept {
            Some(kept) => self.get_kept(kept, key),
            None => self.read(key, &[b"GET", key], convert::bytes),
        }
    }

    /// Stores `value`, whatever was there, for ever.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// table.set("key", "value").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn set(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Pending<()> {
        let key = key.as_ref();
        self.write(key, &[b"SET", key, value.as_ref()], convert::done)
    }

    /// Stores `value` on conditions, or for a time.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// use brickyard_client::SetOptions;
    /// let swap = SetOptions::new().if_equals("1");
    /// if table.set_with("version", "2", swap).await?.is_stored {
    ///     println!("it was 1 and is 2");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_with(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        options: SetOptions,
    ) -> Pending<SetOutcome> {
        let key = key.as_ref();
        let behind = options.words();
        let mut words: Vec<&[u8]> = vec![b"SET", key, value.as_ref()];
        words.extend(behind.iter().map(Vec::as_slice));
        let reply = self.write(key, &words, convert::any);
        Pending::joined(async move { options.outcome(reply.await?) })
    }

    /// Removes `key`; whether it was there.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let was_there: bool = table.del("key").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn del(&self, key: impl AsRef<[u8]>) -> Pending<bool> {
        let key = key.as_ref();
        self.write(key, &[b"DEL", key], convert::flag)
    }

    /// Removes `key` if it holds `value`; whether it did.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let let_go: bool = table.del_if_equals("lock", "me").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn del_if_equals(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Pending<bool> {
        let key = key.as_ref();
        self.write(key, &[b"DELIFEQ", key, value.as_ref()], convert::flag)
    }

    /// Removes `key` and tells what it held.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let taken: Option<Vec<u8>> = table.getdel("job").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn getdel(&self, key: impl AsRef<[u8]>) -> Pending<Option<Vec<u8>>> {
        let key = key.as_ref();
        self.write(key, &[b"GETDEL", key], convert::bytes)
    }

    /// Whether there is such a key.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let is_there: bool = table.exists("key").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn exists(&self, key: impl AsRef<[u8]>) -> Pending<bool> {
        let key = key.as_ref();
        self.read(key, &[b"EXISTS", key], convert::flag)
    }

    /// The length of the value in bytes; 0 if there is no such key.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let bytes: u64 = table.strlen("key").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn strlen(&self, key: impl AsRef<[u8]>) -> Pending<u64> {
        let key = key.as_ref();
        self.read(key, &[b"STRLEN", key], convert::count)
    }

    /// Adds 1 to the number that `key` holds (0 if there is none) and tells the sum.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let visits: i64 = table.incr("visits").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn incr(&self, key: impl AsRef<[u8]>) -> Pending<i64> {
        let key = key.as_ref();
        self.write(key, &[b"INCR", key], convert::integer)
    }

    /// Adds `number`, which may be negative, and tells the sum.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let left: i64 = table.incr_by("stock", -3).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn incr_by(&self, key: impl AsRef<[u8]>, number: i64) -> Pending<i64> {
        let key = key.as_ref();
        let number = number.to_string();
        self.write(key, &[b"INCRBY", key, number.as_bytes()], convert::integer)
    }

    /// Adds `value` behind what `key` holds and tells the length.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let bytes: u64 = table.append("journal", "one more line\n").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn append(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Pending<u64> {
        let key = key.as_ref();
        self.write(key, &[b"APPEND", key, value.as_ref()], convert::count)
    }

    /// The key is gone after this time; whether there is such a key.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let is_there: bool = table.expire("key", std::time::Duration::from_secs(60)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn expire(&self, key: impl AsRef<[u8]>, time: Duration) -> Pending<bool> {
        let key = key.as_ref();
        self.write(key, &[b"PEXPIRE", key, &milliseconds(time)], convert::flag)
    }

    /// The key stays for ever; whether that is news.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let had_expiry: bool = table.persist("key").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn persist(&self, key: impl AsRef<[u8]>) -> Pending<bool> {
        let key = key.as_ref();
        self.write(key, &[b"PERSIST", key], convert::flag)
    }

    /// How long the key has to live.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// if let brickyard_client::Ttl::Left(time) = table.ttl("key").await? {
    ///     println!("gone in {time:?}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn ttl(&self, key: impl AsRef<[u8]>) -> Pending<Ttl> {
        let key = key.as_ref();
        self.read(key, &[b"PTTL", key], convert::ttl)
    }
}
