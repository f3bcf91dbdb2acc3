//! Calls on a hash: the fields under one key.
//!
//! Invariant: a hash is in one partition, so each call reads or writes all that it names at one instant.

use super::Table;
use crate::{
    convert,
    pending::{Convert, Pending},
};

impl Table {
    /// The hash under `key`. Nothing is asked: a hash is there as long as it has fields.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let ann = table.hash("user:ann");
    /// ann.set("city", "Oslo").await?;
    /// assert_eq!(ann.get("city").await?.as_deref(), Some(&b"Oslo"[..]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn hash(&self, key: impl Into<Vec<u8>>) -> Hash {
        Hash {
            table: self.clone(),
            key: key.into(),
        }
    }
}

/// The fields under one key, as [`Table::hash`] gives it. A key that holds a string is refused (`WRONGTYPE`).
///
/// ```no_run
/// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
/// let cart = table.hash("cart:7");
/// cart.incr_by("pears", 2).await?;
/// for (name, count) in cart.all().await? {
///     println!("{} {}", String::from_utf8_lossy(&name), String::from_utf8_lossy(&count));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Hash {
    table: Table,
    key: Vec<u8>,
}

impl Hash {
    /// The value of a field.
    ///
    /// ```no_run
    /// # async fn example(hash: brickyard_client::Hash) -> Result<(), brickyard_client::Error> {
    /// let city: Option<Vec<u8>> = hash.get("city").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn get(&self, field: impl AsRef<[u8]>) -> Pending<Option<Vec<u8>>> {
        self.read(b"HGET", &[field.as_ref()], convert::bytes)
    }

    /// The values of several fields, in their order.
    ///
    /// ```no_run
    /// # async fn example(hash: brickyard_client::Hash) -> Result<(), brickyard_client::Error> {
    /// let values = hash.get_many(["city", "street"]).await?;
    /// assert_eq!(values.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_many<F: AsRef<[u8]>>(
        &self,
        fields: impl IntoIterator<Item = F>,
    ) -> Pending<Vec<Option<Vec<u8>>>> {
        let fields: Vec<F> = fields.into_iter().collect();
        if fields.is_empty() {
            return Pending::joined(async { Ok(Vec::new()) });
        }
        let words: Vec<&[u8]> = fields.iter().map(AsRef::as_ref).collect();
        self.read(b"HMGET", &words, convert::several)
    }

    /// All fields with their values, in no order.
    ///
    /// ```no_run
    /// # async fn example(hash: brickyard_client::Hash) -> Result<(), brickyard_client::Error> {
    /// println!("{} fields", hash.all().await?.len());
    /// # Ok(())
    /// # }
    /// ```
    pub fn all(&self) -> Pending<Vec<(Vec<u8>, Vec<u8>)>> {
        self.read(b"HGETALL", &[], convert::pairs)
    }

    /// The names of all fields, in no order.
    ///
    /// ```no_run
    /// # async fn example(hash: brickyard_client::Hash) -> Result<(), brickyard_client::Error> {
    /// let fields: Vec<Vec<u8>> = hash.fields().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn fields(&self) -> Pending<Vec<Vec<u8>>> {
        self.read(b"HKEYS", &[], |reply| {
            let fields = convert::several(reply)?;
            Ok(fields.into_iter().flatten().collect())
        })
    }

    /// Whether there is such a field.
    ///
    /// ```no_run
    /// # async fn example(hash: brickyard_client::Hash) -> Result<(), brickyard_client::Error> {
    /// let is_there: bool = hash.contains("city").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn contains(&self, field: impl AsRef<[u8]>) -> Pending<bool> {
        self.read(b"HEXISTS", &[field.as_ref()], convert::flag)
    }

    /// How many fields there are; 0 if there is no such key.
    ///
    /// ```no_run
    /// # async fn example(hash: brickyard_client::Hash) -> Result<(), brickyard_client::Error> {
    /// println!("{} fields", hash.len().await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn len(&self) -> Pending<u64> {
        self.read(b"HLEN", &[], convert::count)
    }

    /// Stores a field; whether there was none of that name.
    ///
    /// ```no_run
    /// # async fn example(hash: brickyard_client::Hash) -> Result<(), brickyard_client::Error> {
    /// let is_new: bool = hash.set("city", "Oslo").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn set(&self, field: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Pending<bool> {
        let words = [field.as_ref(), value.as_ref()];
        self.write(b"HSET", &words, convert::flag)
    }

    /// Stores several fields at one instant; how many of them are new.
    ///
    /// ```no_run
    /// # async fn example(hash: brickyard_client::Hash) -> Result<(), brickyard_client::Error> {
    /// hash.set_many([("city", "Oslo"), ("street", "Karl Johan")]).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_many<F: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        pairs: impl IntoIterator<Item = (F, V)>,
    ) -> Pending<u64> {
        let pairs: Vec<(F, V)> = pairs.into_iter().collect();
        if pairs.is_empty() {
            return Pending::joined(async { Ok(0) });
        }
        let words: Vec<&[u8]> = pairs
            .iter()
            .flat_map(|(field, value)| [field.as_ref(), value.as_ref()])
            .collect();
        self.write(b"HSET", &words, convert::count)
    }

    /// Stores a field if there is none of that name; whether it did.
    ///
    /// ```no_run
    /// # async fn example(hash: brickyard_client::Hash) -> Result<(), brickyard_client::Error> {
    /// let is_mine: bool = hash.set_if_missing("owner", "me").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_if_missing(
        &self,
        field: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Pending<bool> {
        let words = [field.as_ref(), value.as_ref()];
        self.write(b"HSETNX", &words, convert::flag)
    }

    /// Removes fields; how many were there. The key goes with its last field.
    ///
    /// ```no_run
    /// # async fn example(hash: brickyard_client::Hash) -> Result<(), brickyard_client::Error> {
    /// let removed: u64 = hash.del(["city"]).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn del<F: AsRef<[u8]>>(&self, fields: impl IntoIterator<Item = F>) -> Pending<u64> {
        let fields: Vec<F> = fields.into_iter().collect();
        if fields.is_empty() {
            return Pending::joined(async { Ok(0) });
        }
        let words: Vec<&[u8]> = fields.iter().map(AsRef::as_ref).collect();
        self.write(b"HDEL", &words, convert::count)
    }

    /// Removes a field and tells what it held.
    ///
    /// ```no_run
    /// # async fn example(hash: brickyard_client::Hash) -> Result<(), brickyard_client::Error> {
    /// let taken: Option<Vec<u8>> = hash.getdel("city").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn getdel(&self, field: impl AsRef<[u8]>) -> Pending<Option<Vec<u8>>> {
        let words = [b"FIELDS", &b"1"[..], field.as_ref()];
        self.write(b"HGETDEL", &words, |reply| {
            Ok(convert::several(reply)?.into_iter().next().flatten())
        })
    }

    /// Adds `number`, which may be negative, to what the field holds (0 if there is none) and tells the sum.
    ///
    /// ```no_run
    /// # async fn example(hash: brickyard_client::Hash) -> Result<(), brickyard_client::Error> {
    /// let pears: i64 = hash.incr_by("pears", 2).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn incr_by(&self, field: impl AsRef<[u8]>, number: i64) -> Pending<i64> {
        let number = number.to_string();
        let words = [field.as_ref(), number.as_bytes()];
        self.write(b"HINCRBY", &words, convert::integer)
    }

    fn read<T>(&self, name: &[u8], behind: &[&[u8]], convert: Convert<T>) -> Pending<T> {
        self.table
            .read(&self.key, &self.words(name, behind), convert)
    }

    fn write<T>(&self, name: &[u8], behind: &[&[u8]], convert: Convert<T>) -> Pending<T> {
        self.table
            .write(&self.key, &self.words(name, behind), convert)
    }

    fn words<'a>(&'a self, name: &'a [u8], behind: &[&'a [u8]]) -> Vec<&'a [u8]> {
        let mut words = Vec::with_capacity(2 + behind.len());
        words.extend([name, self.key.as_slice()]);
        words.extend(behind);
        words
    }
}
