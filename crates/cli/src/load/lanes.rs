//! Where records go, as far as can be known outside: which brick has a key, and which keys are neighbours there.
//!
//! In:  a table's hash function, and the runs of slots that bricks have (`CLUSTER SLOTS`). Out: a [`Place`] for each key; places in order
//! are partitions in order.
//!
//! Invariant: a place is good for an order, and for nothing else. Partitions may move and split while a load goes on; each record still
//! goes where its key is then.

use anyhow::{Context as _, bail};
use brickyard_bench::{Link, Target};
use brickyard_routing::{Hasher, KeyHasher};
use brickyard_types::{HashFunction, KeyBounds};
use brickyard_wire::Value;
use std::collections::BTreeMap;

/// Where a record goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Which of the bricks.
    pub(crate) lane: u16,
    /// Where in the table: keys of a partition are between those of the ones beside it.
    pub(crate) order: u64,
}

/// A table's bricks, and its keys' order.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    hasher: KeyHasher,
    /// The first slot of each run and its lane, in order.
    runs: Vec<(u16, u16)>,
    count: u16,
}

impl Lanes {
    /// Asks a node for the table's.
    pub(crate) fn ask(target: &Target) -> anyhow::Result<Self> {
        let mut link = Link::open(target)?;
        let hasher = hasher(&mut link, target.table.as_deref())?;
        let slots = call(&mut link, &["CLUSTER", "SLOTS"])?;
        let runs = runs(&slots).context("the reply to CLUSTER SLOTS makes no sense")?;
        Ok(Self::new(hasher, &runs))
    }

    /// Of runs of slots: the first one of each, and who has it.
    pub(crate) fn new(hasher: Hasher, runs: &[(u16, String)]) -> Self {
        let mut lanes: BTreeMap<&str, u16> = BTreeMap::new();
        let mut placed: Vec<(u16, u16)> = Vec::new();
        for (first, brick) in runs {
            let next = lanes.len() as u16;
            let lane = *lanes.entry(brick).or_insert(next);
            placed.push((*first, lane));
        }
        placed.sort_unstable();
        Self {
            // A slot, an order and eight bytes of a key are the same under any seed.
            hasher: KeyHasher::new(hasher, 0),
            runs: placed,
            count: (lanes.len() as u16).max(1),
        }
    }

    /// How many bricks there are.
    pub(crate) const fn count(&self) -> u16 {
        self.count
    }

    /// Where a key is.
    pub(crate) fn place(&self, key: &[u8]) -> Place {
        let hash = self.hasher.routing_hash(key);
        let slot = hash.slot().0;
        let behind = self.runs.partition_point(|(first, _)| *first <= slot);
        let run = behind.checked_sub(1).and_then(|at| self.runs.get(at));
        Place {
            lane: run.map_or(0, |(_, lane)| *lane),
            order: hash.0,
        }
    }
}

/// The table's hash function; one that is secret is none that records can be sorted by.
fn hasher(link: &mut Link, table: Option<&str>) -> anyhow::Result<Hasher> {
    let info = call(link, &["CLUSTER", "INFO"])?;
    let info = String::from_utf8_lossy(info.bytes().unwrap_or_default()).into_owned();
    let mut lines = info.lines();
    let Some(function) = lines.find_map(|line| line.strip_prefix("cluster_hash:")) else {
        return Ok(Hasher::Slot);
    };
    match function.parse()? {
        HashFunction::Slot => Ok(Hasher::Slot),
        HashFunction::Key64 => Ok(Hasher::Key64),
        HashFunction::Keyed => bail!(
            "the table's HASH is keyed: where a key goes is the cluster's secret, so records cannot be sorted by it; load without --sorted"
        ),
        HashFunction::Ordered => {
            let table =
                table.context("the table's HASH is ordered; name the table with --table")?;
            bounds(&call(link, &["TABLE", "DESCRIBE", table])?).map(Hasher::Ordered)
        }
    }
}

fn bounds(described: &Value) -> anyhow::Result<Option<KeyBounds>> {
    let words = described.elements().unwrap_or_default();
    let text =
        |value: &Value| String::from_utf8_lossy(value.bytes().unwrap_or_default()).into_owned();
    let find = |name: &str| {
        let mut pairs = words.chunks_exact(2);
        pairs
            .find(|pair| text(&pair[0]) == name)
            .map(|pair| text(&pair[1]))
    };
    let both = find("from").zip(find("to"));
    both.map(|(from, to)| Ok(KeyBounds::new(&from, &to)?))
        .transpose()
}

/// The runs of a reply to CLUSTER SLOTS.
fn runs(reply: &Value) -> Option<Vec<(u16, String)>> {
    let run = |value: &Value| {
        let [first, _, primary, ..] = value.elements()? else {
            return None;
        };
        let [host, port, ..] = primary.elements()? else {
            return None;
        };
        let host = String::from_utf8_lossy(host.bytes()?).into_owned();
        let first = u16::try_from(first.integer()?).ok()?;
        Some((first, format!("{host}:{}", port.integer()?)))
    };
    reply.elements()?.iter().map(run).collect()
}

fn call(link: &mut Link, request: &[&str]) -> anyhow::Result<Value> {
    match link.call(request)? {
        Value::Error(text) => bail!("{}: {}", request.join(" "), String::from_utf8_lossy(&text)),
        reply => Ok(reply),
    }
}

#[cfg(test)]
mod lanes_test {
    use super::*;
    use brickyard_routing::slot;

    #[test]
    fn a_key_is_where_its_slot_is_and_neighbours_are_together() {
        let runs = [(0, "a:1"), (5_000, "b:1"), (9_000, "a:1")];
        let runs = runs.map(|(first, brick)| (first, brick.to_owned()));
        let lanes = Lanes::new(Hasher::Slot, &runs);
        assert_eq!(lanes.count(), 2);
        let mut keys: Vec<Vec<u8>> = (0..2000).map(|it| format!("k{it}").into_bytes()).collect();
        for key in &keys {
            let expected = u16::from((5_000..9_000).contains(&slot(key).0));
            assert_eq!(lanes.place(key).lane, expected);
        }
        keys.sort_by_key(|key| lanes.place(key).order);
        assert!(keys.is_sorted_by_key(|key| slot(key)));
    }

    #[test]
    fn a_table_in_order_is_sorted_by_its_keys() {
        let bounds = KeyBounds::new("k000", "k999").ok();
        let runs = [(0, "a:1".to_owned()), (8_192, "b:1".to_owned())];
        let lanes = Lanes::new(Hasher::Ordered(bounds), &runs);
        let places: Vec<Place> = (0..1000)
            .map(|it| lanes.place(format!("k{it:03}").as_bytes()))
            .collect();
        assert!(places.is_sorted());
        assert_eq!((places[499].lane, places[501].lane), (0, 1));
    }

    #[test]
    fn a_reply_with_what_is_no_run_is_none() {
        let text = |text: &str| Value::Bulk(text.as_bytes().to_vec());
        let primary = Value::Array(vec![text("h"), Value::Integer(7), text("id")]);
        let run = vec![Value::Integer(3), Value::Integer(9), primary];
        let reply = Value::Array(vec![Value::Array(run)]);
        assert_eq!(runs(&reply), Some(vec![(3, "h:7".to_owned())]));
        assert_eq!(runs(&Value::Array(vec![Value::Integer(3)])), None);
    }
}
