//! A table as a program sees it: keys, values, and a future for each call.
//!
//! In:  keys and values. Out: [`Pending`] results. `keyed` has the calls on one key, `many` those on several, `fields` those on a hash, `cached` those that may need no call.
//!
//! Not here: where a call goes (`router`), when it is sent again (`retry`).

mod cached;
mod fields;
mod keyed;
mod many;

pub use fields::Hash;

use crate::{
    Error, Pipeline, Scan, Watch,
    command::{Place, Shape},
    convert,
    pending::{Convert, Pending},
    prepared::Prepared,
    router::Router,
};
use brickyard_routing::{Hasher, KeyHasher, slot};
use brickyard_types::limits::{ARGUMENTS_MAX, KEY_BYTES_MAX};
use brickyard_wire::Value;
use std::{
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

/// Orders a group's members by key for reads; any seed does, if all clients have the same.
static KEY_HASHER: LazyLock<KeyHasher> = LazyLock::new(|| KeyHasher::new(Hasher::Slot, 0));

/// A table of the cluster. Cheap to clone; clones share their connections.
///
/// ```no_run
/// # async fn example() -> Result<(), brickyard_client::Error> {
/// use brickyard_client::{Client, Options};
///
/// let client = Client::connect(Options::new(["127.0.0.1:6379"])).await?;
/// let table = client.table("orders");
/// table.set("order:1", "two pears").await?;
/// assert_eq!(table.get("order:1").await?.as_deref(), Some(&b"two pears"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    router: Arc<Router>,
    deadline: Duration,
}

impl Table {
    pub(crate) fn new(router: Arc<Router>) -> Self {
        let deadline = router.client.options.deadline;
        Self { router, deadline }
    }

    /// The same table, with another deadline for the calls made through this handle.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let patient = table.with_deadline(std::time::Duration::from_secs(60));
    /// patient.command(&["FLUSHDB"]).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_deadline(&self, deadline: Duration) -> Self {
        Self {
            router: Arc::clone(&self.router),
            deadline,
        }
    }

    /// Any command, and its reply as it came. An error reply is an [`Error`].
    ///
    /// Commands whose keys share a slot go to their brick, all others to a node port. What the library does not
    /// know it treats as a write: it is never sent twice unless the server promises that it was not executed.
    /// Commands that change the connection (MULTI, SELECT, ...) are refused, since calls share connections.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let bits = table.command(&["BITCOUNT", "key"]).await?;
    /// println!("{:?}", bits.integer());
    /// # Ok(())
    /// # }
    /// ```
    pub fn command<A: AsRef<[u8]>>(&self, words: &[A]) -> Pending<Value> {
        match Shape::of(words) {
            Ok(shape) => {
                let key = match shape.place {
                    Place::Slot(_) | Place::Primary(_) => {
                        words.get(1).map(AsRef::as_ref).unwrap_or_default()
                    }
                    Place::Node | Place::Anywhere => b"",
                };
                self.call(shape, key, words, convert::any)
            }
            Err(error) => Pending::failed(error),
        }
    }

    /// Several commands, sent together; see [`Pipeline`].
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let replies = table.pipeline().command(&["INCR", "hits"]).command(&["GET", "page"]).send().await?;
    /// assert_eq!(replies.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn pipeline(&self) -> Pipeline {
        Pipeline::new(self.clone())
    }

    /// All keys of the table, a page at a time; see [`Scan`].
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let mut scan = table.scan();
    /// while let Some(key) = scan.next().await? {
    ///     println!("{}", String::from_utf8_lossy(&key));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn scan(&self) -> Scan {
        Scan::new(self.clone())
    }

    /// What changes in the table from now on, or from a position on; see [`Watch`].
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let mut watch = table.watch().key("order:1");
    /// println!("{:?}", watch.next().await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn watch(&self) -> Watch {
        Watch::new(self.router.apart())
    }

    /// How many keys the table has.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// println!("{} keys", table.len().await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn len(&self) -> Pending<u64> {
        let shape = Shape {
            is_read: true,
            place: Place::Node,
        };
        self.call(shape, b"", &["DBSIZE"], convert::count)
    }

    /// Where the table is, as far as this client knows now: for each run of slots with the same replicas its first slot, the one
    /// behind its last, and their addresses, the primary's first; none where nobody is known yet. For placing work near its keys.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// for (begin, end, replicas) in table.holders() {
    ///     println!("slots {begin} to {end}: {replicas:?}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn holders(&self) -> Vec<(u16, u16, Vec<String>)> {
        self.router.holders()
    }

    /// What became of this table's lookups so far, and how much is known of its map; see [`Lookups`](crate::Lookups).
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let counts = table.lookup_counts();
    /// println!("{} hops, {} bytes of the map", counts.hops, counts.map_bytes);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn lookup_counts(&self) -> crate::LookupCounts {
        self.router.lookup_counts()
    }

    /// Starts a call that reads `key`.
    fn read<T>(&self, key: &[u8], words: &[&[u8]], convert: Convert<T>) -> Pending<T> {
        let shape = Shape {
            is_read: true,
            place: Place::Slot(slot(key)),
        };
        self.call(shape, key, words, convert)
    }

    /// Starts a call that writes `key`.
    fn write<T>(&self, key: &[u8], words: &[&[u8]], convert: Convert<T>) -> Pending<T> {
        let shape = Shape {
            is_read: false,
            place: Place::Slot(slot(key)),
        };
        self.call(shape, key, words, convert)
    }

    fn call<T, A: AsRef<[u8]>>(
        &self,
        shape: Shape,
        key: &[u8],
        words: &[A],
        convert: Convert<T>,
    ) -> Pending<T> {
        if self.router.is_closed() {
            return Pending::failed(Error::Closed);
        }
        if let Err(error) = self.check(key, words) {
            return Pending::failed(error);
        }
        if let Some(kept) = &self.router.setting.kept
            && !shape.is_read
        {
            kept.forget(key);
        }
        let prepared = Prepared::new(shape, KEY_HASHER.key_hash(key), words);
        let now = Instant::now();
        Pending::start(&self.router, prepared, (now, now + self.deadline), convert)
    }

    /// Refuses what would make the server close the connection, and with it the calls of others.
    fn check<A: AsRef<[u8]>>(&self, key: &[u8], words: &[A]) -> Result<(), Error> {
        if key.len() > KEY_BYTES_MAX {
            return Err(Error::invalid(format!(
                "the key is {} bytes long; the longest is {KEY_BYTES_MAX}",
                key.len()
            )));
        }
        if words.len() > ARGUMENTS_MAX {
            return Err(Error::invalid(format!(
                "the command has {} words, the most is {ARGUMENTS_MAX}; split it",
                words.len()
            )));
        }
        let most = self.router.client.options.messages.argument_bytes_max;
        let longest = words.iter().map(|word| word.as_ref().len()).max();
        match longest {
            Some(len) if len > most => Err(Error::invalid(format!(
                "a value is {len} bytes long, the longest is {most}; store it in parts"
            ))),
            _ => Ok(()),
        }
    }
}
