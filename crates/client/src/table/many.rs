//! Calls on several keys: split by slot, sent together, and joined with a result for each key.
//!
//! Invariants:
//! - Keys of one slot (one `{tag}`) go in one request where the command has a result for each of them, and are
//!   then read or written at one instant. Other keys are independent, and so are their results.
//! - In a table with another hash function keys of one slot may be apart. Then they are written one by one.
//! - Results are in the order of the keys.

use super::Table;
use crate::{
    Error, convert,
    pending::{Pending, join},
};
use brickyard_routing::slot;
use brickyard_types::Slot;
use std::collections::BTreeMap;

/// Most keys in one request: those of one slot could be a million, and would hold up the brick.
const KEYS_MAX: usize = 1024;

impl Table {
    /// The values of several keys, each with its own result.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// for value in table.mget(["a", "b"]).await? {
    ///     println!("{:?}", value?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn mget<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Pending<Vec<Result<Option<Vec<u8>>, Error>>> {
        let keys: Vec<K> = keys.into_iter().collect();
        let groups = groups(keys.iter().map(AsRef::as_ref));
        let requests = groups.iter().map(|places| {
            let keys = places.iter().filter_map(|place| keys.get(*place));
            let mut words: Vec<&[u8]> = vec![b"MGET"];
            words.extend(keys.map(AsRef::as_ref));
            let first = words.get(1).copied().unwrap_or_default();
            self.read(first, &words, convert::several)
        });
        let requests: Vec<_> = requests.collect();
        let count = keys.len();
        Pending::joined(async move {
            let mut results = vec![Err(unanswered()); count];
            for (places, reply) in groups.iter().zip(join(requests).await) {
                let mut values = reply.map(Vec::into_iter);
                for place in places {
                    let result = match &mut values {
                        Ok(values) => values.next().ok_or_else(unanswered),
                        Err(error) => Err(error.clone()),
                    };
                    if let Some(slot) = results.get_mut(*place) {
                        *slot = result;
                    }
                }
            }
            Ok(results)
        })
    }

    /// Stores several values, each with its own result.
    ///
    /// Of a key that is named twice the last value stays.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let stored = table.mset([("a", "1"), ("b", "2")]).await?;
    /// assert!(stored.iter().all(Result::is_ok));
    /// # Ok(())
    /// # }
    /// ```
    pub fn mset<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Pending<Vec<Result<(), Error>>> {
        let pairs: Vec<(K, V)> = pairs.into_iter().collect();
        let groups = groups(pairs.iter().map(|(key, _)| key.as_ref()));
        let requests = groups.iter().map(|places| {
            let pairs = places.iter().filter_map(|place| pairs.get(*place));
            let mut words: Vec<&[u8]> = vec![b"MSET"];
            words.extend(pairs.flat_map(|(key, value)| [key.as_ref(), value.as_ref()]));
            let first = words.get(1).copied().unwrap_or_default();
            self.write(first, &words, convert::done)
        });
        let requests: Vec<_> = requests.collect();
        let count = pairs.len();
        let several = groups.iter().filter(|places| places.len() > 1);
        let owned: BTreeMap<usize, Pair> = several
            .flatten()
            .filter_map(|place| {
                let (key, value) = pairs.get(*place)?;
                Some((*place, (key.as_ref().to_vec(), value.as_ref().to_vec())))
            })
            .collect();
        let table = self.clone();
        Pending::joined(async move {
            let mut results = vec![Err(unanswered()); count];
            for (places, reply) in groups.iter().zip(join(requests).await) {
                let replies = match is_apart(&reply) {
                    true => table.each_alone(places, &owned).await,
                    false => vec![reply; places.len()],
                };
                for (place, reply) in places.iter().zip(replies) {
                    if let Some(slot) = results.get_mut(*place) {
                        *slot = reply;
                    }
                }
            }
            Ok(results)
        })
    }

    /// Removes several keys; for each, whether it was there.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let were_there = table.del_many(["a", "b"]).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn del_many<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Pending<Vec<Result<bool, Error>>> {
        // DEL of several keys tells their number alone, so each has a request of its own.
        self.each(keys, |key| self.del(key))
    }

    /// For each key, whether there is such a key.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let are_there = table.exists_many(["a", "b"]).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn exists_many<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Pending<Vec<Result<bool, Error>>> {
        self.each(keys, |key| self.exists(key))
    }

    fn each<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
        call: impl Fn(K) -> Pending<bool>,
    ) -> Pending<Vec<Result<bool, Error>>> {
        let calls: Vec<Pending<bool>> = keys.into_iter().map(call).collect();
        Pending::joined(async move { Ok(join(calls).await) })
    }
}

impl Table {
    /// Stores values of one slot that are not together in this table, in their order.
    async fn each_alone(
        &self,
        places: &[usize],
        owned: &BTreeMap<usize, Pair>,
    ) -> Vec<Result<(), Error>> {
        let mut results = Vec::with_capacity(places.len());
        for place in places {
            // Of a key that is named twice the last value stays.
            results.push(match owned.get(place) {
                Some((key, value)) => self.set(key, value).await,
                None => Err(unanswered()),
            });
        }
        results
    }
}

/// A key and its value.
type Pair = (Vec<u8>, Vec<u8>);

/// Whether keys that were written together are in several partitions; then none was written.
fn is_apart(reply: &Result<(), Error>) -> bool {
    matches!(reply, Err(error) if error.prefix() == Some("CROSSSLOT"))
}

/// The keys' places by slot, [`KEYS_MAX`] at most together, each list in the order of the keys.
fn groups<'a>(keys: impl Iterator<Item = &'a [u8]>) -> Vec<Vec<usize>> {
    let mut by_slot: BTreeMap<Slot, Vec<usize>> = BTreeMap::new();
    for (place, key) in keys.enumerate() {
        by_slot.entry(slot(key)).or_default().push(place);
    }
    let chunked = by_slot.into_values();
    chunked
        .flat_map(|places| {
            places
                .chunks(KEYS_MAX)
                .map(<[usize]>::to_vec)
                .collect::<Vec<_>>()
        })
        .collect()
}

fn unanswered() -> Error {
    Error::protocol("the reply has fewer values than there are keys")
}

#[cfg(test)]
mod many_test {
    use super::*;

    #[test]
    fn keys_of_one_slot_stay_together_and_in_order() {
        let keys: [&[u8]; 5] = [b"{a}1", b"b", b"{a}2", b"{a}3", b"c"];
        let mut groups = groups(keys.into_iter());
        groups.sort();
        assert_eq!(groups, [vec![0, 2, 3], vec![1], vec![4]]);
    }

    #[test]
    fn no_request_has_more_keys_than_the_bound() {
        let keys = vec![&b"{a}"[..]; 2500];
        let lens: Vec<usize> = groups(keys.into_iter()).iter().map(Vec::len).collect();
        assert_eq!(lens, [1024, 1024, 452]);
    }
}
